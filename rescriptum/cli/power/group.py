"""``rescriptum power``: the commands about the power of machines."""

from typing import ClassVar

from ..options import Group
from .fake import FakeBmcOptions
from .listing import ListOptions
from .machine import OffOptions, OnOptions, ProbeOptions, PxeOptions, StatusOptions


class PowerOptions(Group):
    """The group."""

    synopsis = "Usage: rescriptum power COMMAND [options]"
    longdesc = "Machines, by their BMCs and whatever else RESCRIPTUM_CONTROLLERS_FILE names."
    subCommands: ClassVar[list[list[object]]] = [
        ["fake-bmc", None, FakeBmcOptions, "A BMC that is none, for dry runs."],
        ["list", None, ListOptions, "What controls the power of which machine."],
        ["off", None, OffOptions, "Power a machine off."],
        ["on", None, OnOptions, "Power a machine on."],
        ["probe", None, ProbeOptions, "How a machine's BMC goes about Redfish."],
        ["pxe", None, PxeOptions, "Let a machine boot from the network once."],
        ["status", None, StatusOptions, "Is a machine on?"],
    ]
