"""Reading and changing the answer set over HTTP."""
