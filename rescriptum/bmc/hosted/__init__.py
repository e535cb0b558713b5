"""Drivers of BMCs that are programs of their own (*bcx*): one process an operation."""
