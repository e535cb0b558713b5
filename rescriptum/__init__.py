"""Takes a bare machine from power-on to its installed operating system."""

__version__ = "0.1.0"
