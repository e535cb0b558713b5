"""What runs inside a ramdisk that a test has booted: its first process, and programs of its own."""
