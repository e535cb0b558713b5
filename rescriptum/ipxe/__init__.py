"""What iPXE asks over HTTP before any image: the bootstrap and the menu."""
