"""Images and directories, opened for reading."""
