"""Documents from one store to another, byte for byte; nobody looks at what they say."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from attrs import frozen

from ...errors import NotFound, Refused, Unavailable
from ...values import Problem
from ..documents import Document, Key, Listing
from .admission import admitted
from .directory import AnswerDirectory
from .entries import contents
from .store import Store

#: Called after each document: how many are done, and of how many.
Advance = Callable[[int, int], None]


@frozen
class Copied:
    """
    What became of a set of documents.

    :ivar written: how many were new or different.
    :ivar unchanged: how many were there already, to the byte.
    :ivar problems: what was left out, and why.
    """

    written: int
    unchanged: int
    problems: tuple[Problem, ...]


@frozen
class _Done:
    """
    :ivar keys: of what is in the target now.
    :ivar failed: of what is not, and why.
    """

    written: int
    keys: tuple[Key, ...]
    failed: dict[Key, str]


def import_from(
    directory: Path, store: Store, now: Callable[[], float], advance: Advance
) -> Copied:
    """
    Every document that is served from a directory goes into the store, over what is there; what
    else the store holds stays.

    :param now: Unix time.
    :raises NotFound: when there is no such directory.
    :raises Unavailable: when it cannot be read, or the store cannot be written; it may be done
        again.
    """
    if not directory.is_dir():
        raise NotFound(f"no such directory: {directory}")
    source = AnswerDirectory(directory, now)
    listing = source.listing()
    # Of this listing: the directory may change meanwhile.
    keys = [
        Key(place, extension)
        for place, folder in sorted(listing.folders.items())
        for extension in ({} if folder.error else folder.documents)
    ]
    done = _copied(source, keys, store, advance)
    problems = (*listing.problems, *_left_out(listing, done))
    return Copied(done.written, len(done.keys) - done.written, problems)


def _left_out(listing: Listing, done: _Done) -> Iterator[Problem]:
    """What nobody is served, and what failed; mistakes in what was copied go along with it."""
    copied = {_document(listing, key).source for key in done.keys}
    told = set()
    for folder in listing.folders.values():
        for problem in folder.problems:
            if problem.source not in copied:
                told.add(problem.source)
                yield problem
    for key, reason in done.failed.items():
        document = _document(listing, key)
        if document.source not in told or document.data:
            yield Problem(document.source, reason)


def _document(listing: Listing, key: Key) -> Document:
    return listing.folders[key.place].documents[key.extension]


def export_to(store: Store, directory: Path, now: Callable[[], float], advance: Advance) -> Copied:
    """
    Every document goes to a file of the directory; each is written whole or not at all.

    :param now: Unix time.
    :raises Refused: for a directory with anything in it that this does not write there just so:
        it would be neither what it was nor what the store holds. What an export that was
        interrupted has written is no obstacle.
    :raises Unavailable: when the store cannot be read, or the directory cannot be written.
    """
    keys = store.keys()
    other = _first_other(store, keys, directory)
    if other is not None:
        raise Refused(f"{directory} is not empty: the export would not write its {other}")
    target = AnswerDirectory(directory, now)
    done = _copied(store, keys, target, advance)
    problems = [Problem(str(key), reason) for key, reason in done.failed.items()]
    if not keys:  # because there is no store at all?
        problems += store.listing().problems
    return Copied(done.written, len(done.keys) - done.written, tuple(problems))


def _first_other(store: Store, keys: Iterable[Key], directory: Path) -> str | None:
    """:returns: a file that is not as it would be written; None: all are, or none would be."""
    wanted = {str(key): key for key in keys}

    def same(name: str) -> bool:
        return name in wanted and _read(f"{directory}/{name}") == store.get(wanted[name])

    other = next((name for name in _files(directory) if not same(name)), None)
    return None if other is None or all(map(same, wanted)) else other


def _files(directory: Path) -> Iterator[str]:
    """Files below it that are not hidden, and links; by name, below it."""
    try:
        for path, directories, files in os.walk(directory, onerror=_raise):
            directories[:] = sorted(each for each in directories if not each.startswith("."))
            links = [each for each in directories if os.path.islink(f"{path}/{each}")]
            for each in sorted((*links, *files)):
                if not each.startswith("."):
                    yield os.path.relpath(f"{path}/{each}", directory)
    except FileNotFoundError:
        return
    except OSError as e:
        raise Unavailable(f"{e.filename}: {e.strerror}") from e


def _raise(error: OSError) -> None:
    raise error


def _read(path: str) -> bytes | None:
    """:returns: None where there is no document to read."""
    try:
        return contents(path)[1]
    except OSError:
        return None


def _copied(source: Store, keys: list[Key], target: Store, advance: Advance) -> _Done:
    """:raises Unavailable: when the target cannot be written."""
    written = 0
    done, failed = [], {}
    for number, key in enumerate(keys, 1):
        try:
            data = _wanted(source, key)
            if not _holds(target, key, data):
                target.put(key, data)
                written += 1
            done.append(key)
        except Refused as e:
            failed[key] = str(e)
        advance(number, len(keys))
    return _Done(written, tuple(done), failed)


def _wanted(source: Store, key: Key) -> bytes:
    """:raises Refused: for what cannot be read, or be written by any store."""
    admitted(key)
    try:
        return source.get(key)
    except Unavailable as e:
        raise Refused(str(e)) from e


def _holds(store: Store, key: Key, data: bytes) -> bool:
    try:
        return store.get(key) == data
    except NotFound:
        return False
