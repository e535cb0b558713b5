"""
``<id>.media``: what is recorded about an image, and what its operator knows better.

Lines of ``key = value``; ``#`` begins a comment; keys that this version does not know are left
alone, and so are comments and the order of lines when something is recorded.
"""

import re
from collections.abc import Mapping

from attrs import frozen

from ..boot.scripts import word
from ..errors import Malformed

MAX_BYTES = 65536
ARCHITECTURES = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "arm64": "arm64",
    "aarch64": "arm64",
    "i386": "i386",
}

_LINE = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=\s*(.*?)\s*")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"[0-9]{1,20}", re.ASCII)


@frozen
class Sidecar:
    """
    What a sidecar says; None and empty where it says nothing.

    :ivar digest: SHA-256 of the image, in hexadecimal.
    :ivar size: of the image that ``digest`` was taken of, in bytes; ``modified`` its time of
        modification in nanoseconds: a replaced image is not the one that was recorded.
    :ivar family: a name of the table of families.
    :ivar kernel: a path inside the image or tree; ``initrd`` likewise.
    :ivar arguments: further ones for the kernel.
    :ivar problems: values that mean nothing; they are passed over.
    """

    digest: str | None = None
    size: int | None = None
    modified: int | None = None
    family: str | None = None
    version: str | None = None
    architecture: str | None = None
    kernel: str | None = None
    initrd: str | None = None
    arguments: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def vouches_for(self, size: int, modified: int) -> bool:
        """Whether ``digest`` was taken of this very file."""
        return self.digest is not None and (self.size, self.modified) == (size, modified)


def _values(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match is not None and match[2]:
            found.setdefault(match[1].lower(), match[2])
    return found


def parse(text: str) -> Sidecar:
    """:returns: what ``text`` says; never raises: what cannot be used is a problem of it."""
    values = _values(text)
    problems = []
    digest = values.get("sha256", "").lower()
    if digest and not _DIGEST.fullmatch(digest):
        problems.append(f"sha256 is not 64 hexadecimal digits: {digest[:80]}")
        digest = ""
    architecture = ARCHITECTURES.get(values.get("arch", "").lower())
    if values.get("arch") and architecture is None:
        problems.append(f"arch is none of {', '.join(ARCHITECTURES)}: {values['arch'][:80]}")
    arguments = tuple(values.get("arguments", "").split())
    try:
        for each in arguments:
            word(each)
    except Malformed as e:
        problems.append(f"arguments: {e}")
        arguments = ()
    return Sidecar(
        digest or None,
        _number(values.get("bytes", "")),
        _number(values.get("modified", "")),
        values.get("family", "").lower() or None,
        values.get("version"),
        architecture,
        values.get("kernel"),
        values.get("initrd"),
        arguments,
        tuple(problems),
    )


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


def render(text: str, changes: Mapping[str, str]) -> str:
    """
    :param text: of the sidecar as it is; empty for a new one.
    :param changes: values by key.
    :returns: the text with these values, every other line as it was.
    """
    left = dict(changes)
    lines = []
    for line in text.removesuffix("\n").split("\n") if text else ():
        match = _LINE.fullmatch(line)
        key = match[1].lower() if match is not None else ""
        if key in left:
            line = f"{key} = {left.pop(key)}"
        elif key in changes:
            continue  # a second one of a key that was changed: the first counts
        lines.append(line)
    lines += [f"{key} = {value}" for key, value in left.items()]
    return "".join(f"{line}\n" for line in lines)
