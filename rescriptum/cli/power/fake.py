"""``rescriptum power fake-bmc``: a BMC for dry runs."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, TextIO

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorProcess, IReactorTCP
from twisted.python.usage import UsageError

from ...errors import ConfigError, Malformed
from ...fakebmc.runner import Hook
from ...fakebmc.service import USER, FakeBMC
from ...fakebmc.state import Changed
from ...fakebmc.switches import Switch, Switches
from ...settings import PREFIX
from ...values import Listen, Problem, printable
from ..options import Command

#: Bytes of a password's file.
_LONGEST = 4096


def as_text(switches: type[Switch] = Switch) -> str:
    """:returns: the table of switches, for people."""
    return "".join(f"{each.word:<22}{each.quirk or '-':<6}{each.does}\n" for each in switches)


def password_in(path: Path) -> str:
    """:raises ConfigError: unless the file's first line is one."""
    try:
        with path.open("rb") as file:
            line = file.read(_LONGEST).partition(b"\n")[0].rstrip(b"\r").decode()
    except OSError as e:
        raise ConfigError([Problem(str(path), e.strerror or str(e))]) from None
    except UnicodeDecodeError:
        raise ConfigError([Problem(str(path), "want a password in UTF-8")]) from None
    if not line:
        raise ConfigError([Problem(str(path), "its first line is empty: want a password")])
    return line


class FakeBmcOptions(Command):
    """``power fake-bmc``."""

    synopsis = (
        "Usage: rescriptum power fake-bmc [--listen ADDRESS:PORT] [--switch NAME]..."
        " [--user NAME] [--password-file FILE] [--on-power COMMAND]"
    )
    longdesc = (
        "A BMC with one machine that is none, over TLS, until it is interrupted. Its URL, pin and"
        " credential are printed first. Each --switch gives it a manner of some vendor's BMCs."
        " COMMAND is run whenever something happens to the machine: BMC_EVENT, BMC_POWER,"
        " BMC_BOOT, BMC_BOOT_MODE, BMC_BOOT_URI and BMC_MEDIA say what."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["listen", "l", "127.0.0.1:8443", "Address and port."],
        ["user", "u", USER, "Who may ask it."],
        ["password-file", "p", None, "The password is its first line. None: a new one."],
        ["on-power", None, None, "A command and its arguments, quoted as for a shell."],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [["switches", None, "List the switches."]]

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def opt_switch(self, word: str) -> None:
        """One manner; may be given several times."""
        self.words.append(word)

    opt_s = opt_switch

    def postOptions(self) -> None:
        try:
            self.chosen = Switches.parse(self.words)
            self.at = Listen.parse(self["listen"])
            self.argv = tuple(shlex.split(self["on-power"] or ""))
        except (Malformed, ValueError) as e:
            raise UsageError(str(e)) from None
        if self["on-power"] is not None and not self.argv:
            raise UsageError("--on-power: want a command")
        if not self["user"] or ":" in self["user"]:
            raise UsageError("--user: want a name without a colon")

    async def perform_apart(
        self, reactor: object, environ: Mapping[str, str], out: TextIO, err: TextIO
    ) -> int:
        if self["switches"]:
            out.write(as_text())
            return 0
        named = self["password-file"]
        password = password_in(Path(named)) if named is not None else ""

        def failed(line: str) -> None:
            err.write(f"error: {printable(line)}\n")

        theirs = {name: text for name, text in environ.items() if not name.startswith(PREFIX)}
        hook = Hook(IReactorProcess(reactor), self.argv, theirs, failed)

        def changed(change: Changed) -> None:
            out.write(f"{change.what}: power {'on' if change.on else 'off'}\n")
            out.flush()
            if self.argv:
                hook.changed(change)

        bmc = FakeBMC(
            IReactorTCP(reactor),
            *self.chosen.chosen,
            listen=self.at,
            username=self["user"],
            password=password,
            changed=changed,
        )
        bmc.startService()
        shown = f"as in {named}" if named is not None else bmc.password
        out.write(
            f"url       {bmc.url}\npin       {bmc.pin}\nuser      {printable(bmc.username)}\n"
            f"password  {shown}\n"
        )
        out.flush()
        interrupted: Deferred[None] = Deferred()
        try:
            await interrupted
        except CancelledError:
            pass
        finally:
            await hook.stop()
            await bmc.stopService()
        return 0
