"""The installer families, one module each, and the table of them."""
