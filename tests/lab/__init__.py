"""
Real firmware against the real server: ``make lab``.

Namespaces, a bridge, DHCP servers that are not ours, machines in QEMU. ``lab.md`` says how.
"""
