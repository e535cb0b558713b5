"""What a family may look at: the files of an image, or of a tree."""

from typing import Protocol

from ..errors import NotFound
from ..values import OCTET_STREAM, Content

#: As much as is read of any file that says what an image is.
TEXT_BYTES = 65536
#: Firmware that boots by HTTP decides by these what it was given (W152); nobody else minds.
_EFI_TYPES = {
    ".efi": "application/efi",
    ".iso": "application/vnd.efi-iso",
    ".img": "application/vnd.efi-img",
}


class Files(Protocol):
    """
    The files of an image, or of a tree.

    Paths have ``/`` between their parts and are compared without regard to case.
    """

    @property
    def label(self) -> str:
        """The volume's id; empty for a tree."""

    @property
    def whole(self) -> bool:
        """Whether there is an image that can be served in one piece."""

    def find(self, path: str) -> Content:
        """
        :raises NotFound: when there is no such file.
        :raises MalformedImage: when the image contradicts itself on the way there.
        """

    def names(self, path: str) -> tuple[str, ...]:
        """
        :returns: of what the directory ``path`` holds; empty where there is none.
        :raises MalformedImage: when the image contradicts itself on the way there.
        """

    def read(self, path: str, length: int) -> bytes:
        """
        :returns: the first ``length`` bytes of a file, or as many as it has.
        :raises NotFound: when there is no such file.
        :raises MalformedImage: when the image contradicts itself on the way there.
        """


def has(files: Files, path: str) -> bool:
    """Whether there is a file ``path``."""
    try:
        files.find(path)
    except NotFound:
        return False
    return True


def text(files: Files, path: str) -> str:
    """:returns: the beginning of a small file, empty where there is none."""
    try:
        return files.read(path, TEXT_BYTES).decode("utf-8", "replace")
    except NotFound:
        return ""


def shown(name: str) -> str:
    """:returns: a name for terminals and logs: what is not printable is escaped."""
    if name.isprintable():
        return name
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in name
    )


def first_line(words: str) -> str:
    """:returns: the first line, blanks trimmed, printable and not long: it ends up in tables."""
    line = words.lstrip("\ufeff").partition("\n")[0]
    return " ".join("".join(each if each.isprintable() else " " for each in line).split())[:120]


def image_type(name: str) -> str:
    """:returns: the media type of a whole image: firmware makes a RAM disk of it."""
    return _EFI_TYPES.get(name[-4:].lower(), OCTET_STREAM)


def file_type(name: str) -> str:
    """:returns: the media type of a file inside: an initrd that is called ``.img`` is no disk."""
    return image_type(name) if name[-4:].lower() != ".img" else OCTET_STREAM
