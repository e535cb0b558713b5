"""What a machine would get once it is armed, before anything is moved."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from attrs import evolve, field, frozen

from ...answers.answerset import AnswerSet
from ...answers.checks.finding import Severity
from ...answers.checks.result import Result
from ...answers.checks.trials import SEED, Trial, aliases
from ...answers.checks.walk import Walk
from ...answers.disarm import ARMING, Switched, arm_machine, armed
from ...answers.documents import Document, Folder, Key, Listing
from ...answers.facts import Facts
from ...answers.formats.table import PARTS
from ...answers.resolution import Chosen, choose
from ...errors import NotFound, RescriptumError, Unavailable
from ...power.plan import Arms


class _Moved:
    """
    Satisfies :class:`rescriptum.answers.stores.store.Store`: a listing that documents move in, and
    no disk.
    """

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def describe(self) -> str:
        return "rehearsal"

    def close(self) -> None:
        """Nothing is open."""

    def listing(self) -> Listing:
        return self._listing

    def keys(self) -> list[Key]:
        folders = self._listing.folders.values()
        return sorted(Key(each.place, name) for each in folders for name in each.documents)

    def get(self, key: Key) -> bytes:
        return self._document(key).data

    def put(self, key: Key, data: bytes) -> None:
        raise Unavailable("a rehearsal writes nothing")

    def delete(self, key: Key) -> None:
        raise Unavailable("a rehearsal removes nothing")

    def move(self, key: Key, to: Key) -> None:
        document = self._document(key)
        source = f"{to.place}/{PurePosixPath(document.source).name}"
        moved = Document.of(source, document.format, document.data)
        folders = dict(self._listing.folders)
        left = tuple(each for each in folders[key.place].found if each is not document)
        folders[key.place] = Folder(key.place, left)
        before = folders.get(to.place)
        folders[to.place] = Folder(to.place, (*(before.found if before else ()), moved))
        self._listing = evolve(self._listing, folders=folders)

    def _document(self, key: Key) -> Document:
        folder = self._listing.folders.get(key.place)
        if folder is None or key.extension not in folder.documents:
            raise NotFound(f"no {key}")
        return folder.documents[key.extension]


@frozen
class Rehearsal:
    """
    The answer set as it would be.

    :ivar switched: what arming would move; None: there is no document of its own.
    """

    identity: str
    answers: AnswerSet = field(repr=False)
    switched: Switched | None

    @classmethod
    def of(cls, listing: Listing, identity: str) -> "Rehearsal":
        """:param identity: of a machine, in any spelling."""
        store = _Moved(listing)
        try:
            switched: Switched | None = arm_machine(store, identity)
        except NotFound:
            switched = None
        return cls(identity, AnswerSet.of(store.listing()), switched)

    def _facts(self, *segments: str) -> Facts:
        return Facts(segments, raw=self.identity.encode("utf-8", "surrogateescape"))

    def arms(self) -> tuple[Arms, str]:
        """
        :returns: what would arm it, and whose document that is.
        :raises MalformedDocument: when that cannot be told, since one is broken.
        """
        facts = self._facts(ARMING)
        try:
            chosen = choose(self.answers, facts)
        except NotFound:
            return Arms.NOTHING, ""
        if chosen.default:
            return Arms.DEFAULT, ""
        if not chosen.machine:
            return Arms.GROUP, chosen.group
        own = chosen.machine in armed(self.answers, facts)
        return (Arms.ITSELF if own else Arms.FACTS), chosen.machine

    def rendered(self) -> tuple[tuple[str, ...], tuple[Result, ...]]:
        """
        Render everything that a machine's or a group's document has for it; what there is for
        everybody is not looked at.

        :returns: what was rendered, by extension, and what is to be told of it.
        """
        walk = Walk(self.answers)
        names: dict[str, None] = {}
        results: list[Result] = []
        for facts in self._requests():
            try:
                chosen = choose(self.answers, facts)
            except NotFound:
                continue
            except RescriptumError as e:
                results.append(Result(Severity.PROBLEM, self.identity, str(e)))
                continue
            if chosen.default or chosen.made_up is not None:
                continue
            names[chosen.format.extension] = None
            results += walk.attempt(self._trial(facts, chosen)).results
        return tuple(names), tuple(dict.fromkeys(results))

    def _requests(self) -> Iterator[Facts]:
        for alias in aliases():
            yield self._facts(alias)
        for part in PARTS:
            yield self._facts(SEED, part)

    def _trial(self, facts: Facts, chosen: Chosen) -> Trial:
        """Examples stand in for facts that an id alone does not carry."""
        spare = tuple(each for layer in chosen.layers for each in layer.control.examples)
        return Trial(facts, "machine", self.identity, chosen.layers[-1], spare)
