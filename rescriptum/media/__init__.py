"""Installer images and trees: recognised, catalogued, served without unpacking."""
