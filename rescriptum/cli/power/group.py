"""``rescriptum power``: the commands about the power of machines."""

from typing import ClassVar

from ..options import Group
from .fake import FakeBmcOptions


class PowerOptions(Group):
    """The group."""

    synopsis = "Usage: rescriptum power COMMAND [options]"
    longdesc = "Machines, by their BMCs."
    subCommands: ClassVar[list[list[object]]] = [
        ["fake-bmc", None, FakeBmcOptions, "A BMC that is none, for dry runs."],
    ]
