"""One module a release that changed the tables, in the order that each names."""
