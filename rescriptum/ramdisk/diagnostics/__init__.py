"""Whether the parts of a machine do what they should."""
