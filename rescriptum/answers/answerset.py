"""The answer set as a value: who is claimed by what, and what is wrong with it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Self

from attrs import field, frozen

from ..values import Problem
from .documents import DEFAULT, DISARMED, Document, Documents, Folder, Kind, Listing, Place
from .facts import normalise
from .formats.table import ALIASES
from .groups import Groups
from .salvage import may_match
from .selection import Index, spellings

_NONE: Documents = {}

#: Machines' names and documents of theirs, by extension and in the order of the names.
Named = Mapping[str, tuple[tuple[str, Document], ...]]


@frozen(eq=False)
class AnswerSet:
    """
    What requests are answered from, never changed: a store that has changed makes another one.

    :ivar machines: by identity, as the directory is named; those that are disarmed too.
    :ivar groups: what they stand on, and whom they claim.
    :ivar index: the identities of machines that are armed.
    :ivar selecting: machine documents that claim by facts.
    :ivar doubtful: those that would, and cannot be read, so that nobody can say whom they claim.
    :ivar problems: what an operator has to mend, in a fixed order.
    """

    listing: Listing = field(repr=False)
    machines: Mapping[str, Folder] = field(repr=False)
    groups: Groups = field(repr=False)
    index: Index = field(repr=False)
    selecting: Named = field(repr=False)
    doubtful: Named = field(repr=False)
    problems: tuple[Problem, ...]
    _extending: frozenset[Place] = field(repr=False)
    _dangling: frozenset[Place] = field(repr=False)
    _troubled: frozenset[Place] = field(repr=False)
    _twins: Mapping[str, tuple[str, ...]] = field(repr=False)

    @classmethod
    def of(cls, listing: Listing, previous: Self | None = None) -> Self:
        """
        :param previous: the set before this one: what is the same in it is not made again, so
            that one change in a hundred thousand machines costs milliseconds.
        """
        old = previous if previous is not None else _empty(cls)
        before, now = old.listing.folders, listing.folders
        added = [each for place, each in now.items() if before.get(place) is not each]
        gone = [each for place, each in before.items() if now.get(place) is not each]
        groups = old.groups
        if any(each.place.kind is Kind.GROUP for each in (*added, *gone)):
            groups = Groups.of(each for place, each in now.items() if place.kind is Kind.GROUP)
        machines = dict(old.machines)
        for folder in _machines(gone):
            del machines[folder.place.name]
        for folder in _machines(added):
            machines[folder.place.name] = folder
        index = old.index.changed(_identities(gone), _identities(added))
        twins = _twins(old._twins, gone, added)
        left = {each.place for each in gone}
        extending = (old._extending - left).union(
            each.place for each in added if any(d.control.extends for d in each.found)
        )
        if groups is old.groups:  # then what stood well still does
            suspects = [each for each in added if each.place in extending]
            dangling = old._dangling - left
        else:
            suspects = [now[place] for place in extending]
            dangling = frozenset()
        dangling = dangling.union(each.place for each in suspects if any(_dangling(groups, each)))
        troubled = (old._troubled - left).union(
            each.place for each in added if each.problems or _misleading(each)
        )
        selecting, doubtful = old.selecting, old.doubtful
        if any(_selecting(each) for each in (*added, *gone)):
            selecting, doubtful = _all(machines, _has_criteria), _all(machines, _doubtful)
        problems = [
            *listing.problems,
            *(
                problem
                for place in _sorted(troubled)
                for problem in (*now[place].problems, *_misleading(now[place]))
            ),
            *groups.problems,
            *(p for place in _sorted(dangling) for p in _dangling(groups, now[place])),
            *_named_twice(twins),
        ]
        return cls(
            listing=listing,
            machines=machines,
            groups=groups,
            index=index,
            selecting=selecting,
            doubtful=doubtful,
            problems=tuple(problems),
            extending=frozenset(extending),
            dangling=dangling,
            troubled=frozenset(troubled),
            twins=twins,
        )

    @property
    def defaults(self) -> Documents:
        """For requests that nothing claims, by extension."""
        folder = self.listing.folders.get(Place(Kind.DEFAULT))
        return _NONE if folder is None else folder.documents


def _empty(cls: type[AnswerSet]) -> AnswerSet:
    nothing: frozenset[Place] = frozenset()
    return cls(Listing(), {}, Groups(), Index(), {}, {}, (), nothing, nothing, nothing, {})


def _machines(folders: Iterable[Folder]) -> Iterable[Folder]:
    return (each for each in folders if each.place.kind is Kind.MACHINE)


def is_disarmed(name: str) -> bool:
    """:returns: whether a machine's directory holds what ``/installed`` took out of use."""
    return name.lower().startswith(DISARMED)


