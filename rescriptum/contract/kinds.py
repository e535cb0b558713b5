"""THE table of command kinds by name: who runs them, and which destroy something."""

from typing import Final

from attrs import frozen

from .joining import Role

_SITE, _RAMDISK = frozenset({Role.SITE}), frozenset({Role.RAMDISK})


@frozen
class KindName:
    """
    What gateways and agents agree on of a kind; the agent that runs it knows the rest.

    :ivar destructive: whether it may destroy what is on a disk: approvers have to agree.
    :ivar attested: whether its result is always signed by the node: it is a certificate.
    """

    name: str
    roles: frozenset[Role]
    destructive: bool = False
    attested: bool = False


_ROWS: Final = (
    KindName("boot.prepareRamdisk", _SITE),
    KindName("boot.clear", _SITE),
    KindName("bmc.power", _SITE),
    KindName("bmc.boot", _SITE),
    KindName("bmc.media", _SITE),
    KindName("bmc.inventory", _SITE),
    KindName("bmc.management", _SITE),
    KindName("bmc.firmware", _SITE),
    KindName("site.httpProxy", _SITE),
    KindName("disk.wipe", _RAMDISK, destructive=True, attested=True),
    KindName("image.write", _RAMDISK, destructive=True),
    KindName("seed.write", _RAMDISK, destructive=True),
    KindName("boot.kexec", _RAMDISK),
    KindName("diagnostics.run", _RAMDISK),
    KindName("inventory.collect", _RAMDISK),
    KindName("power.off", _RAMDISK),
    KindName("power.reboot", _RAMDISK),
)

#: By name.
KINDS: Final = {row.name: row for row in _ROWS}


def destructive(kind: str) -> bool:
    """:returns: whether it is known to be; the agent that runs a kind decides for itself."""
    row = KINDS.get(kind)
    return row is not None and row.destructive


def attested(kind: str) -> bool:
    """:returns: whether its result is signed, whoever sends it and whatever they say."""
    row = KINDS.get(kind)
    return row is not None and row.attested
