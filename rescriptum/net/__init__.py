"""Sockets and addresses of this host."""
