"""Operations on a BMC through the product's own driver, in a time that does not wait."""

import fcntl
import select
import sys
import termios
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import define, field
from hyperlink import DecodedURL
from twisted.internet import reactor as global_reactor
from twisted.internet.interfaces import IDelayedCall, IReactorFDSet, IReactorTCP, IReactorTime
from twisted.internet.task import Clock, LoopingCall
from twisted.internet.tcp import Connection
from zope.interface import directlyProvides, providedBy

from rescriptum.bmc.driver import Asked, Credential
from rescriptum.bmc.redfish.driver import RedfishDriver
from rescriptum.bmc.trust import Trust
from rescriptum.contract.bmc import (
    OPERATIONS,
    BmcRefusal,
    BootTarget,
    InsertMedia,
    Nothing,
    PowerAction,
    RotateCredential,
    SetOverride,
    SetPower,
    UpdateFirmware,
)
from rescriptum.fakebmc.state import NOWHERE
from rescriptum.testing import FakeBMC, Switch
from rescriptum.values import Secret

#: Turns of the reactor, a millisecond apart, with nothing on its way, before time goes on: what
#: was put off to the next turn has been done by then, and who closed has been heard.
QUIET: Final = 20
IMAGE, FIRMWARE = "http://192.0.2.9/iso/debian.iso", "http://192.0.2.9/cache/f/abc/def"
#: Seconds of an operation.
SECONDS: Final = 120.0


