"""
Changes to the answer set that cannot break it: what would be wrong afterwards is known before
anything is written.
"""

from collections.abc import Callable

from attrs import evolve, frozen

from ...errors import NotFound, Refused
from ...values import Problem
from ..answerset import AnswerSet
from ..documents import Document, Folder, Key, Listing
from ..stores.store import Store

#: Whether a change may be made to a document that holds these bytes, or to none at all.
Condition = Callable[[bytes | None], bool]


class Conflict(Refused):
    """
    A change that would break the set.

    :ivar problems: what would be wrong that is not wrong now.
    """

    code = "conflict"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        super().__init__(f"refused: {problems[0]}{more} (nothing was changed)")
        self.problems = problems


class Stale(Refused):
    """A change to something else than what is there by now."""

    code = "stale"


@frozen
class Change:
    """
    One document, written or removed.

    :ivar document: what is put there; None: it is removed.
    """

    key: Key
    document: Document | None


def with_change(listing: Listing, change: Change) -> Listing:
    """:returns: what the store would hold after ``change``."""
    key = change.key
    folder = listing.folders.get(key.place) or Folder(key.place)
    here = folder.documents.get(key.extension)
    found = [each for each in folder.found if each is not here]
    if change.document is not None:
        # Over the one that is there, under the name it has.
        source = here.source if here is not None else str(key)
        found.append(evolve(change.document, source=source))
        found.sort(key=lambda each: each.source)
    folders = dict(listing.folders)
    if found:
        folders[key.place] = Folder(key.place, tuple(found), folder.error)
    else:
        folders.pop(key.place, None)
    return Listing(folders, listing.problems)


def appeared(before: AnswerSet, after: AnswerSet) -> tuple[Problem, ...]:
    """:returns: what is wrong ``after`` and was not ``before``."""
    known = frozenset(before.problems)
    return tuple(each for each in after.problems if each not in known)


def perform(store: Store, known: AnswerSet, change: Change, condition: Condition) -> None:
    """
    In a thread, while nobody else changes the store.

    :param known: a set of this store, however old: what has not changed is not looked at again.
    :raises Stale: when ``condition`` does not hold.
    :raises NotFound: when there is nothing to remove.
    :raises Conflict: when the change would break the set, or the store does not make it.
    :raises Unavailable: when the store cannot be read or written; it is as it was.
    """
    listing = store.listing()
    try:
        held = store.get(change.key)
    except NotFound:
        held = None
    if not condition(held):
        raise Stale(f"{change.key}: not what the condition of the request names")
    before = known if listing is known.listing else AnswerSet.of(listing, known)
    after = AnswerSet.of(with_change(listing, change), before)
    problems = appeared(before, after)
    if problems:
        raise Conflict(problems)
    try:
        if change.document is None:
            store.delete(change.key)
        else:
            store.put(change.key, change.document.data)
    except NotFound:
        raise
    except Refused as e:
        raise Conflict((Problem(str(change.key), str(e)),)) from None
