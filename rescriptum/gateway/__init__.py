"""The control plane: sites, nodes, machines, and the commands that act on them."""
