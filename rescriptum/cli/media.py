"""``rescriptum media``: the images, what they are, and whether they still are what they were."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from twisted.python.usage import UsageError

from ..boot.scripts import stanza_script
from ..config import Config
from ..errors import NotFound, Refused, Unavailable, Unverified
from ..media.catalogue import SIDECAR, Catalogue, Medium
from ..media.disk.store import digest_of, read_catalogue, write_sidecar
from ..media.families.table import family, stanza
from ..media.listing import as_json, as_text, size_text
from ..roles import scripts
from ..values import Content
from .options import Command, Group

_DIGEST = re.compile(r"[0-9a-fA-F]{64}")


class ListOptions(Command):
    """``media list``."""

    synopsis = "Usage: rescriptum media list [--json]"
    longdesc = "Every image and tree, and what is wrong with any. PINNED: its sha256 is recorded."
    optFlags: ClassVar[list[list[str | None]]] = [
        ["json", "j", "As the server's own listing, for programs."],
    ]

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        catalogue = read_catalogue(_directory(config))
        if self["json"]:
            _print_json(out, as_json(catalogue))
            return 0
        out.write(as_text(Catalogue(catalogue.entries)))
        for problem in catalogue.problems:
            err.write(f"problem: {problem}\n")
        for entry in catalogue.entries:
            for note in entry.notes:
                err.write(f"note: {entry.id}: {note}\n")
        return 0


class _Named(Command):
    """
    A command about one thing.

    :cvar wanted: what is said when none is named.
    :ivar named: the one word beside the options, wherever it stands.
    """

    wanted: ClassVar[str]
    named = ""

    def parseArgs(self, *words: str) -> None:
        if len(words) > 1:
            raise UsageError(f"one at a time: {words[0]} or {words[1]}?")
        self.named = words[0] if words else ""

    def postOptions(self) -> None:
        if not self.named:
            raise UsageError(self.wanted)


class AddOptions(_Named):
    """``media add``."""

    synopsis = "Usage: rescriptum media add FILE [--sha256 DIGEST]"
    longdesc = (
        "Reads FILE, which is in the media directory already, and records its sha256 beside it. "
        "With --sha256 nothing is recorded unless the file has that digest."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["sha256", "s", None, "The digest that the vendor publishes."],
    ]

    wanted = "which file?"

    def postOptions(self) -> None:
        super().postOptions()
        if self["sha256"] is not None and not _DIGEST.fullmatch(self["sha256"]):
            raise UsageError("--sha256 takes 64 hexadecimal digits")

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises Unverified: when the file has another digest than ``--sha256``.
        :raises Refused: when it is no image of the media directory.
        """
        directory = _directory(config)
        entry, image = self._image(directory)
        with _progress(err) as following:
            digest = _hashed(image, following)
        wanted = self["sha256"]
        if wanted is not None and digest != wanted.lower():
            raise Unverified(
                f"{image.path.name} has sha256 {digest}, not {wanted.lower()}; nothing recorded"
            )
        changes = {"sha256": digest, "bytes": str(image.size), "modified": str(image.version[3])}
        sidecar = directory / f"{entry.id}{SIDECAR}"
        try:
            write_sidecar(sidecar, changes)
        except OSError as e:
            raise Refused(f"{sidecar} cannot be written: {e.strerror}") from e
        what = " ".join(filter(None, (entry.family, entry.version, entry.architecture)))
        out.write(f"{entry.id}: {what}, {size_text(entry.size)}, sha256 {digest}\n")
        for note in entry.notes:
            err.write(f"note: {entry.id}: {note}\n")
        return 0

    def _image(self, directory: Path) -> tuple[Medium, Content]:
        path = Path(self.named)
        if not path.exists() and path.name == self.named:
            path = directory / path
        if not path.is_file():
            raise NotFound(f"no such file: {self.named}")
        if path.parent.resolve() != directory.resolve():
            raise Refused(f"{path} is not in the media directory {directory}; move it there first")
        catalogue = read_catalogue(directory)
        for entry in catalogue.entries:
            if entry.image is not None and entry.image.path.name == path.name:
                return entry, entry.image
        why = next((each.text for each in catalogue.problems if each.source == path.name), None)
        raise Refused(f"{path.name}: {why or 'images are .iso and .img files'}")


