"""What can be said of an answer set without asking it anything, and of what nothing reached."""

from collections.abc import Iterable, Iterator, Mapping, Set

from ..answerset import AnswerSet, is_disarmed
from ..disarm import ARMING
from ..documents import DISARMED, Document, Kind, Place
from ..facts import INSIDE, normalise
from ..formats.table import PARTS, accepted
from ..groups import Chain
from .finding import Severity
from .result import Result
from .trials import SEED


def loaded(answers: AnswerSet) -> Iterator[Result]:
    """What was wrong when it was read, and where nothing was."""
    for each in answers.problems:
        yield Result(Severity.PROBLEM, each.source, each.text)
    for place, folder in sorted(answers.listing.folders.items()):
        if not folder.found and not folder.error and place.kind is not Kind.DEFAULT:
            said = "no document in it: a file's extension says what it is"
            yield Result(Severity.WARNING, str(place), said)


def identities(answers: AnswerSet) -> Iterator[Result]:
    """Names so short that they claim less than people expect, and those that stay armed."""
    for name, folder in sorted(answers.machines.items()):
        if is_disarmed(name):
            continue
        if _short(name):
            yield Result(Severity.WARNING, name, _shortness(name), machine=name)
        if ARMING in folder.documents and not _is_place(DISARMED + name):
            yield Result(Severity.WARNING, name, _ARMED, machine=name)
    for chain in _chains(answers):
        for member in chain.document.control.members:
            source = chain.document.source
            if not normalise(member):
                said = f"its member {member!r} has no ASCII letter or digit: it claims nothing"
                yield Result(Severity.WARNING, source, said)
            elif _short(member):
                said = f"its member {member} is {_shortness(member)}"
                yield Result(Severity.WARNING, source, said, machine=member)


_ARMED = (
    "/installed cannot disarm it, and it installs itself again and again: want a name of letters, "
    "digits, . _ : and -, 190 at most"
)


def _is_place(name: str) -> bool:
    """:returns: whether a store takes a machine of that name."""
    try:
        Place.checked(Kind.MACHINE, name)
    except ValueError:
        return False
    return True


def groups(answers: AnswerSet, reached: Set[Document]) -> Iterator[Result]:
    """
    How groups are reached.

    :param reached: documents that were layers of an answer to some request.
    """
    extended = {
        (document.format.extension, document.control.extends) for document in _documents(answers)
    }
    for chain in _chains(answers):
        document, name = chain.document, chain.name
        extension, control = document.format.extension, document.control
        if chain.error:
            continue
        said, severity = "", Severity.NOTE
        if control.criteria and document not in reached:
            criteria = " and ".join(map(str, control.criteria))
            said = f"claims by {criteria}: not checked without examples in it, or --facts"
        elif not control.members and not control.criteria and not _beside(answers, chain):
            said = "reachable only through extends"
            if (extension, name) not in extended:
                own = "no user-data beside it" if extension in PARTS else "no members, no match"
                said = f"nothing reaches it: {own}, and nothing extends it"
                severity = Severity.WARNING
        if said:
            yield Result(severity, document.source, said, format=extension, group=name)
        if extension == ARMING and (control.members or control.criteria):
            said = _arming(chain)
            yield Result(Severity.NOTE, document.source, said, format=extension, group=name)


def given(answered: Mapping[str, bool]) -> Iterator[Result]:
    """:param answered: whether anything answered the requests that were given, by their labels."""
    for label, one in answered.items():
        if not one:
            yield Result(Severity.WARNING, label, "nothing answers this request")


def _arming(chain: Chain) -> str:
    control = chain.document.control
    count = len(control.members)
    whom = [f"{count} machine{'s' * (count != 1)}"] if count else []
    if control.criteria:
        whom.append(f"whatever has {' and '.join(map(str, control.criteria))}")
    return (
        f"arms {' and '.join(whom)}, and /installed never disarms a group: they install again "
        "each time they boot from the network"
    )


def _beside(answers: AnswerSet, chain: Chain) -> bool:
    """:returns: whether it is a part of a seed that goes with its group's user-data."""
    return chain.document.format.extension in PARTS and any(
        answers.groups.chain(kind.extension, chain.name) is not None for kind in accepted((SEED,))
    )


def _short(name: str) -> bool:
    return 0 < len(normalise(name)) < INSIDE


def _shortness(name: str) -> str:
    return (
        f"shorter than {INSIDE} letters and digits: it claims only requests of which a whole value "
        f"is {normalise(name)}"
    )


def _chains(answers: AnswerSet) -> Iterable[Chain]:
    for _, named in sorted(answers.groups.chains.items()):
        yield from named.values()


def _documents(answers: AnswerSet) -> Iterator[Document]:
    for folder in answers.listing.folders.values():
        yield from folder.documents.values()
