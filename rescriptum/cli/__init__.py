"""The operator's command line, one module a command group."""
