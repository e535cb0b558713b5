"""When a status report is due, and what has changed since the last one."""

from typing import Final

from attrs import evolve

from ..contract.reports import Discovered, Progress, SectionStatus, StatusReport
from ..contract.structure import JSON

#: Seconds between two reports at least, and between two that say everything.
SHORTEST, FULL = 1.0, 60.0
#: Commands whose progress waits to be told.
PROGRESS: Final = 64
#: What members of a detail are called that change with every look.
_AGE = "_ms_ago"


class Reporter:
    """What an agent says of itself: on change, at most once a second, and all of it each minute."""

    def __init__(self) -> None:
        self._sections: dict[str, SectionStatus] = {}
        self._inventory: JSON | None = None
        self._discovered: tuple[Discovered, ...] | None = None
        self._progress: dict[str, Progress] = {}
        self._changed: set[str] = set()
        self._last: float | None = None
        self._full: float | None = None

    @property
    def sections(self) -> tuple[SectionStatus, ...]:
        """All of them, as they are known now."""
        return tuple(self._sections.values())

    def section(self, status: SectionStatus) -> None:
        """How far a section has come; ages in its detail alone are no change."""
        before = self._sections.get(status.name)
        self._sections[status.name] = status
        if before is None or _steady(before) != _steady(status):
            self._changed.add(status.name)

    def inventory(self, found: JSON) -> None:
        """Of the machine, or the site."""
        if found != self._inventory:
            self._inventory = found
            self._changed.add("inventory")

    def discovered(self, machines: tuple[Discovered, ...]) -> None:
        """Machines that boot and have no entry."""
        if machines != self._discovered:
            self._discovered = machines
            self._changed.add("discovered")

    def progress(self, command_id: str, data: JSON) -> None:
        """How far a command has come; what it said before need not be told any more."""
        self._progress.pop(command_id, None)
        self._progress[command_id] = Progress(command_id, data)
        if len(self._progress) > PROGRESS:
            del self._progress[next(iter(self._progress))]

    def begin_session(self) -> None:
        """A gateway that may know nothing: say everything."""
        self._full = None

    def due(self, now: float) -> float | None:
        """:returns: seconds until :meth:`take` has something to say; None: nobody knows yet."""
        if self._nothing():
            return None
        if self._changed or self._progress or self._full is None:
            return 0.0 if self._last is None else max(0.0, self._last + SHORTEST - now)
        return max(0.0, self._full + FULL - now)

    def take(self, now: float) -> StatusReport | None:
        """:returns: what is to be said at ``now``; None: nothing."""
        due = self.due(now)
        if due is None or due > 0:
            return None
        full = self._full is None or now - self._full >= FULL
        said = set(self._sections) | {"inventory", "discovered"} if full else self._changed
        report = StatusReport(
            tuple(each for name, each in self._sections.items() if name in said),
            self._inventory if "inventory" in said else None,
            self._discovered if "discovered" in said else None,
            tuple(self._progress.values()),
        )
        self._last = now
        if full:
            self._full = now
        self._changed = set()
        self._progress = {}
        return report

    def failed(self, report: StatusReport) -> None:
        """It was not heard: what it said is to be said again, unless it is old by now."""
        self._changed |= {each.name for each in report.sections}
        if report.inventory is not None:
            self._changed.add("inventory")
        if report.discovered is not None:
            self._changed.add("discovered")
        for each in report.progress:
            self._progress.setdefault(each.command_id, each)

    def _nothing(self) -> bool:
        known = self._sections or self._progress
        return not known and self._inventory is None and self._discovered is None


def _steady(status: SectionStatus) -> SectionStatus:
    return evolve(status, detail=_without_ages(status.detail))


def _without_ages(detail: JSON) -> JSON:
    return {
        name: _without_ages(value) if isinstance(value, dict) else value
        for name, value in detail.items()
        if not name.endswith(_AGE)
    }
