"""What a machine that asks for its script says of itself: all of it is a stranger's word."""

from ipaddress import ip_address
from typing import Self

from attrs import frozen

from ..boot.discovery import canonical_uuid
from ..values import MAC
from .scripts import RETRIES


@frozen
class Asking:
    """
    :ivar mac: None: it names none that can be read.
    :ivar ip: what it says, else where it asks from.
    :ivar uuid: canonical, or empty. :ivar architecture: as iPXE has it: ``x86_64-efi``.
    :ivar tries: how often it has asked again.
    """

    mac: MAC | None
    ip: str
    uuid: str
    architecture: str
    tries: int

    @classmethod
    def of(cls, query: tuple[tuple[str, str], ...], host: str) -> Self:
        """:param host: where the connection comes from."""
        said = dict(reversed(query))  # of two, the first counts
        try:
            mac = MAC.parse(said.get("mac", ""))
        except ValueError:
            mac = None
        try:
            ip = str(ip_address(said.get("ip", "")))
        except ValueError:
            ip = host
        tries = said.get("tries", "0")
        return cls(
            mac,
            ip,
            canonical_uuid(said.get("uuid", "")),
            said.get("arch", ""),
            int(tries) if tries in map(str, range(RETRIES)) else 0 if not tries else RETRIES,
        )

    @property
    def arm64(self) -> bool:
        """Whether it is a machine of that architecture; all others are taken for x86_64."""
        return self.architecture.startswith("arm64")

    @property
    def bios(self) -> bool:
        return self.architecture.endswith("-pcbios")
