"""What a BMC is asked: THE table of operations, what each is told, and the codes of its outcome."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import field, frozen

from ..errors import RescriptumError
from .bounds import many, name, number, text

#: Seconds that an operation may take: when nothing is said, and at the most.
USUAL_SECONDS, LONGEST_SECONDS = 60, 3600


class PowerAction(Enum):
    """What is done to the power of a machine."""

    ON = "on"
    OFF = "off"
    SOFT_OFF = "soft-off"
    RESET = "reset"
    CYCLE = "cycle"
    NMI = "nmi"


class PowerState(Enum):
    """What a machine's power is."""

    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"


class BootTarget(Enum):
    """What a machine boots from next."""

    PXE = "pxe"
    HTTP = "http"
    HDD = "hdd"
    CD = "cd"
    NONE = "none"


@frozen
class Nothing:
    """Of an operation that is told nothing."""


@frozen
class SetPower:
    """Of ``power.setPower``."""

    action: PowerAction


@frozen
class SetOverride:
    """
    Of ``boot.setOverride``.

    :ivar once: for the next boot alone. :ivar uefi: how it boots; None: as it did.
    :ivar url: which ``http`` boots from; empty: the one that DHCP names.
    """

    target: BootTarget
    once: bool = True
    uefi: bool | None = None
    url: str = field(default="", validator=text(2048, empty=True))


@frozen
class InsertMedia:
    """Of ``media.insert``. :ivar url: of an image that the BMC itself fetches."""

    url: str = field(validator=text(2048))


@frozen
class RotateCredential:
    """Of ``management.rotateCredential``. :ivar newCredentialRef: the secret that is to hold."""

    newCredentialRef: str = field(validator=name())


@frozen
class UpdateFirmware:
    """
    Of ``firmware.update``.

    :ivar sha256: of the image's bytes, in hex. :ivar url: of its source, never the BMC's to fetch.
    :ivar targets: parts of the machine, as the BMC names them; empty: as the image says.
    """

    sha256: str = field(validator=text(64))
    url: str = field(validator=text(2048))
    targets: tuple[str, ...] = field(default=(), validator=many(64))


@frozen
class Operation:
    """
    One thing that a BMC can be asked.

    :ivar kind: of the commands that may ask it.
    :ivar args: the attrs class of what it is told.
    :ivar writes: whether it changes something: then it is never repeated by itself once nobody
        knows whether it was done.
    """

    name: str
    kind: str
    args: type
    writes: bool = True

    @property
    def concern(self) -> str:
        """What hosted drivers say that they can do: ``power``, ``boot``, ``media``…"""
        return self.name.partition(".")[0]


_ROWS: Final = (
    Operation("power.getPower", "bmc.power", Nothing, writes=False),
    Operation("power.setPower", "bmc.power", SetPower),
    Operation("boot.getOverride", "bmc.boot", Nothing, writes=False),
    Operation("boot.setOverride", "bmc.boot", SetOverride),
    Operation("media.insert", "bmc.media", InsertMedia),
    Operation("media.eject", "bmc.media", Nothing),
    Operation("inventory.get", "bmc.inventory", Nothing, writes=False),
    Operation("management.rotateCredential", "bmc.management", RotateCredential),
    Operation("management.getSelLog", "bmc.management", Nothing, writes=False),
    Operation("management.reset", "bmc.management", Nothing),
    Operation("firmware.list", "bmc.firmware", Nothing, writes=False),
    Operation("firmware.update", "bmc.firmware", UpdateFirmware),
)

#: By name.
OPERATIONS: Final[Mapping[str, Operation]] = {row.name: row for row in _ROWS}


