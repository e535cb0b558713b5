"""Which requests ``check`` tries an answer set with, so that each of its documents is reached."""

from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

from ..answerset import AnswerSet, is_disarmed
from ..control import Pairs
from ..documents import DEFAULT, Document, Documents
from ..facts import Facts, normalise
from ..formats.table import ALIASES, BY_EXTENSION, FORMATS, PARTS, accepted
from ..groups import Chain

#: An address that is nobody's, for the default: a machine that nothing claims boots from it.
NOBODY = "02-00-00-00-00-01"
#: What a NoCloud seed's parts are asked for beside.
SEED = "ubuntu"


def alias_of(extension: str) -> str:
    """:returns: the first word in a URL that asks for documents of that kind before any other."""
    if extension in PARTS:
        return SEED
    row = BY_EXTENSION[extension]
    return min(
        (each for each in ALIASES if row in ALIASES[each]), key=lambda a: ALIASES[a].index(row)
    )


def aliases() -> tuple[str, ...]:
    """:returns: one word for each way of asking, so that together they ask for every format."""
    return tuple(dict.fromkeys(alias_of(each.extension) for each in FORMATS))


@frozen
class Given:
    """
    A request that the operator gives, or that a group has for an example.

    :ivar label: where it is from: ``requests.json: request 2``.
    :ivar located: whether its path is known; where not, it is tried for every format.
    """

    label: str
    facts: Facts
    located: bool = False


@frozen
class Trial:
    """
    One request to try.

    :ivar wanted: the document that it is for: a layer of the answer, or something is wrong. None
        for a request that is given.
    :ivar role: of that document: ``machine``, ``member``, ``example`` or ``default``; of a request
        that is given ``given``, or ``guess`` where its path is not known.
    :ivar who: the identity that is asked with, or where the request is from.
    :ivar spare: facts that may stand in for those that an identity alone does not carry.
    """

    facts: Facts
    role: str
    who: str
    wanted: Document | None = None
    spare: tuple[Pairs, ...] = ()


def trials(answers: AnswerSet, given: Iterable[Given] = ()) -> Iterator[Trial]:
    """:param given: is tried first: who is reached by a real request needs no made-up one."""
    for each in given:
        if each.located:
            yield Trial(each.facts, "given", each.label)
            continue
        for alias in aliases():
            facts = evolve(each.facts, segments=(alias, *each.facts.segments))
            yield Trial(facts, "guess", each.label)
    for extension, named in sorted(answers.groups.chains.items()):
        for chain in named.values():
            for trial in _group(extension, chain):
                yield trial
                yield from _parts(answers, trial, chain)
    for name, folder in sorted(answers.machines.items()):
        if is_disarmed(name) or not name.isprintable() or not normalise(name):
            continue  # claims nothing, as its problem says
        for extension, document in folder.documents.items():
            facts = Facts(_path(extension, name))
            trial = Trial(facts, "machine", name, document, _spare(answers, document))
            yield from _with_parts(answers, trial, folder.documents)
    for extension, document in answers.defaults.items():
        trial = Trial(Facts(_path(extension, NOBODY)), DEFAULT, NOBODY, document)
        yield from _with_parts(answers, trial, answers.defaults)


def _with_parts(answers: AnswerSet, trial: Trial, own: Documents) -> Iterator[Trial]:
    """
    :param trial: of a machine's or default document.
    :param own: what lies beside it, and has trials of its own.
    """
    yield trial
    chain = _extended(answers, trial.wanted)
    if chain is not None:
        for each in _parts(answers, trial, chain):
            if each.wanted is not None and each.wanted.format.extension not in own:
                yield each


def _parts(answers: AnswerSet, trial: Trial, chain: Chain) -> Iterator[Trial]:
    """
    :param trial: of user-data that stands on ``chain``.
    :returns: the same for each part of the seed that its groups have.
    """
    if trial.wanted is None or trial.wanted.format not in accepted((SEED,)):
        return
    for part in PARTS:
        beside = answers.groups.nearest(part, chain)
        if beside is not None:
            facts = evolve(trial.facts, segments=(*trial.facts.segments, part))
            yield evolve(trial, facts=facts, wanted=beside.document)


def _path(extension: str, name: str) -> tuple[str, ...]:
    return (alias_of(extension), name, *((extension,) if extension in PARTS else ()))


def _group(extension: str, chain: Chain) -> Iterator[Trial]:
    control = chain.document.control
    for member in control.members:
        if normalise(member):
            facts = Facts(_path(extension, member))
            yield Trial(facts, "member", member, chain.document, _examples(chain))
    for number, example in enumerate(control.examples, 1):
        who = f"examples[{number}]"
        yield Trial(_facts(extension, example), "example", who, chain.document)


def _facts(extension: str, example: Pairs) -> Facts:
    """An example's facts, as a query; ``path`` and ``peer`` are what a query cannot say."""
    said = {name.lower(): text for name, text in example}
    segments = tuple(part for part in said.get("path", "").split("/") if part)
    if not segments:
        segments = tuple(part for part in _path(extension, "") if part)
    query = tuple(pair for pair in example if pair[0].lower() not in ("path", "peer"))
    return Facts(segments, query, peer=said.get("peer", ""))


def _examples(chain: Chain) -> tuple[Pairs, ...]:
    """Its own, and of the groups that it stands on."""
    return tuple(each for layer in reversed(chain.layers) for each in layer.control.examples)


def _spare(answers: AnswerSet, document: Document) -> tuple[Pairs, ...]:
    chain = _extended(answers, document)
    return (*document.control.examples, *(() if chain is None else _examples(chain)))


def _extended(answers: AnswerSet, document: Document | None) -> Chain | None:
    if document is None or document.control.extends is None:
        return None
    return answers.groups.chain(document.format.extension, document.control.extends)
