"""THE table of bundled checks: which of them looks at the documents of which format."""

from collections.abc import Mapping

from . import cloudconfig, ignition, ipxe, kickstart, markup, preseed, proxmox
from .finding import Check

#: By extension or part of a seed. ``cfg`` is anybody's: nothing looks at it.
CHECKS: Mapping[str, Check] = {
    "toml": proxmox.check,
    "yaml": cloudconfig.check,
    "yml": cloudconfig.check,
    "meta-data": cloudconfig.check_meta_data,
    "vendor-data": cloudconfig.check_vendor_data,
    "network-config": cloudconfig.check_network_config,
    "ign": ignition.check,
    "json": ignition.check_json,
    "autoyast": markup.check_autoyast,
    "unattend": markup.check_unattend,
    "xml": markup.check,
    "ks": kickstart.check,
    "preseed": preseed.check,
    "seed": preseed.check,
    "ipxe": ipxe.check,
}
