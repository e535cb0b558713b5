"""What a BMC and its machine are at one moment."""

from attrs import evolve, field, frozen

from ..values import Secret
from .switches import Switch, Switches

#: A host that is nowhere.
NOWHERE = "https://elsewhere.invalid"
#: Of the machine, fixed: tests and dry runs compare with them.
SERIAL, MODEL, VENDOR = "FAKE0001", "Nothing 1", "rescriptum"
MACS = ("52:54:00:b0:00:01", "52:54:00:b0:00:02")

#: Seconds that an update takes; that a slow machine's power takes; and of a locked account.
UPDATING, LAGGING, LOCKED = 6.0, 12.0, 300.0
#: Session slots, and seconds until one that is not used is free again.
SLOTS, IDLE = 4, 1800.0
#: Tasks and lines of the log that are kept: the oldest go.
KEPT = 64


@frozen
class Account:
    """
    Who may ask. :ivar limited: whether nothing is allowed any more but what a login itself is.
    :ivar must_change: whether the password has to be changed first.
    """

    name: str
    password: Secret = field(repr=False)
    wrong: int = 0
    locked_until: float = 0
    limited: bool = False
    must_change: bool = False


@frozen
class Session:
    """:ivar token: that it is proved by. :ivar requests: that used it."""

    id: str
    token: str = field(repr=False)
    user: str
    used: float
    requests: int = 0


@frozen
class Override:
    """What is booted, as Redfish says it."""

    target: str = "None"
    enabled: str = "Disabled"
    mode: str = "UEFI"
    uri: str = ""


@frozen
class Power:
    """:ivar goal: that it has from ``due`` on."""

    on: bool = False
    goal: bool = False
    due: float = 0

    def at(self, now: float) -> bool:
        return self.goal if now >= self.due else self.on


@frozen
class Task:
    """An update on its way, or over. :ivar applied: whether nothing more comes of it."""

    id: str
    began: float
    applied: bool = False


@frozen
class Changed:
    """
    What happened to the machine, for whoever plays it.

    :ivar what: ``on``, ``off``, ``soft-off``, ``reset``, ``nmi`` or ``boot``.
    :ivar on: whether it runs from ``due`` on. :ivar override: that it boots by.
    :ivar media: URL of the inserted image; empty: none.
    """

    what: str
    on: bool
    override: Override
    media: str
    due: float


@frozen
class State:
    """
    :ivar version: of what can be changed; ETags are made of it.
    :ivar gets: of what has an ETag. :ivar given: the ETag that belongs to the last of them.
    :ivar serial: of whatever was made last. :ivar refusals: given so far of what is refused a
        few times only, by its switch's word. :ivar changes: that nobody has been told of yet.
    :ivar booted: whether the machine was reset since the BMC began.
    :ivar elsewhere: another host's URL, for the switches that lead there.
    """

    switches: Switches
    accounts: tuple[Account, ...]
    sessions: tuple[Session, ...] = ()
    power: Power = Power()
    override: Override = Override()
    media: str = ""
    stale: bool = False
    tasks: tuple[Task, ...] = ()
    firmware: int = 1
    log: tuple[str, ...] = ()
    version: int = 1
    gets: int = 0
    given: str = ""
    serial: int = 0
    refusals: tuple[str, ...] = ()
    changes: tuple[Changed, ...] = ()
    booted: bool = False
    elsewhere: str = NOWHERE

    @classmethod
    def new(cls, switches: Switches, name: str, password: str, elsewhere: str = NOWHERE) -> "State":
        must = Switch.CHANGE_REQUIRED in switches
        account = Account(name, Secret(password), must_change=must)
        return cls(switches, (account,), elsewhere=elsewhere)

    def refused(self, word: str) -> "State":
        """Once more, by the switch of that word."""
        return evolve(self, refusals=(*self.refusals, word))

    def logged(self, line: str) -> "State":
        return evolve(self, log=(*self.log, line)[-KEPT:])

    def changed(self, what: str) -> "State":
        """Tell whoever plays the machine."""
        power = self.power
        told = Changed(what, power.goal, self.override, self.media, power.due)
        return evolve(self, changes=(*self.changes, told)[-KEPT:])

    def task_over(self, task: Task, now: float) -> bool:
        return now >= task.began + UPDATING

    def settled(self, now: float) -> "State":
        """What the mere passing of time does: sessions lapse."""
        kept = tuple(each for each in self.sessions if now - each.used < IDLE)
        return evolve(self, sessions=kept) if len(kept) != len(self.sessions) else self
