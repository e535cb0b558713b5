"""The lines that somebody else's DHCP server needs, one module a server."""
