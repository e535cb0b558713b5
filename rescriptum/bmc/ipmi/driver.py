"""A BMC by IPMI: each operation is a few runs of ipmitool, in whatever way they are run."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

from ...contract.bmc import (
    BmcRefusal,
    BootTarget,
    PowerAction,
    PowerState,
    RotateCredential,
    SetOverride,
    SetPower,
)
from ..driver import Asked, Credential
from . import parsing
from .arguments import Call, Target, call, checked, new_password
from .failures import refusal, saying

#: Seconds between two looks at whether a machine is on or off, and looks.
LOOK, LOOKS = 5.0, 6

_POWERS: Final[Mapping[PowerAction, str]] = {
    PowerAction.ON: "on",
    PowerAction.OFF: "off",
    PowerAction.SOFT_OFF: "soft",
    PowerAction.RESET: "reset",
    PowerAction.CYCLE: "cycle",
    PowerAction.NMI: "diag",
}
_DEVICES: Final[Mapping[BootTarget, str]] = {
    BootTarget.PXE: "pxe",
    BootTarget.HDD: "disk",
    BootTarget.CD: "cdrom",
    BootTarget.NONE: "none",
}


class Finished(Protocol):
    """A run of ipmitool that is over."""

    @property
    def status(self) -> int: ...
    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...


class Tool(Protocol):
    """Runs ipmitool."""

    async def run(self, made: Call, seconds: float) -> Finished:
        """:raises BmcRefusal: ``timeout``; ``invalid-config`` when there is no ipmitool."""

    async def wait(self, seconds: float) -> None:
        """Let some time pass."""

    def monotonic(self) -> float:
        """:returns: seconds, of a clock that only goes forward."""


class IpmiDriver:
    """One BMC. Satisfies :class:`rescriptum.bmc.driver.Driver`."""

    def __init__(
        self, address: str, tool: Tool, pin: str = "", options: Mapping[str, object] | None = None
    ) -> None:
        """:param pin: refused: IPMI has no key that could be pinned."""
        self._address = address
        self._tool = tool
        self._pin = pin
        self._options = options or {}

    async def run(self, asked: Asked) -> dict[str, object]:
        """:raises BmcRefusal: with the code of why not."""
        if self._pin:
            raise BmcRefusal("pin-unsupported", "IPMI has no key that could be pinned")
        target = Target.parse(self._address, self._options)
        perform = _PERFORMING.get(asked.operation.name)
        if perform is None:
            raise BmcRefusal("unsupported-operation", f"no {asked.operation.name} by IPMI")
        talk = _Talk(self._tool, target, checked(asked.credential), asked.seconds)
        return await perform(talk, asked)


class _Talk:
    """The runs of one operation, which all use the cipher suite that the first one found."""

    def __init__(self, tool: Tool, target: Target, credential: Credential, seconds: float) -> None:
        self._tool = tool
        self._target = target
        self._credential = credential
        self._until = tool.monotonic() + seconds
        self._ciphers = target.ciphers

    async def say(
        self, *words: str, verbose: bool = True, stdin: bytes = b"", lenient: bool = False
    ) -> str:
        """
        :param lenient: whether it does not matter that the BMC cannot do it.
        :returns: what ipmitool printed.
        """
        while True:
            cipher = self._ciphers[0]
            made = call(self._target, self._credential, cipher, words, verbose=verbose, stdin=stdin)
            ended = await self._tool.run(made, self._left())
            if ended.status == 0:
                self._ciphers = (cipher,)
                return ended.stdout
            row = saying(ended.stderr)
            if row is not None and row.other_cipher and len(self._ciphers) > 1:
                self._ciphers = self._ciphers[1:]  # nothing was asked yet: no session was opened
                continue
            why = refusal(ended.stderr)
            if lenient and why.code in ("unsupported-operation", "failed"):
                return ""
            raise why

    def as_(self, credential: Credential) -> "_Talk":
        """:returns: the same, by another credential."""
        other = _Talk(self._tool, self._target, credential, self._left())
        other._ciphers = self._ciphers
        return other

    def _left(self) -> float:
        left = self._until - self._tool.monotonic()
        if left <= 0:
            raise BmcRefusal("timeout")
        return left

    async def settled(self, wanted: PowerState) -> PowerState:
        """:returns: what the power is, once it is as wanted, or has had its time (W229)."""
        state = parsing.power(await self.say("chassis", "power", "status"))
        for _ in range(LOOKS):
            if state is wanted or self._until - self._tool.monotonic() <= LOOK:
                break
            await self._tool.wait(LOOK)
            state = parsing.power(await self.say("chassis", "power", "status"))
        return state


async def _get_power(talk: _Talk, asked: Asked) -> dict[str, object]:
    return {"power": parsing.power(await talk.say("chassis", "power", "status")).value}


async def _set_power(talk: _Talk, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, SetPower)
    action = asked.args.action
    state = parsing.power(await talk.say("chassis", "power", "status"))
    goal = {PowerAction.ON: PowerState.ON, PowerAction.OFF: PowerState.OFF}.get(action)
    holds = PowerState.OFF if action is PowerAction.SOFT_OFF else goal
    if state is holds:  # BMCs refuse what holds already (W227)
        return {"power": state.value}
    if action is PowerAction.CYCLE and state is PowerState.OFF:  # IPMI 2.0 section 28.3: no cycle
        action, goal = PowerAction.ON, PowerState.ON
    await talk.say("chassis", "power", _POWERS[action])
    if goal is None:  # the machine takes its time, or nothing changes
        return {"power": PowerState.UNKNOWN.value}
    state = await talk.settled(goal)
    if state is not goal:
        raise BmcRefusal("timeout", f"the BMC took it, and still says {state.value}")
    return {"power": state.value}


async def _get_override(talk: _Talk, asked: Asked) -> dict[str, object]:
    return parsing.override(await talk.say("chassis", "bootparam", "get", "5"))


async def _set_override(talk: _Talk, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, SetOverride)
    args = asked.args
    device = _DEVICES.get(args.target)
    if device is None:
        raise BmcRefusal("unsupported-operation", f"IPMI has no boot target {args.target.value}")
    uefi = args.uefi
    if uefi is None:
        # What is not said is legacy to a BMC. As it was, where that is known; else as machines
        # of today boot.
        before = parsing.override(await talk.say("chassis", "bootparam", "get", "5"))
        uefi = before["uefi"] is not False
    # Else a BMC forgets it after 60 seconds, which a server's POST easily takes.
    await talk.say("raw", "0x00", "0x08", "0x03", "0x08", lenient=True)
    options = [*(("efiboot",) if uefi else ()), *(() if args.once else ("persistent",))]
    words = (f"options={','.join(options)}",) if options else ()
    await talk.say("chassis", "bootdev", device, *words)
    shown = parsing.selected(await talk.say("chassis", "bootparam", "get", "5"))
    if shown != args.target.value:
        raise BmcRefusal("refused", f"the BMC took it, and shows {shown}")
    return {"target": shown, "once": args.once, "uefi": uefi}


async def _inventory(talk: _Talk, asked: Asked) -> dict[str, object]:
    controller = await talk.say("mc", "info")
    # One device: without its number ipmitool asks for every sensor first, and fills an empty
    # repository of them as it does.
    fru = await talk.say("fru", "print", "0", lenient=True)
    return parsing.inventory(controller, fru)


async def _events(talk: _Talk, asked: Asked) -> dict[str, object]:
    await talk.say("mc", "info")  # says why there is no session; -v would be another format
    most = str(parsing.MOST_EVENTS)
    # ``sel list`` and not ``elist``: that one, too, fills an empty repository of sensors.
    printed = await talk.say("-c", "sel", "list", "last", most, verbose=False)
    return {"entries": parsing.events(printed)}


async def _reset(talk: _Talk, asked: Asked) -> dict[str, object]:
    await talk.say("mc", "reset", "cold")
    return {}


async def _rotate(talk: _Talk, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, RotateCredential)
    wanted, old = checked(asked.replacement), asked.credential
    assert old is not None
    if wanted.username != old.username:
        raise BmcRefusal("invalid-config", "IPMI changes a password, and not a user's name")
    user = parsing.user_id(await talk.say("user", "list"), old.username)
    # Arguments are for everybody to read: the command comes on stdin.
    await talk.say("exec", "/dev/stdin", stdin=new_password(user, wanted.password))
    try:
        await talk.as_(wanted).say("mc", "info")
    except BmcRefusal as e:
        return {"verified": False, "reason": e.code}
    return {"verified": True}


_PERFORMING: Final[Mapping[str, Callable[[_Talk, Asked], Awaitable[dict[str, object]]]]] = {
    "power.getPower": _get_power,
    "power.setPower": _set_power,
    "boot.getOverride": _get_override,
    "boot.setOverride": _set_override,
    "inventory.get": _inventory,
    "management.getSelLog": _events,
    "management.reset": _reset,
    "management.rotateCredential": _rotate,
}

#: What the driver can do, as its manifest says it.
CONCERNS: Final[Sequence[str]] = sorted({name.partition(".")[0] for name in _PERFORMING})
