"""The operating system that an image has brought: its partitions, and files in them."""
