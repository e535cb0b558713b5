"""From an image's stored bytes to a disk: received, hashed, unpacked and written at once."""
