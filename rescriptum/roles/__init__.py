"""The composition roots: the only modules that join sibling packages."""
