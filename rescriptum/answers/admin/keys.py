"""Which document a request to the admin listener is about, and whose answer it asks for."""

from collections.abc import Sequence

from ...errors import MalformedRequest
from ..documents import Key, Kind, Place
from ..facts import Facts
from ..formats.table import BY_EXTENSION

#: What a request without ``format=`` is about.
FORMAT = "toml"

#: The first segment of a path, and what is named by the second or, of lists, is in them.
KINDS = {"machines": Kind.MACHINE, "groups": Kind.GROUP, "default": Kind.DEFAULT}
LISTS = {"machines": Kind.MACHINE, "groups": Kind.GROUP, "defaults": Kind.DEFAULT}

Pairs = Sequence[tuple[str, str]]


def key_of(kind: str, name: str, query: Pairs) -> Key:
    """
    :param kind: one of ``KINDS``.
    :param name: of a machine or group, as in the path; empty for the default.
    :raises MalformedRequest: for what no document is called, saying what would be right.
    """
    try:
        place = Place.checked(KINDS[kind], name)
    except ValueError as e:
        raise MalformedRequest(str(e)) from None
    unknown = [each for each, _ in query if each != "format"]
    if unknown:  # a misspelt format would be another document
        raise MalformedRequest(f"want ?format=EXTENSION and no more, not {unknown[0]!r}")
    if len(query) > 1:
        raise MalformedRequest("want one format")
    extension = (query[0][1] if query else FORMAT).lower()
    if extension not in BY_EXTENSION:
        raise MalformedRequest(f"want a format out of {', '.join(BY_EXTENSION)}, not {extension!r}")
    return Key(place, extension)


def facts_of(identity: str, query: Pairs) -> Facts:
    """
    :param identity: what the request would say if ``query`` has no facts: as ``render ID`` does.
    :param query: facts, as a machine would send them; ``path`` and ``peer`` are those of its
        request, and no facts of their own.
    """
    told = dict(reversed([each for each in query if each[0] in ("path", "peer")]))
    pairs = tuple(each for each in query if each[0] not in told)
    peer = told.get("peer", "")
    path = told.get("path", "").partition("?")[0]
    segments = tuple(part for part in path.split("/") if part not in ("", "."))
    if pairs:
        return Facts.of(segments, pairs, peer=peer)
    return Facts(segments, raw=identity.encode("utf-8", "surrogateescape"), peer=peer)
