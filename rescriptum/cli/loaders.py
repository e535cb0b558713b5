"""``rescriptum boot loaders``: put the loaders where they are served, and say what is there."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, TextIO

from ..boot.assets import (
    MANIFEST,
    SUMS,
    Asset,
    Manifest,
    Set,
    Source,
    judge,
    replaces,
    survey,
)
from ..boot.chain import MAX_SUMS, digests
from ..config import Reading
from ..errors import ConfigError, Refused
from .options import Command, Group

#: Files of a boot directory that are looked at.
MAX_FILES = 1000


def manifest() -> Manifest:
    """:returns: the list that this version was tested with."""
    return Manifest.parse((files("rescriptum.boot") / MANIFEST).read_text("utf-8"))


def _directory(named: str | None, reading: Reading) -> Path:
    """
    The directory need not exist, and nothing else of the configuration matters: this is how one
    that the server would not start on is mended.

    :raises ConfigError: when the configuration cannot be read.
    :raises Refused: when neither the command line nor the configuration names a directory.
    """
    if named is not None:
        return Path(named)
    if reading.problems:
        raise ConfigError(reading.problems)
    text = reading.values["RESCRIPTUM_BOOT_DIR"].text
    if text is None:
        raise Refused("which boot directory? RESCRIPTUM_BOOT_DIR is not set, and none was named")
    return Path(text)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sums(directory: Path) -> dict[str, str]:
    try:
        with (directory / SUMS).open("rb") as file:
            return digests(file.read(MAX_SUMS).decode("utf-8", "replace"))
    except FileNotFoundError:
        return {}


def _found(directory: Path) -> dict[str, str]:
    """SHA-256 by name of what lies directly in ``directory``."""
    names = sorted(
        each.name
        for each in directory.iterdir()
        if not each.name.startswith(".") and each.name != SUMS and each.is_file()
    )
    return {name: _digest(directory / name) for name in names[:MAX_FILES]}


def _write(out: Path, name: str, data: Path | bytes) -> None:
    """
    Whoever asks meanwhile gets the old file or the new one, never a part.

    :raises Refused: when it cannot be written; nothing is left of it then.
    """
    new = out / f".{name}.new"
    try:
        with new.open("wb") as target:
            if isinstance(data, Path):
                with data.open("rb") as origin:
                    shutil.copyfileobj(origin, target)
            else:
                target.write(data)
            target.flush()
            os.fsync(target.fileno())
        new.chmod(0o644)
        new.replace(out / name)
    except OSError as e:
        with suppress(OSError):  # a full disk needs it least
            new.unlink(missing_ok=True)
        raise Refused(f"{out / name} cannot be written: {e.strerror}") from e


def _standings(assets: Iterable[Asset], out: TextIO) -> None:
    for each in assets:
        asked = f" (for {each.clients})" if each.clients else ""
        word = each.standing.value.upper() if each.fails else each.standing.value
        out.write(f"  {word:<10} {each.name}: {each.note}{asked}\n")


class InstallOptions(Command):
    """``boot loaders install``."""

    synopsis = "Usage: rescriptum boot loaders install [--out DIR] [--root DIR] [--replace]"
    longdesc = (
        "Copies the loaders of this system's packages (ipxe, pxelinux, syslinux-common) into the "
        "boot directory, under the names of the architecture table, and records their digests in "
        "SHA256SUMS. A file that somebody else put there stays, and so does a newer one. Exit "
        "code 0: every loader of the table is there; 1: one is missing."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["out", "o", None, "The boot directory, instead of RESCRIPTUM_BOOT_DIR."],
        ["root", None, "/", "Where the packages are unpacked, if they are not installed."],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [
        ["replace", None, "Overwrite whatever is there."],
    ]

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        """:raises Refused: when the directory cannot be read or written."""
        directory = _directory(self["out"], reading)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._install(manifest(), directory, out, err)
            left = survey(manifest(), _found(directory), _sums(directory))
        except OSError as e:
            raise Refused(f"{e.filename}: {e.strerror}") from e
        missing = [each for each in left if each.fails]
        for each in missing:
            err.write(f"error: {each.name} is missing, for {each.clients}\n")
        return 1 if missing else 0

    def _install(self, listed: Manifest, directory: Path, out: TextIO, err: TextIO) -> None:
        root = Path(self["root"])
        sums = _sums(directory)
        absent: list[Source] = []
        present: set[str] = set()
        for source in listed.sources:
            if source.set is not Set.LOADERS:
                continue
            origin = next((root / each for each in source.files if (root / each).is_file()), None)
            if origin is None:
                absent.append(source)
                continue
            present.add(source.package)
            out.write(f"{self._copied(listed, source, origin, directory, sums)}\n")
        if sums:
            lines = (f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
            _write(directory, SUMS, "".join(lines).encode())
        for source in absent:
            err.write(f"warning: {source.name}: {_remedy(source, source.package in present)}\n")

    def _copied(
        self,
        listed: Manifest,
        source: Source,
        origin: Path,
        directory: Path,
        sums: dict[str, str],
    ) -> str:
        """:returns: what was done, for people; ``sums`` follows it."""
        target = directory / source.name
        offered = _digest(origin)
        there = _digest(target) if target.is_file() else None
        standing, note = judge(listed, source.name, there, sums)
        offer, text = judge(listed, source.name, offered, {})
        if there == offered:
            sums[source.name] = offered
            return f"{source.name}: as it was, {text}"
        if not self["replace"] and not replaces(standing, offer):
            return f"{source.name}: kept the one that is there ({note}); --replace overwrites it"
        _write(directory, source.name, origin)
        sums[source.name] = offered
        return f"{source.name}: copied from {origin}, {text}"


def _remedy(source: Source, installed: bool) -> str:
    if installed:
        return (
            f"the package {source.package} that is installed has no such file; "
            "ipxe/build.sh fetches a newer one"
        )
    return f"apt-get install {source.package}"


class ListOptions(Command):
    """``boot loaders list``."""

    synopsis = "Usage: rescriptum boot loaders list [--dir DIR] [--json]"
    longdesc = (
        "Says of every file in the boot directory what it is, by its digest, and which loaders of "
        "the architecture table are missing. Exit code 0: all are there, unchanged; 1: one is "
        "missing, or is not what SHA256SUMS promises."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["dir", "d", None, "The boot directory, instead of RESCRIPTUM_BOOT_DIR."],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        """:raises Refused: when the directory cannot be read."""
        directory = _directory(self["dir"], reading)
        try:
            assets = survey(manifest(), _found(directory), _sums(directory))
        except OSError as e:
            raise Refused(f"{e.filename}: {e.strerror}") from e
        complete = not any(each.fails for each in assets)
        if self["json"]:
            json.dump(_as_json(directory, assets, complete), out, indent=2)
            out.write("\n")
        else:
            _standings(assets, out)
        return 0 if complete else 1


def _as_json(directory: Path, assets: Iterable[Asset], complete: bool) -> Mapping[str, object]:
    return {
        "directory": str(directory),
        "complete": complete,
        "loaders": [
            {
                "name": each.name,
                "standing": each.standing.value,
                "required": each.required,
                "clients": each.clients,
                "sha256": each.digest,
                "note": each.note,
            }
            for each in assets
        ],
    }


class LoadersOptions(Group):
    """``boot loaders``."""

    synopsis = "Usage: rescriptum boot loaders COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["install", None, InstallOptions, "Copy them from this system's packages."],
        ["list", None, ListOptions, "What is there, and what the architecture table misses."],
    ]
