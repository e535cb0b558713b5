"""Beside a site's own DHCP server: tells machines that boot which file to load, and no address."""
