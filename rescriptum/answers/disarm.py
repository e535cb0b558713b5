"""
Takes what makes a machine install itself out of use, and puts it back: its own ``ipxe`` document
goes to a sibling directory, where it claims nothing. Never a group's or the default's.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Self

from attrs import frozen

from ..errors import NotFound, Refused, RescriptumError, Unavailable
from .answerset import AnswerSet, is_disarmed
from .documents import DISARMED, Key, Kind, Place
from .facts import Facts, normalise
from .selection import spellings
from .stores.store import Store

#: The extension of documents that arm.
ARMING = "ipxe"


@frozen
class Moved:
    """One document that went to another directory."""

    key: Key
    to: Key

    def __str__(self) -> str:
        return f"{self.key.place} -> {self.to.place}"


@frozen
class Switched:
    """
    What became of an identity.

    :ivar moved: in the order in which it was done.
    :ivar already: documents that were as they were wanted.
    """

    moved: tuple[Moved, ...]
    already: tuple[Key, ...] = ()


def _arming(name: str) -> Key:
    return Key(Place(Kind.MACHINE, name), ARMING)


def armed(answers: AnswerSet, facts: Facts) -> tuple[str, ...]:
    """
    :returns: the machines that the request names and that have a document that arms them: by
        identity, never by what they match.
    """
    owners = dict.fromkeys(claim.owner for claim in answers.index.claims(facts.values))
    return tuple(name for name in owners if ARMING in answers.machines[name].documents)


def disarm(store: Store, answers: AnswerSet, facts: Facts) -> tuple[Moved, ...]:
    """
    Disarm whatever machines a request names. It blocks; it may be repeated, also after it was
    interrupted: nothing is lost between two moves.

    :returns: empty when nothing was armed.
    :raises Unavailable: when a machine is still armed, naming it and the reason. Others that the
        request names are disarmed all the same.
    """
    moved: list[Moved] = []
    still = []
    for name in armed(answers, facts):
        try:
            for each in _put_away(store, name):
                moved.append(each)
        except RescriptumError as e:
            still.append(f"{name} is still armed: {e}")
    if still:
        raise Unavailable("; ".join((*still, *(f"disarmed: {each}" for each in moved))))
    return tuple(moved)


def _put_away(store: Store, name: str) -> Iterator[Moved]:
    """What lies there from the last time goes to the next free sibling first."""
    key, to = _arming(name), _arming(DISARMED + name)
    try:
        store.move(key, to)
    except NotFound:  # somebody else was quicker
        return
    except Refused:
        if not _there(store, to):
            raise
        number = 2
        while _there(store, aside := _arming(f"{DISARMED}{number}-{name}")):
            number += 1
        store.move(to, aside)
        yield Moved(to, aside)
        store.move(key, to)
    yield Moved(key, to)


def _there(store: Store, key: Key) -> bool:
    folder = store.listing().folders.get(key.place)
    return folder is not None and key.extension in folder.documents


@frozen
class _Names:
    """
    Machines that go by one identity.

    :ivar armed: those that have a document that arms them.
    :ivar disarmed: the same of those whose document is out of use, without the prefix.
    :ivar other: those that have other documents only.
    """

    armed: tuple[str, ...]
    disarmed: tuple[str, ...]
    other: tuple[str, ...]

    @classmethod
    def of(cls, keys: Sequence[Key], identity: str) -> Self:
        """
        :raises NotFound: when no machine goes by that identity, with the names of others.
        """
        bare = _bare(identity)
        needle = normalise(bare)
        needles = set(spellings(needle)) if needle else set()
        machines = sorted({key.place.name for key in keys if key.place.kind is Kind.MACHINE})
        arming = {key.place.name for key in keys if key == _arming(key.place.name)}
        named = [
            name for name in machines if _bare(name) == bare or normalise(_bare(name)) in needles
        ]
        if not named:
            bares = {normalise(_bare(name)): _bare(name) for name in machines}
            near = [bares[each] for each in get_close_matches(needle, bares)]
            text = f"there is {', '.join(near)}" if near else "nor anything like it"
            raise NotFound(f"no machine is called {identity}, {text}")
        return cls(
            tuple(each for each in named if each in arming and not is_disarmed(each)),
            tuple(_bare(each) for each in named if each in arming and is_disarmed(each)),
            tuple(each for each in named if each not in arming),
        )


def _bare(name: str) -> str:
    return name[len(DISARMED) :] if is_disarmed(name) else name


def disarm_machine(store: Store, identity: str) -> Switched:
    """
    :param identity: of a machine, in any spelling.
    :raises NotFound: when there is no such machine, or nothing of its own arms it.
    """
    names = _Names.of(store.keys(), identity)
    moved = [each for name in names.armed for each in _put_away(store, name)]
    if not names.armed and not names.disarmed:
        raise NotFound(f"{names.other[0]} has no {ARMING} document of its own")
    already = () if names.armed else tuple(_arming(DISARMED + each) for each in names.disarmed)
    return Switched(tuple(moved), already)


def arm_machine(store: Store, identity: str) -> Switched:
    """
    :param identity: of a machine, in any spelling.
    :raises NotFound: when there is no such machine, or no document to arm it with.
    """
    names = _Names.of(store.keys(), identity)
    if not names.armed and not names.disarmed:
        raise NotFound(f"{names.other[0]} has no {ARMING} document, neither in use nor put away")
    moved = []
    for name in names.disarmed:
        if name not in names.armed:
            key, to = _arming(DISARMED + name), _arming(name)
            store.move(key, to)
            moved.append(Moved(key, to))
    return Switched(tuple(moved), tuple(map(_arming, names.armed)))