def _claims(name: str) -> bool:
    """:returns: whether a machine of that name claims anything, by name or by facts."""
    return name.isprintable() and not is_disarmed(name)


def _claiming(folders: Iterable[Folder]) -> Iterable[str]:
    return (each.place.name for each in _machines(folders) if _claims(each.place.name))


def _identities(folders: Iterable[Folder]) -> Iterable[tuple[str, str]]:
    return ((name, name) for name in _claiming(folders))


def _selecting(folder: Folder) -> bool:
    """Whether a machine has a document that claims by facts, or may."""
    return folder.place.kind is Kind.MACHINE and any(
        _has_criteria(document) or _doubtful(document) for document in folder.found
    )


def _has_criteria(document: Document) -> bool:
    return bool(document.control.criteria)


def _doubtful(document: Document) -> bool:
    if not (document.error and document.data):
        return False
    return may_match(document.format.family.name, document.data)


def _all(machines: Mapping[str, Folder], wanted: Callable[[Document], bool]) -> Named:
    """:returns: documents that claim by facts, or may: of each machine that claims at all."""
    found: dict[str, list[tuple[str, Document]]] = {}
    for name, folder in sorted(machines.items()):
        if _selecting(folder) and _claims(name):
            for extension, document in folder.documents.items():
                if wanted(document):
                    found.setdefault(extension, []).append((name, document))
    return {extension: tuple(each) for extension, each in found.items()}


def _sorted(places: Iterable[Place]) -> list[Place]:
    """As places are ordered, but for what comparing ten thousand of them with each other takes."""
    return sorted(places, key=lambda place: (place.kind.value, place.name))


def _dangling(groups: Groups, folder: Folder) -> Iterable[Problem]:
    """Documents of a machine or default that stand on what is not there, or is broken."""
    if folder.place.kind is Kind.GROUP:
        return  # its chain says so
    for extension, document in folder.documents.items():
        parent = document.control.extends
        if parent is None:
            continue
        missing = groups.missing(extension, parent)
        if missing:
            yield Problem(document.source, missing)


def _misleading(folder: Folder) -> tuple[Problem, ...]:
    """A machine's name that claims nothing, or too much."""
    name = folder.place.name
    if folder.place.kind is not Kind.MACHINE:
        return ()
    needle = normalise(name)
    if not name.isprintable():
        return (Problem(repr(name), "never claims a request: its name is not printable text"),)
    if not needle:
        text = "never claims a request by its name, which has no ASCII letter or digit"
        return (Problem(name, text),)
    if needle in ALIASES:
        text = "claims every request with that word in its path; for all machines there is "
        return (Problem(name, f"{text}{DEFAULT}/"),)
    return ()


def _twins(
    old: Mapping[str, tuple[str, ...]], gone: Iterable[Folder], added: Iterable[Folder]
) -> Mapping[str, tuple[str, ...]]:
    """:returns: the names that each machine goes by; one is as it should be."""
    off, on = set(_claiming(gone)), set(_claiming(added))
    if off == on:
        return old
    names = dict(old)
    for name in off - on:
        key = min(spellings(normalise(name)))
        left = tuple(each for each in names.pop(key, ()) if each != name)
        if left:
            names[key] = left
    for name in on - off:
        key = min(spellings(normalise(name)))
        if key:
            names[key] = tuple(sorted((*names.get(key, ()), name)))
    return names


def _named_twice(twins: Mapping[str, tuple[str, ...]]) -> Iterable[Problem]:
    for names in [each for each in twins.values() if len(each) > 1]:
        for other in names[1:]:
            yield Problem(other, f"names the same machine as {names[0]}")
