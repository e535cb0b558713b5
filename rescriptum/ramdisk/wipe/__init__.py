"""Emptying disks, and saying of each what was done to it and what was not."""