@frozen
class BmcOperationRequest:
    """
    The payload of every ``bmc.*`` command.

    :ivar address: host, or host and port; of what a hosted driver calls an address, that.
    :ivar driver: ``redfish`` or empty: the built-in one; else the id of a hosted one.
    :ivar pin: of the BMC's own key. :ivar options: of a hosted driver.
    :ivar credential_ref: a secret: ``{"username", "password"}`` as JSON, or a bare password of
        ``username``; empty: the BMC asks for none.
    :ivar args: of the operation's own class. :ivar timeout_s: seconds; 0: as usual.
    """

    operation: str = field(validator=name())
    address: str = field(validator=text(255))
    driver: str = field(default="", validator=text(empty=True))
    pin: str = field(default="", validator=text(empty=True))
    options: dict[str, object] = field(factory=dict)
    credential_ref: str = field(default="", validator=text(empty=True))
    username: str = field(default="", validator=text(empty=True))
    args: dict[str, object] = field(factory=dict)
    timeout_s: int = field(default=0, validator=number(0, LONGEST_SECONDS))


@frozen
class BmcCode:
    """
    One way in which a BMC, or whoever asks it, says no.

    :ivar meaning: what is wrong, one clause. :ivar advice: what to do about it, one sentence.
    """

    code: str
    meaning: str
    advice: str


_CODES: Final = (
    BmcCode(
        "invalid-config",
        "the BMC's record cannot be right",
        "Mend the address, pin or options of the machine's BMC.",
    ),
    BmcCode(
        "unsupported-driver",
        "no such driver does that here",
        "Install the driver on the site agent, or name another.",
    ),
    BmcCode(
        "unsupported-operation",
        "this BMC cannot do that",
        "Do it another way: its firmware or licence does not offer it.",
    ),
    BmcCode(
        "unreachable",
        "no connection to the BMC",
        "Check its address, its cable and the network between.",
    ),
    BmcCode(
        "tls-error",
        "no TLS that both sides accept",
        "Bring the BMC's firmware up to date, or allow it old TLS by name.",
    ),
    BmcCode(
        "pin-mismatch",
        "the BMC has another key than the pinned one",
        "Find out why before trusting the new one: a new certificate, or another machine.",
    ),
    BmcCode("auth-failed", "the BMC refuses the credential", "Check user name and password."),
    BmcCode("not-found", "the BMC has no such thing", "Compare with what it lists."),
    BmcCode(
        "conflict",
        "the BMC's state does not allow it now",
        "Look what it is busy with, and ask again later.",
    ),
    BmcCode("refused", "the BMC refuses it", "The detail is what it said."),
    BmcCode(
        "bad-response",
        "the answer is not what the protocol says",
        "Bring the BMC's firmware up to date; the detail says what was wrong.",
    ),
    BmcCode(
        "timeout",
        "no answer in time: nobody knows whether it was done",
        "Look at the machine's state before asking again.",
    ),
    BmcCode(
        "image-unverified",
        "the firmware image could not be verified here",
        "Give its digest, and a boot server with [boot] url and a cache to the site agent.",
    ),
    BmcCode("failed", "it was begun and failed", "The detail is what was said of it."),
)

#: THE table of codes. Hosted drivers may have some of their own beside it.
BMC_CODES: Final[Mapping[str, BmcCode]] = {row.code: row for row in _CODES}


#: How the detail of a timeout ends that came before anything was changed.
UNCHANGED: Final = "nothing was changed"


class BmcRefusal(RescriptumError):
    """
    A BMC operation that did not come to pass.

    :ivar code: of the table, or a hosted driver's own.
    :ivar detail: what it was in this case; never a secret.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        row = BMC_CODES.get(code)
        super().__init__(f"{code}: {detail or (row.meaning if row else 'the driver says no more')}")
        self.code = code
        self.detail = detail

    @property
    def unknown(self) -> bool:
        """Whether nobody knows if it was done."""
        return self.code == "timeout" and not self.detail.endswith(UNCHANGED)


@frozen
class BmcOutcome:
    """
    The data of a ``bmc.*`` command's result: a BMC that says no does not fail the command.

    :ivar code: ``ok``, of the table, or a hosted driver's own. :ivar data: as the operation gives.
    """

    ok: bool
    code: str = "ok"
    detail: str = ""
    data: dict[str, object] = field(factory=dict)

    @classmethod
    def of(cls, error: BmcRefusal) -> "BmcOutcome":
        return cls(False, error.code, error.detail)
