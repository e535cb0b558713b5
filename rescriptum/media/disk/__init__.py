"""The disk under the catalogue: what is read of it, off the reactor."""
