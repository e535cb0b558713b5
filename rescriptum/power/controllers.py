"""What controls the power of one machine, by kind."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar, Final, TypeAlias

from attrs import field, frozen
from hyperlink import DecodedURL

from ..contract.pins import Pin
from ..errors import NotFound
from ..values import MAC, Secret

#: What a controller may be asked, by the words of the command line.
ASKED: Final[tuple[str, ...]] = ("status", "on", "off", "pxe")


@frozen
class Redfish:
    """
    A BMC by Redfish. Its own key, an authority, or nobody vouches for it.

    :ivar url: with the path of the service root. :ivar system: id of the machine, of several.
    :ivar pin: of the BMC's key. :ivar authority: a file of CA certificates. Both None: nobody.
    :ivar legacy_tls: whether TLS older than 1.2 will do. :ivar timeout: seconds of an operation.
    """

    kind: ClassVar[str] = "redfish"

    url: DecodedURL
    username: str
    password: Secret = field(repr=False)
    pin: Pin | None = None
    authority: Path | None = None
    system: str = ""
    legacy_tls: bool = False
    timeout: int = 120

    @property
    def address(self) -> str:
        """Of the BMC itself: machines that have the same one are asked one after the other."""
        return f"{self.url.host}:{self.url.port}"

    @property
    def can(self) -> tuple[str, ...]:
        return ASKED

    def __str__(self) -> str:
        """For people: no secret."""
        return self.url.to_text() + (f" system {self.system}" if self.system else "")


@frozen
class Ipmi:
    """
    A BMC by IPMI 2.0.

    :ivar address: host, or host and port. :ivar options: of how it is asked.
    """

    kind: ClassVar[str] = "ipmi"

    address: str
    username: str
    password: Secret = field(repr=False)
    options: Mapping[str, object] = field(factory=dict)
    timeout: int = 120

    @property
    def can(self) -> tuple[str, ...]:
        return ASKED

    def __str__(self) -> str:
        return self.address


@frozen
class Commands:
    """
    Programs of the operator's own, each with its arguments.

    :ivar argv: by what is asked; an empty one: there is nothing to do for that.
    """

    kind: ClassVar[str] = "command"

    argv: Mapping[str, tuple[str, ...]] = field(repr=False)
    timeout: int = 60

    @property
    def address(self) -> str:
        """Empty: no two of them have one BMC, as far as anybody knows."""
        return ""

    @property
    def can(self) -> tuple[str, ...]:
        return tuple(each for each in ASKED if each in self.argv)

    def __str__(self) -> str:
        """Programs without their arguments, which may hold anything."""
        return ", ".join(dict.fromkeys(argv[0] for argv in self.argv.values() if argv))


@frozen
class Wake:
    """
    Wake-on-LAN: a packet that powers a machine on, and nothing comes back.

    :ivar broadcast: where it goes. :ivar interface: that it leaves by; empty: as it is routed.
    """

    kind: ClassVar[str] = "wol"

    mac: MAC
    broadcast: str = "255.255.255.255"
    port: int = 9
    interface: str = ""

    @property
    def address(self) -> str:
        return ""

    @property
    def can(self) -> tuple[str, ...]:
        return ("on",)

    def __str__(self) -> str:
        by = f" by {self.interface}" if self.interface else ""
        return f"{self.mac} to {self.broadcast}{by}"


Controller: TypeAlias = Redfish | Ipmi | Commands | Wake


@frozen
class Controlled:
    """A machine. :ivar name: its id, as the file spells it."""

    name: str
    controller: Controller


@frozen
class Controllers:
    """
    The operator's file, read.

    :ivar machines: by normalised id, in the order of the file.
    """

    machines: Mapping[str, Controlled]

    def __iter__(self) -> Iterator[Controlled]:
        return iter(self.machines.values())

    def find(self, asked: str, needle: str) -> Controlled:
        """
        :param asked: as the operator wrote it. :param needle: the same, normalised.
        :raises NotFound: with the ids that are like it.
        """
        if needle in self.machines:
            return self.machines[needle]
        near = [
            self.machines[each].name
            for each in get_close_matches(needle, self.machines, cutoff=0.5)
        ]
        hint = f"there is {', '.join(near)}" if near else "nor anything like it"
        raise NotFound(f"nothing controls the power of {asked}, {hint}")