class Hurried:
    """
    The reactor, with a time that stands while something is on its way, and then goes at once to
    whatever is next. Both ends of every connection have to be in this process.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self._quiet = 0
        self._pump = LoopingCall(self._turn)
        directlyProvides(self, providedBy(global_reactor))

    def __getattr__(self, name: str) -> object:
        return getattr(global_reactor, name)

    def callLater(
        self, delay: float, callable: Callable[..., object], *args: object, **kw: object
    ) -> IDelayedCall:
        return self.clock.callLater(delay, callable, *args, **kw)

    def seconds(self) -> float:
        return self.clock.seconds()

    def start(self) -> None:
        self._pump.start(0.001, now=False).addErrback(lambda failure: failure.printTraceback())

    def stop(self) -> None:
        self._pump.stop()

    def _turn(self) -> None:
        self._quiet = 0 if _on_its_way() else self._quiet + 1
        calls = self.clock.getDelayedCalls()
        if self._quiet >= QUIET and calls:
            self._quiet = 0
            self.clock.advance(max(0.0, min(each.getTime() for each in calls) - self.seconds()))


def _on_its_way() -> bool:
    """:returns: whether a socket waits to be read, to connect or to be rid of what was written."""
    reactor = IReactorFDSet(global_reactor)
    if reactor.getWriters():
        return True
    readers = reactor.getReaders()
    poller = select.poll()
    for each in readers:
        poller.register(each.fileno(), select.POLLIN)
    if poller.poll(0):
        return True
    sockets = [each.socket for each in readers if isinstance(each, Connection)]
    return any(_unacknowledged(each.fileno()) for each in sockets)


def _unacknowledged(fd: int) -> int:
    answer = fcntl.ioctl(fd, termios.TIOCOUTQ, b"\0\0\0\0")
    return int.from_bytes(answer, sys.byteorder)


@define
class Asking:
    """
    Whoever asks one fake BMC.

    :ivar bmc: that listens. :ivar driver: of the product. :ivar credential: that holds.
    :ivar data: of the last operation. :ivar told: everything that came of any.
    """

    bmc: FakeBMC
    driver: RedfishDriver
    hurried: Hurried
    credential: Credential
    data: dict[str, object] = field(factory=dict)
    told: str = ""

    @classmethod
    def of(cls, *switches: Switch, elsewhere: str = NOWHERE, system: str = "") -> "Asking":
        hurried = Hurried()
        bmc = FakeBMC(
            IReactorTCP(global_reactor),
            *switches,
            clock=IReactorTime(hurried),
            elsewhere=elsewhere,
        )
        bmc.startService()
        hurried.start()
        trust = Trust.by_pin(bmc.pin)
        if Switch.OLD_TLS in switches:
            trust = trust.with_legacy_tls()
        url = DecodedURL.from_text(bmc.url)
        driver = RedfishDriver(IReactorTime(hurried), url, trust, system=system)
        return cls(bmc, driver, hurried, Credential(bmc.username, Secret(bmc.password)))

    async def close(self) -> None:
        await self.bmc.stopService()
        self.hurried.stop()

    async def ask(
        self,
        name: str,
        args: object = Nothing(),
        seconds: float = SECONDS,
        replacement: Credential | None = None,
        credential: Credential | None = None,
    ) -> str:
        """:returns: the code; what came is in ``data``, or as its ``detail`` what was wrong."""
        asked = Asked(
            OPERATIONS[name],
            args,
            credential or self.credential,
            replacement,
            FIRMWARE if name == "firmware.update" else "",
            seconds,
        )
        code = "ok"
        try:
            self.data = await self.driver.run(asked)
        except BmcRefusal as e:
            code, self.data = e.code, {"detail": e.detail}
        self.told += f"{name} {code} {self.data}\n"
        return code

    async def rotate(self, password: str) -> str:
        """:returns: the code; after ``ok`` the new password is the one that is used."""
        new = Credential(self.credential.username, Secret(password))
        code = await self.ask("management.rotateCredential", ROTATING, replacement=new)
        if code == "ok":
            self.credential = new
        return code

    def sent(self, method: str) -> int:
        """:returns: how many requests of that method the BMC has had."""
        return sum(each.method == method for each in self.bmc.heard)


#: One of everything, in an order that makes sense, but for the change of the credential.
ROUND: Final[Mapping[str, tuple[str, object]]] = {
    "status": ("power.getPower", Nothing()),
    "override": ("boot.setOverride", SetOverride(BootTarget.PXE)),
    "override?": ("boot.getOverride", Nothing()),
    "on": ("power.setPower", SetPower(PowerAction.ON)),
    "on again": ("power.setPower", SetPower(PowerAction.ON)),
    "insert": ("media.insert", InsertMedia(IMAGE)),
    "from cd": ("boot.setOverride", SetOverride(BootTarget.CD)),
    "eject": ("media.eject", Nothing()),
    "reset": ("power.setPower", SetPower(PowerAction.RESET)),
    "for ever": ("boot.setOverride", SetOverride(BootTarget.PXE, once=False)),
    "by http": ("boot.setOverride", SetOverride(BootTarget.HTTP)),
    "bios": ("boot.setOverride", SetOverride(BootTarget.HDD, uefi=False)),
    "no override": ("boot.setOverride", SetOverride(BootTarget.NONE)),
    "cycle": ("power.setPower", SetPower(PowerAction.CYCLE)),
    "nmi": ("power.setPower", SetPower(PowerAction.NMI)),
    "inventory": ("inventory.get", Nothing()),
    "log": ("management.getSelLog", Nothing()),
    "firmware": ("firmware.list", Nothing()),
    "update": ("firmware.update", UpdateFirmware("0" * 64, FIRMWARE)),
    "soft off": ("power.setPower", SetPower(PowerAction.SOFT_OFF)),
    "off": ("power.setPower", SetPower(PowerAction.OFF)),
}
#: What each sort of quirks is about, by their numbers; the others are about everything.
_ABOUT: Final[tuple[tuple[int, int, tuple[str, ...]], ...]] = (
    (213, 217, ("override", "override?", "insert", "eject")),
    (
        218,
        225,
        ("override", "override?", "on", "for ever", "by http", "bios", "no override", "from cd"),
    ),
    (
        226,
        229,
        ("status", "override", "on", "on again", "reset", "cycle", "nmi", "soft off", "off"),
    ),
    (231, 235, ("status", "insert", "from cd", "eject")),
    (236, 241, ("firmware", "update")),
    (242, 247, ("status",)),
)
#: Of those that are plain rude.
_RUDE: Final = ("status", "on", "override", "inventory")
NEW = "Another9one"
ROTATING = RotateCredential("ref")


def steps_for(switch: Switch) -> tuple[str, ...]:
    """:returns: of a round that shows what the switch does, the credential's change apart."""
    if not switch.quirk:
        return _RUDE
    number = int(switch.quirk.removeprefix("W"))
    about = (steps for first, last, steps in _ABOUT if first <= number <= last)
    return next(about, tuple(ROUND))


async def round_of(asking: Asking, steps: Iterable[str] = ROUND) -> dict[str, str]:
    """
    Those steps, a change of the credential, and a look with the new one.

    :returns: by step, the code of what did not go well.
    """
    codes = {}
    for step in steps:
        name, args = ROUND[step]
        codes[step] = await asking.ask(name, args)
    codes["rotate"] = await asking.rotate(NEW)
    codes["status after"] = await asking.ask("power.getPower")
    return {step: code for step, code in codes.items() if code != "ok"}
