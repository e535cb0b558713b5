"""What every snippet says, whichever server's words it is said in."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address

from attrs import frozen

from ..boot.loaders import (
    BIOS_LOADER,
    FALLBACK,
    ONE_LOADER,
    ONE_LOADER_PARTS,
    SERVED,
    Architecture,
    Transport,
)

Address = IPv4Address | IPv6Address

#: What iPXE says in option 77, as bare bytes and not as RFC 3004's counted strings (W035).
USER_CLASS = "iPXE"
#: UEFI HTTP boot drops an offer that does not say this in option 60, without a word (W061).
HTTP_CLASS = "HTTPClient"
#: DHCPv6's vendor class (option 16) that says the same: Intel's enterprise number, one string.
HTTP_CLASS_V6 = (343).to_bytes(4, "big") + len(HTTP_CLASS).to_bytes(2, "big") + HTTP_CLASS.encode()


@frozen
class Branch:
    """
    The machines that get one loader in one way: the table's rows of one tag.

    :ivar codes: of option 93; 61 in DHCPv6.
    :ivar vendor_classes: how option 60 begins, for firmware that says it only there (W030).
    """

    tag: str
    clients: tuple[str, ...]
    codes: tuple[int, ...]
    vendor_classes: tuple[str, ...]
    loader: str
    transport: Transport

    @property
    def http(self) -> bool:
        return self.transport is Transport.HTTP

    def __str__(self) -> str:
        return ", ".join(self.clients)


def _branch(rows: list[Architecture]) -> Branch:
    first = rows[0]
    assert first.loader is not None  # SERVED
    return Branch(
        first.tag,
        tuple(row.client for row in rows),
        tuple(row.code for row in rows),
        tuple(row.vendor_class for row in rows),
        first.loader,
        first.transport,
    )


BRANCHES = tuple(
    _branch([row for row in SERVED if row.tag == tag])
    for tag in dict.fromkeys(row.tag for row in SERVED)
)


@frozen(kw_only=True)
class Handoff:
    """
    One deployment, as the DHCP server in front of it has to know it.

    :ivar host: where the loaders are, an address: firmware has no resolver to rely on (W063).
    :ivar media_base: ``http://HOST:8001``, brackets included (W089).
    :ivar version: of rescriptum, for the heading.
    :ivar one_loader: for a fleet that is all BIOS: one file for everybody.
    :ivar missing: loaders that are not in the boot directory.
    """

    host: Address
    media_base: str
    version: str
    one_loader: bool = False
    missing: frozenset[str] = frozenset()

    @property
    def script_url(self) -> str:
        """What iPXE is sent to, so that stock builds do not load themselves for ever."""
        return f"{self.media_base}/ipxe/bootstrap"

    @property
    def v6(self) -> bool:
        return self.host.version == 6

    @property
    def default(self) -> str:
        """What a machine gets that says nothing of its architecture, in option 67."""
        return ONE_LOADER if self.one_loader else FALLBACK

    @property
    def branches(self) -> tuple[Branch, ...]:
        if self.one_loader:
            return ()
        # There is no BIOS that speaks DHCPv6.
        return tuple(each for each in BRANCHES if not (self.v6 and each.loader == BIOS_LOADER))

    def boot_file(self, branch: Branch) -> str:
        """:returns: option 67, or option 59 in DHCPv6: a name, or a whole URL (W062)."""
        if branch.http:
            return f"{self.media_base}/boot/{branch.loader}"
        return f"tftp://[{self.host}]/{branch.loader}" if self.v6 else branch.loader

    def named(self, bios: str) -> tuple[str, ...]:
        """
        :param bios: the format's loader for BIOS machines.
        :returns: every file that machines will ask for, each once.
        """
        first = ONE_LOADER if self.one_loader else bios
        parts = ONE_LOADER_PARTS if first == ONE_LOADER else ()
        others = (each.loader for each in self.branches if each.loader != BIOS_LOADER)
        return tuple(dict.fromkeys((*(() if self.v6 else (first, *parts)), *others)))

    def absent(self, bios: str) -> tuple[str, ...]:
        """:returns: a sentence for each file that will be asked for and is not there (S47)."""
        return tuple(
            f"MISSING {name}: machines sent for it get nothing and stop; "
            "see rescriptum boot loaders install"
            for name in self.named(bios)
            if name in self.missing
        )

    def heading(self, bios: str) -> tuple[str, ...]:
        """:returns: what the snippet begins with, for the format to make comments of."""
        return (
            f"rescriptum {self.version}: boot handoff for {self.host}",
            "Made from the table that TFTP serves from; architectures are IANA's option 93 codes.",
            *self.absent(bios),
        )


def commented(lines: Iterable[str]) -> list[str]:
    """:returns: the lines as comments of every server that has ``#``."""
    return [f"# {line}" for line in lines]


def doubts(host: Address, *, derived: bool) -> list[str]:
    """
    :param derived: nobody configured it.
    :returns: why machines may not reach ``host``: the failure that is hardest to see later.
    """
    kinds = {
        "is this machine itself, nobody else reaches it": host.is_loopback,
        "is no address of anything": host.is_unspecified,
        "is good on one cable only": host.is_link_local,
        "is a group of machines": host.is_multicast,
        "is reserved, and not routed": host.is_reserved and not host.is_unspecified,
    }
    found = [f"{host} {what}; set RESCRIPTUM_PUBLIC_HOST" for what, true in kinds.items() if true]
    if derived:
        found.append(
            f"{host} was guessed from this machine's routes; "
            "set RESCRIPTUM_PUBLIC_HOST to the address that machines reach"
        )
    return found
