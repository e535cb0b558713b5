"""A read-only TFTP server that sends loaders: RFC 1350, 2347, 2348, 2349 and 7440."""
