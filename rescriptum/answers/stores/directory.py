"""The answer set in a directory of files, which people edit too."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import NotFound, Refused, Unavailable
from ...net.directories import sync
from ...values import StoreKind
from ..documents import DEFAULT, GROUPS, MAX_DOCUMENT, Key, Kind, Listing, Place, format_of
from . import writing
from .admission import admitted
from .entries import contents, visible
from .level import spellings
from .tree import Tree
from .watches import Watches


class AnswerDirectory:
    """
    Satisfies :class:`rescriptum.answers.stores.store.Store`.

    Where two files of one extension lie in a directory the first is served, and both are moved;
    while there are two, none is deleted, since the other one would be served then.
    """

    def __init__(
        self, path: Path, now: Callable[[], float], watches: Watches | None = None
    ) -> None:
        """
        :param now: Unix time.
        :param watches: what the kernel watches for it, if anything.
        """
        self._path = str(path)
        self._tree = Tree(path, now, watches or Watches())

    def describe(self) -> str:
        return f"{StoreKind.FILES.value}:{self._path}"

    def close(self) -> None:
        """Nothing of it is open between two calls."""

    def listing(self) -> Listing:
        return self._tree.listing()

    def keys(self) -> list[Key]:
        keys = [
            Key(place, extension)
            for place, folder in self.listing().folders.items()
            if not folder.error
            for extension in folder.documents
        ]
        return sorted(keys, key=lambda key: (key.place.kind.value, key.place.name, key.extension))

    def get(self, key: Key) -> bytes:
        with self._unavailable(key):
            directory, names = self._found(key)
            _, data = contents(f"{directory}/{names[0]}")
        if len(data) > MAX_DOCUMENT:
            raise Unavailable(f"{key}: larger than {MAX_DOCUMENT} bytes")
        return data

    def put(self, key: Key, data: bytes) -> None:
        admitted(key, data)
        with self._unavailable(key), self._made(key.place) as directory:
            names = self._names(directory, key.extension)
            writing.write(directory, names[0] if names else key.format.filename, data)

    def delete(self, key: Key) -> None:
        with self._unavailable(key):
            directory, names = self._found(key)
            self._check_inside(directory)
            self._check_only(key, names)
            os.unlink(f"{directory}/{names[0]}")
            writing.tidy(directory)

    def move(self, key: Key, to: Key) -> None:
        admitted(to)
        with self._unavailable(key):
            directory, names = self._found(key)
            self._check_inside(directory)
            new = {name: name for name in names}
            if to.extension != key.extension:
                self._check_only(key, names)
                new = {names[0]: to.format.filename}
            with self._made(to.place) as target:
                taken = self._names(target, to.extension)
                if taken and (
                    os.path.samefile(directory, target)
                    or not all(_is_same(f"{directory}/{x}", f"{target}/{x}") for x in taken)
                ):
                    raise Refused(f"there is {to} already")
                for name in names:
                    _check_link(f"{directory}/{name}", target)
                for old, name in new.items():
                    if name not in taken:  # else that is where a power failure ended the last try
                        self._link(f"{directory}/{old}", f"{target}/{name}", to)
                sync(target)
            # The one that is served goes last: none that was ignored takes its place meanwhile.
            for name in reversed(names):
                writing.remove(f"{directory}/{name}")
            writing.tidy(directory)

    @staticmethod
    def _link(source: str, target: str, to: Key) -> None:
        try:
            writing.link(source, target)
        except FileExistsError:
            raise Refused(f"there is {to} already") from None

    @staticmethod
    def _check_only(key: Key, names: list[str]) -> None:
        """:raises Refused: when another file would be served without this one."""
        if len(names) > 1:
            text = f"{names[1]} beside {names[0]} would be served then: remove that first"
            raise Refused(f"{key.place}: {text}")

    def _directory(self, place: Place) -> str:
        """
        :returns: its path, whether it is there or not.
        :raises OSError: when nobody can tell.
        """
        if place.kind is Kind.MACHINE:
            return f"{self._path}/{place.name}"
        word = DEFAULT if place.kind is Kind.DEFAULT else GROUPS
        try:
            names = os.listdir(self._path)
        except FileNotFoundError:
            names = []
        spelled = next(iter(spellings(self._path, names, word)), word)
        name = f"/{place.name}" if place.kind is Kind.GROUP else ""
        return f"{self._path}/{spelled}{name}"

    @staticmethod
    def _names(directory: str, extension: str) -> list[str]:
        """
        :returns: of the files of that extension, in order: the first is served.
        :raises OSError: when they cannot be listed.
        """
        try:
            entries = visible(directory)
        except FileNotFoundError:
            return []
        return [
            entry.name
            for entry in entries
            if (kind := format_of(entry.name)) is not None
            and kind.extension == extension
            and not os.path.isdir(entry.path)
        ]

    def _found(self, key: Key) -> tuple[str, list[str]]:
        """
        :raises NotFound: when there is none.
        :raises OSError: when nobody can tell.
        """
        directory = self._directory(key.place)
        names = self._names(directory, key.extension)
        if not names:
            raise NotFound(f"there is no {key}")
        return directory, names

    def _check_inside(self, directory: str) -> None:
        """:raises Refused: for a directory that is really elsewhere."""
        root, real = os.path.realpath(self._path), os.path.realpath(directory)
        if real == root or os.path.commonpath((root, real)) != root:
            raise Refused(f"{directory}: a symbolic link out of the answer set: write to {real}")

    @contextmanager
    def _made(self, place: Place) -> Iterator[str]:
        """
        :returns: the place's directory, which is there, and was not left behind if this fails.
        :raises Refused: when it is really elsewhere.
        """
        directory = self._directory(place)
        self._check_inside(directory)
        new = writing.made(directory)
        try:
            yield directory
        except BaseException:
            writing.unmake(new)
            raise

    @contextmanager
    def _unavailable(self, key: Key) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            raise Unavailable(f"{e.filename or key}: {e.strerror}") from e


def _is_same(path: str, other: str) -> bool:
    """:returns: whether both are names of one file."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except FileNotFoundError:
        return False


def _check_link(path: str, directory: str) -> None:
    """:raises Refused: for a symbolic link that would lead elsewhere from another directory."""
    if os.path.islink(path):
        there = os.path.join(os.path.realpath(directory), os.readlink(path))
        if os.path.realpath(there) != os.path.realpath(path):
            raise Refused(f"{path}: a symbolic link that would lead elsewhere from {directory}")
