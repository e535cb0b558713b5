"""Where the answer set is kept: a directory of files, or an SQLite database."""
