"""What operators send and get, as values; times are UTC in ISO 8601, and None is left out."""
