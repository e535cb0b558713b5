"""``rescriptum site drivers``: the programs by which a site agent asks BMCs without Redfish."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO

from ..bmc.ipmi.runner import MANIFEST, NAME
from ..config import Reading
from ..errors import ConfigError
from ..values import Problem, printable
from .options import Command, Group

if TYPE_CHECKING:
    from ..bmc.hosted.store import Found


def as_text(found: "Found") -> str:
    """:returns: for people."""
    rows = [
        f"{each.manifest.id:<16} {each.manifest.version:<10}"
        f" {', '.join(each.manifest.concerns):<40} {each.path}"
        for _, each in sorted(found.drivers.items())
    ]
    return "".join(f"{printable(row)}\n" for row in rows)


def install(directory: Path, program: Path) -> None:
    """
    Put ``bcx-ipmi`` into ``directory``: a link to the program of this installation, and a manifest.

    :raises ConfigError: when it cannot be put there, or something else is.
    """
    link, manifest = directory / NAME, directory / f"{NAME}.json"
    if not program.is_file():
        raise _wrong(program, "is missing; install rescriptum again, as a package")
    if not directory.is_dir():
        raise _wrong(directory, "no such directory: make it, and let only root write to it")
    if link.exists() and not link.is_symlink():
        raise _wrong(link, "is there and was not put there by this command; move it away")
    text = json.dumps(MANIFEST, indent=1) + "\n"
    try:
        for path in (link, manifest):
            _draft(path).unlink(missing_ok=True)
        _draft(link).symlink_to(program)
        _draft(manifest).write_text(text, "ascii")
        _draft(manifest).chmod(0o644)
        # The manifest last: without it a program is nobody's driver.
        for path in (link, manifest):
            os.replace(_draft(path), path)
    except OSError as e:
        raise _wrong(directory, e.strerror or str(e)) from None


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _wrong(path: Path, text: str) -> ConfigError:
    return ConfigError([Problem(str(path), text)])


class _DriversOptions(Command):
    optParameters: ClassVar[list[list[str | None]]] = [
        ["config", "c", None, "The agent's TOML file (/etc/rescriptum/site.toml)."],
        ["dir", "d", None, "The directory, where that file cannot be read."],
    ]

    def directory(self) -> Path:
        """:raises ConfigError: when the file names none."""
        from ..agent.config import SITE_TOML, read

        if self["dir"] is not None:
            return Path(self["dir"])
        named = Path(self["config"] or SITE_TOML)
        found = read(named, fake_hardware=True).drivers_dir
        if found is None:
            raise _wrong(named, "site.drivers_dir: missing; add it, or give --dir")
        return found

    def tell(self, directory: Path, out: TextIO, err: TextIO) -> int:
        """:returns: the exit code: 1 where one of them cannot be run."""
        from ..bmc.hosted.store import read

        found = read(directory)
        out.write(as_text(found))
        for each in found.problems:
            err.write(f"{each}\n")
        return 1 if found.problems else 0


class ListOptions(_DriversOptions):
    """``site drivers list``."""

    synopsis = "Usage: rescriptum site drivers list [--config FILE | --dir DIRECTORY]"
    longdesc = "Drivers that a site agent would host. Exit code 1: there is one that it would not."

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        return self.tell(self.directory(), out, err)


class InstallOptions(_DriversOptions):
    """``site drivers install``."""

    synopsis = "Usage: rescriptum site drivers install [--config FILE | --dir DIRECTORY]"
    longdesc = (
        f"Puts {NAME}, which asks BMCs by ipmitool, into the directory. A site agent hosts it from"
        " its next start on."
    )

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        directory = self.directory()
        install(directory, Path(sys.executable).with_name(NAME))
        return self.tell(directory, out, err)


class DriversOptions(Group):
    """The group."""

    synopsis = "Usage: rescriptum site drivers COMMAND [options]"
    longdesc = "Drivers of BMCs that are programs of their own."
    subCommands: ClassVar[list[list[object]]] = [
        ["list", None, ListOptions, "Those that a site agent would host."],
        ["install", None, InstallOptions, "Put the one for IPMI there."],
    ]
