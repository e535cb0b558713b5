"""Groups: what they stand on, whom they claim, and the tombstones of those that are broken."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from attrs import field, frozen

from ..values import Problem
from .documents import Document, Folder
from .salvage import breaks_off, salvage
from .selection import Index


@frozen(eq=False)
class Chain:
    """
    A group in one format, with all it stands on.

    :ivar names: of the groups, as their directories are named, the lowest first.
    :ivar layers: their documents, the group's own last.
    :ivar error: why nobody gets it. It still claims its members: they get an error, never
        another group or the default.
    """

    names: tuple[str, ...]
    layers: tuple[Document, ...] = field(repr=False)
    error: str = ""

    @property
    def name(self) -> str:
        return self.names[-1]

    @property
    def document(self) -> Document:
        return self.layers[-1]


@frozen(eq=False)
class Claimants:
    """
    The groups of one format, by how they claim.

    :ivar members: identities and the groups that name them.
    :ivar selecting: groups that claim by facts.
    :ivar doubtful: groups whose documents cannot be read, so that nobody can say whom they claim.
    """

    members: Index
    selecting: tuple[Chain, ...]
    doubtful: tuple[Chain, ...]


_NOBODY = Claimants(Index(), (), ())


@frozen(eq=False)
class Groups:
    """
    All groups of a set.

    :ivar chains: by extension, then by name.
    :ivar problems: of what they stand on; those of their own documents are their folders'.
    """

    chains: Mapping[str, Mapping[str, Chain]] = field(factory=dict)
    problems: tuple[Problem, ...] = ()
    _claimants: Mapping[str, Claimants] = field(factory=dict)

    @classmethod
    def of(cls, folders: Iterable[Folder]) -> Self:
        documents: dict[str, dict[str, Document]] = {}
        for folder in folders:
            for extension, document in folder.documents.items():
                documents.setdefault(extension, {})[folder.place.name] = document
        chains = {
            extension: {name: _chain(name, extension, documents) for name in sorted(named)}
            for extension, named in sorted(documents.items())
        }
        problems = tuple(
            Problem(chain.document.source, chain.error)
            for named in chains.values()
            for chain in named.values()
            if chain.error and not chain.document.error
        )
        claimants = {extension: _claimants(named.values()) for extension, named in chains.items()}
        return cls(chains, problems, claimants)

    def claimants(self, extension: str) -> Claimants:
        return self._claimants.get(extension, _NOBODY)

    def chain(self, extension: str, name: str) -> Chain | None:
        return self.chains.get(extension, {}).get(name)

    def nearest(self, extension: str, chain: Chain) -> Chain | None:
        """
        :param chain: of user-data, beside which documents of ``extension`` may lie.
        :returns: the nearest of its groups that has one, with all that this one stands on.
        """
        found = (self.chain(extension, name) for name in reversed(chain.names))
        return next((each for each in found if each is not None), None)

    def missing(self, extension: str, name: str) -> str:
        """:returns: what is wrong with ``extends = name``; empty where there is such a group."""
        return _missing(self.chains, extension, name)


def _missing(groups: Mapping[str, Mapping[str, object]], extension: str, name: str) -> str:
    if name in groups.get(extension, ()):
        return ""
    elsewhere = sorted(each for each, named in groups.items() if name in named)
    if elsewhere:
        has = ", ".join(elsewhere)
        return f"extends {name}, which has no {extension} document, only {has}"
    similar = [each for each in groups.get(extension, ()) if each.lower() == name.lower()]
    if similar:
        return f"extends {name}, which is no group; {similar[0]} is"
    return f"extends {name}, which is no group"


def _chain(name: str, extension: str, groups: Mapping[str, Mapping[str, Document]]) -> Chain:
    documents = groups[extension]
    layers = [documents[name]]
    names = [name]
    while not (error := layers[0].error) and (parent := layers[0].control.extends) is not None:
        error = _missing(groups, extension, parent)
        if parent in names:
            error = f"extends goes round: {' -> '.join((*reversed(names), parent))}"
        if error:
            break
        names.insert(0, parent)
        layers.insert(0, documents[parent])
    if error and len(layers) > 1:
        error = f"stands on {layers[0].source}, which is broken: {error}"
    return Chain(tuple(names), tuple(layers), error)


def _claimants(chains: Iterable[Chain]) -> Claimants:
    members: list[tuple[str, str]] = []
    selecting, doubtful = [], []
    for chain in chains:
        members += ((each, chain.name) for each in _members(chain))
        document = chain.document
        if document.control.criteria:
            selecting.append(chain)
        if document.error and _is_doubtful(document):
            doubtful.append(chain)
    return Claimants(Index.of(members), tuple(selecting), tuple(doubtful))


def _members(chain: Chain) -> Iterator[str]:
    document = chain.document
    yield from document.control.members
    if document.error:
        yield from salvage(document.format.family.name, document.data).members


def _is_doubtful(document: Document) -> bool:
    family, data = document.format.family.name, document.data
    return breaks_off(family, data) or salvage(family, data).doubtful
