"""
The parts of a NoCloud seed that are no document here: made up, so that cloud-init does not wait.

It asks for ``network-config``, ``meta-data``, ``user-data`` and ``vendor-data``, and asks ten
times, a second apart, for each that is missing (families C8). The document of a machine is its
``user-data``; the others are these.
"""

import json

META_DATA = "meta-data"
#: What lies beside the user-data.
PARTS = (META_DATA, "vendor-data", "network-config")


def part(name: str, instance: str) -> bytes:
    """
    :param name: one of ``PARTS``.
    :param instance: what the machine is called; cloud-init runs anew when it changes.
    """
    # A JSON string is a YAML string whatever it holds.
    return f"instance-id: {json.dumps(instance)}\n".encode("ascii") if name == META_DATA else b""
