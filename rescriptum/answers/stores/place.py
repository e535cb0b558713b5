"""One directory of documents, read again only where it has changed."""

import os
import stat

from attrs import define, field

from ..documents import MAX_DOCUMENT, Document, Folder, Place, format_of
from ..formats.table import Format
from .entries import Signature, contents, settled, signature, visible


@define(eq=False)
class _File:
    """
    What is known of a file that is called like a document.

    :ivar source: where it is, below the set's directory.
    :ivar link: whether it is a symbolic link.
    :ivar signature: None while it has to be read again.
    :ivar directory: whether it is none at all.
    :ivar read: whether the document is what stood in it.
    :ivar blind: whether it can be written under another name.
    """

    source: str
    path: str
    kind: Format
    link: bool
    document: Document | None = None
    signature: Signature | None = None
    directory: bool = False
    read: bool = False
    blind: bool = False

    def look(self, device: int, now: float) -> None:
        """
        :param device: of the directory that it is in.
        :param now: Unix time.
        """
        try:
            status = os.stat(self.path)
            if self.signature == signature(status):
                return
            self.directory = stat.S_ISDIR(status.st_mode)
            # What is mounted over it, or linked, can be written elsewhere.
            self.blind = self.link or status.st_nlink > 1 or status.st_dev != device
            if self.directory:
                self._break("a directory: a document is a file")
            elif not stat.S_ISREG(status.st_mode):
                self._break("not a regular file")
            else:
                self._read(now)
        except OSError as e:
            self.blind = self.link
            self._break(f"unreadable: {e.strerror}")

    def _break(self, error: str) -> None:
        self.signature, self.read = None, False
        if self.document is None or self.document.error != error:
            self.document = Document.unreadable(self.source, self.kind, error)

    def _read(self, now: float) -> None:
        """:raises OSError: when it cannot be read."""
        status, data = contents(self.path)
        if not (self.read and self.document is not None and self.document.data == data):
            self.document = Document.of(self.source, self.kind, data)
        self.read = len(data) <= MAX_DOCUMENT
        self.signature = settled(status, now)


@define(eq=False)
class PlaceReader:
    """
    :ivar source: the directory, below the set's.
    :ivar folder: what it holds, as :meth:`look` found it; the same object until it changes.
    :ivar blind: whether something in it may change without the directory being told.
    """

    place: Place
    source: str
    path: str
    folder: Folder | None = None
    blind: bool = False
    _signature: Signature | None = None
    _files: dict[str, _File] = field(factory=dict)

    def fail(self, error: str) -> None:
        """Nobody knows what is in it."""
        self._signature = None
        self._files = {}
        self.blind = True
        if self.folder is None or self.folder.error != error:
            self.folder = Folder(self.place, error=error)

    def look(self, status: os.stat_result, now: float) -> None:
        """
        :param status: of the directory.
        :param now: Unix time.
        """
        if self._signature != signature(status):
            try:
                files = self._listed()
            except FileNotFoundError:  # gone since it was looked at
                files = {}
            except OSError as e:
                self.fail(f"unreadable: {e.strerror}")
                return
            if files.keys() != self._files.keys() or (self.folder and self.folder.error):
                self.folder = None
            self._files, self._signature = files, settled(status, now)
        same, blind = True, False
        for file in self._files.values():
            before = file.document
            file.look(status.st_dev, now)
            same &= file.document is before
            blind |= file.blind
        self.blind = blind
        if not same or self.folder is None:
            self._hold()

    def _listed(self) -> dict[str, _File]:
        """:raises OSError: when that cannot be done."""
        files: dict[str, _File] = {}
        for entry in visible(self.path):
            kind = format_of(entry.name)
            if kind is not None:
                known = self._files.get(entry.name)
                link = entry.is_symlink()
                if known is None or known.link != link:
                    known = _File(f"{self.source}/{entry.name}", entry.path, kind, link)
                files[entry.name] = known
        return files

    def _hold(self) -> None:
        # A directory claims what no file does.
        files = sorted(self._files.values(), key=lambda file: file.directory)
        found = tuple(file.document for file in files if file.document is not None)
        self.folder = Folder(self.place, found)
