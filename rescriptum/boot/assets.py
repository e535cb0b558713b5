"""
The files of the boot directory: where each comes from, and what one that is there is.

``loaders.toml``, beside this module, is the list; ``ipxe/build.sh`` reads the same one.
"""

import tomllib
from collections.abc import Mapping
from enum import Enum
from typing import Self

from attrs import frozen

from ..errors import MalformedDocument
from .chain import Wanted, wanted

MANIFEST = "loaders.toml"
SUMS = "SHA256SUMS"


class Set(Enum):
    """Which files of the list go together."""

    LOADERS = "loaders"
    SECURE_BOOT = "secure-boot"
    IMAGE = "image"


@frozen
class Source:
    """
    Where one file comes from.

    :ivar name: ours, in the boot directory.
    :ivar package: Debian's, as apt spells it; ``version`` the one that ``sha256`` is of.
    :ivar files: where the package has it, or had it in older suites; below the root.
    """

    name: str
    set: Set
    architecture: str
    package: str
    version: str
    files: tuple[str, ...]
    sha256: str


@frozen
class KnownBuild:
    """
    A build that people have from elsewhere.

    :ivar limit: what it cannot do, or empty.
    """

    name: str
    version: str
    sha256: str
    limit: str


@frozen
class Manifest:
    """
    ``loaders.toml``.

    :ivar suite: the Debian suite that the packages are of.
    """

    suite: str
    sources: tuple[Source, ...]
    known: tuple[KnownBuild, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """:raises MalformedDocument: and nothing else."""
        try:
            document = tomllib.loads(text)
            sources = tuple(
                Source(
                    name=each["name"],
                    set=Set(each["set"]),
                    architecture=each["architecture"],
                    package=each["package"],
                    version=document["package"][each["package"]]["version"],
                    files=(each["file"], *([each["also"]] if "also" in each else [])),
                    sha256=each["sha256"],
                )
                for each in document["loader"]
            )
            known = tuple(
                KnownBuild(each["name"], each["version"], each["sha256"], each.get("limit", ""))
                for each in document["known"]
            )
            return cls(document["suite"], sources, known)
        except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as e:
            raise MalformedDocument(f"{MANIFEST}: {e!r}") from e

    def source(self, name: str) -> Source | None:
        return next((each for each in self.sources if each.name == name), None)


class Standing(Enum):
    """What a file is."""

    PINNED = "pinned"
    KNOWN = "known"
    RECORDED = "recorded"
    UNRECORDED = "unrecorded"
    CHANGED = "changed"
    MISSING = "missing"


@frozen
class Asset:
    """
    One file of the boot directory, there or not.

    :ivar clients: the kinds of firmware that the architecture table sends to it, for people.
    :ivar required: by the architecture table.
    :ivar note: what to know about it; and what to do, where it is not well.
    """

    name: str
    clients: str
    required: bool
    standing: Standing
    digest: str | None
    note: str

    @property
    def fails(self) -> bool:
        """Whether some machine cannot boot for it."""
        missing = self.required and self.standing is Standing.MISSING
        return missing or self.standing is Standing.CHANGED


def judge(
    manifest: Manifest, name: str, digest: str | None, sums: Mapping[str, str]
) -> tuple[Standing, str]:
    """
    :param digest: SHA-256 of the file's bytes; None where there is no such file.
    :param sums: what ``SHA256SUMS`` in the same directory says.
    :returns: what it is, and what to know about it.
    """
    source = manifest.source(name)
    if digest is None:
        hint = (
            f"in Debian's package {source.package.split(':')[0]}" if source else "build.sh makes it"
        )
        return Standing.MISSING, hint
    if sums.get(name, digest) != digest:
        return Standing.CHANGED, f"not the bytes that {SUMS} promises; install it again"
    if source is not None and source.sha256 == digest:
        return Standing.PINNED, f"{source.package.split(':')[0]} {source.version}"
    build = next((each for each in manifest.known if each.sha256 == digest), None)
    if build is not None:
        limit = f"; {build.limit}" if build.limit else ""
        return Standing.KNOWN, f"{build.version}{limit}"
    if name in sums:
        return Standing.RECORDED, f"as {SUMS} says"
    return Standing.UNRECORDED, "nothing says what it should be"


def survey(
    manifest: Manifest, found: Mapping[str, str], sums: Mapping[str, str]
) -> tuple[Asset, ...]:
    """
    :param found: SHA-256 of each file of the boot directory, by name.
    :returns: the architecture table's loaders, there or not, then what else is listed or there.
    """
    table = {each.name: each for each in wanted()}
    listed = [each.name for each in manifest.sources if each.set is Set.LOADERS]
    others = sorted(found.keys() - table.keys() - set(listed))
    assets = []
    for name in dict.fromkeys((*table, *listed, *others)):
        row = table.get(name) or Wanted(name, _purpose(manifest, name), required=False)
        standing, note = judge(manifest, name, found.get(name), sums)
        assets.append(Asset(name, row.clients, row.required, standing, found.get(name), note))
    return tuple(assets)


def _purpose(manifest: Manifest, name: str) -> str:
    source = manifest.source(name)
    return source.architecture if source is not None else ""


def replaces(present: Standing, offered: Standing) -> bool:
    """
    Whether a file that an installation offers takes the place of another one unasked: it never
    does of a file that somebody else put there, nor of a newer one.
    """
    if present in (Standing.MISSING, Standing.CHANGED):
        return True
    return present is Standing.KNOWN and offered is Standing.PINNED