class CheckOptions(Command):
    """``media check``."""

    synopsis = "Usage: rescriptum media check [--json]"
    longdesc = (
        "Reads every image whose sha256 is recorded, and says whether it still has it. "
        "Exit code 0: all is well; 1: an image changed or cannot be read, or the catalogue has a "
        "problem."
    )
    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        catalogue = read_catalogue(_directory(config))
        results = []
        with _progress(err) as following:
            for entry in catalogue.entries:
                if entry.image is not None:
                    results.append(_checked(entry, entry.image, following))
        bad = ("changed", "unread")
        good = all(each["state"] not in bad for each in results) and not catalogue.problems
        if self["json"]:
            problems = as_json(catalogue)["problems"]
            _print_json(out, {"ok": good, "media": results, "problems": problems})
            return 0 if good else 1
        for each in results:
            if each["state"] == "changed":
                out.write(
                    f"CHANGED {each['id']}: sha256 {each['found']}, recorded {each['recorded']}\n"
                )
            elif each["state"] == "unread":
                out.write(f"UNREAD  {each['id']}: {each['reason']}\n")
            elif each["state"] == "same":
                out.write(f"ok      {each['id']}\n")
            else:
                out.write(f"-       {each['id']}: no sha256 recorded; 'media add' records one\n")
        for problem in catalogue.problems:
            err.write(f"problem: {problem}\n")
        return 0 if good else 1


class IpxeOptions(_Named):
    """``media ipxe``."""

    synopsis = "Usage: rescriptum media ipxe ID [--interactive]"
    longdesc = (
        "Prints an .ipxe document that installs a machine from ID by its answer. Put it in the "
        "machine's directory of the answer set: it is what claims the machine."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["interactive", "i", "Name no answer: whoever is at the machine is asked, as by the menu."],
    ]

    wanted = "of which image? 'rescriptum media list' shows their ids"

    def perform(self, config: Config, out: TextIO, err: TextIO) -> int:
        """
        :raises Refused: when the image cannot be booted by a kernel and an initrd.
        """
        entry = read_catalogue(_directory(config)).find(self.named)
        if entry is None:
            raise NotFound(f"no image {self.named!r}; 'rescriptum media list' shows them")
        if not entry.bootable:
            why = "; ".join(entry.notes) or f"its family is {entry.family}"
            raise Refused(
                f"{entry.id} cannot be started by a kernel and an initrd: {why}. The menu offers"
                " it as a CD (sanboot); a USB stick works too"
            )
        media, answers = scripts.media_url(config), scripts.answers_url(config)
        out.write(stanza_script(stanza(entry, media, answers, not self["interactive"])))
        where = config.answers.directory / "MAC" / "boot.ipxe"
        err.write(f"# goes to {where}, for each machine's MAC\n")
        row = family(entry.family)
        if row is not None and row.answer and not self["interactive"]:
            err.write(f"# its answer: {row.answer}\n")
        if entry.memory is not None:
            err.write(f"# memory: {entry.memory} MB or more\n")
        return 0


class MediaOptions(Group):
    """``media``."""

    synopsis = "Usage: rescriptum media COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["list", None, ListOptions, "What there is."],
        ["add", None, AddOptions, "Record the sha256 of an image."],
        ["check", None, CheckOptions, "Do the images still have the sha256 that is recorded?"],
        ["ipxe", None, IpxeOptions, "The script that installs a machine from an image."],
    ]


Follow = Callable[[str, int], Callable[[int], None]]


@contextmanager
def _progress(err: TextIO) -> Iterator[Follow]:
    """
    :returns: a function of what is being read and its size, which gives one to call with the
        bytes that were: a bar on a terminal, a line elsewhere.
    """
    if not err.isatty():

        def line(name: str, size: int) -> Callable[[int], None]:
            err.write(f"reading {name}, {size_text(size)}\n")
            return lambda count: None

        yield line
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=err), transient=True) as progress:

        def bar(name: str, size: int) -> Callable[[int], None]:
            task = progress.add_task(name, total=size)
            return lambda count: progress.advance(task, count)

        yield bar


def _hashed(image: Content, following: Follow) -> str:
    try:
        return digest_of(image, following(image.path.name, image.size))
    except OSError as e:
        raise Refused(f"{image.path}: {e.strerror}") from e


def _checked(entry: Medium, image: Content, following: Follow) -> dict[str, str | None]:
    told = {"id": entry.id, "state": "unrecorded", "recorded": entry.digest, "found": None}
    if entry.digest is None:
        return told
    try:
        found = _hashed(image, following)
    except (Refused, Unavailable) as e:
        return {**told, "state": "unread", "reason": str(e)}
    return {**told, "state": "same" if found == entry.digest else "changed", "found": found}


def _directory(config: Config) -> Path:
    if config.media.directory is None:
        raise Refused("there is no media directory; set RESCRIPTUM_MEDIA_DIR")
    return config.media.directory


def _print_json(out: TextIO, what: object) -> None:
    out.write(json.dumps(what, indent=1, ensure_ascii=False) + "\n")
