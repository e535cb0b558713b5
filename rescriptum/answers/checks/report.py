"""What is told of an answer set: the same thing once, however many machines it is about."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from attrs import define, field, frozen

from ...values import printable
from .finding import Severity
from .result import Rendered, Result

_WORDS = {Severity.PROBLEM: "FAIL", Severity.WARNING: "warning", Severity.NOTE: "note"}
#: Of machines or documents that one line names.
_NAMED = 3


@frozen
class Entry:
    """
    One thing, and everybody it is about.

    :ivar sources: documents, or places in the set.
    :ivar machines: identities that were asked with, or where a request is from.
    :ivar about: the first result of it: all have its severity, text, path, line and so on.
    """

    about: Result
    sources: tuple[str, ...]
    machines: tuple[str, ...]

    def __str__(self) -> str:
        about = self.about
        place = f"line {about.line}: " if about.line else f"{about.path}: " if about.path else ""
        told = f"{about.by}: " if about.by else ""
        return printable(f"{_WORDS[about.severity]:<8} {self._whom()}: {told}{place}{about.text}")

    def _whom(self) -> str:
        if len(self.sources) == 1:
            source = self.sources[0]
            others = [each for each in self.machines if f"{each}/" not in source and each != source]
            return f"{source} ({_named(others, 'machines')})" if others else source
        if self.about.group and len(self.machines) > 1:
            return f"group {self.about.group} ({_named(self.machines, 'machines')})"
        return _named(self.sources, "places")

    def as_json(self) -> dict[str, object]:
        """:returns: what programs get of it."""
        about = self.about
        return {
            "severity": about.severity.value,
            "text": about.text,
            "path": about.path,
            "line": about.line,
            "format": about.format,
            "group": about.group,
            "by": about.by,
            "sources": list(self.sources),
            "machines": list(self.machines),
        }


def _named(names: Sequence[str], what: str) -> str:
    if len(names) == 1:
        return names[0]
    shown = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    return f"{len(names)} {what}: {shown}" + (f" and {more} more" if more > 0 else "")


@define
class Report:
    """
    Results as they come, told when all of them are there.

    :ivar store: what the set is kept in, for people.
    :ivar groups: how many there are, and ``machines``.
    """

    store: str
    groups: int = 0
    machines: int = 0
    _entries: dict[tuple[object, ...], tuple[Result, dict[str, None], dict[str, None]]] = field(
        factory=dict, init=False
    )
    _kinds: dict[str, int] = field(factory=dict, init=False)

    def add(self, results: Iterable[Result]) -> Self:
        """Results that say the same are one entry."""
        for each in results:
            key = (each.severity, each.text, each.path, each.line, each.format, each.group, each.by)
            _, sources, machines = self._entries.setdefault(key, (each, {}, {}))
            sources[each.source] = None
            if each.machine:
                machines[each.machine] = None
        return self

    def count(self, rendered: Rendered) -> None:
        """One more document that an installer would receive."""
        kind = rendered.kind or rendered.format
        self._kinds[kind] = self._kinds.get(kind, 0) + 1

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Problems first, then warnings, then notes; each in the order that they came."""
        order = list(Severity)
        entries = [Entry(about, tuple(s), tuple(m)) for about, s, m in self._entries.values()]
        return tuple(sorted(entries, key=lambda each: order.index(each.about.severity)))

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many documents were rendered, by what they were taken for; the most first."""
        return dict(sorted(self._kinds.items(), key=lambda each: (-each[1], each[0])))

    def counts(self) -> dict[Severity, int]:
        """:returns: entries by their severity."""
        found = [each.about.severity for each in self.entries]
        return {severity: found.count(severity) for severity in Severity}

    @property
    def fails(self) -> bool:
        """Whether ``check`` exits 1."""
        return any(about.severity is Severity.PROBLEM for about, _, _ in self._entries.values())

    def as_text(self) -> str:
        lines = [f"checking {self.store}", *map(str, self.entries)]
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        total = sum(self._kinds.values())
        lines.append(
            f"{_count(self.groups, 'group')}, {_count(self.machines, 'machine')}; "
            f"{_count(total, 'answer')} rendered" + (f": {kinds}" if kinds else "")
        )
        problems = self.counts()[Severity.PROBLEM]
        lines.append(_count(problems, "problem") if problems else "ok: everything renders")
        return "".join(f"{each}\n" for each in lines)

    def as_json(self) -> dict[str, object]:
        """:returns: what ``--json`` prints; keys are added to it, none changes its meaning."""
        counts = self.counts()
        return {
            "ok": not self.fails,
            "store": self.store,
            "groups": self.groups,
            "machines": self.machines,
            "rendered": dict(self.kinds),
            "problems": counts[Severity.PROBLEM],
            "warnings": counts[Severity.WARNING],
            "notes": counts[Severity.NOTE],
            "findings": [each.as_json() for each in self.entries],
        }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
