"""``rescriptum``: the operator's command line over the server's own parts."""

import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TextIO, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorCore, IReactorTime
from twisted.internet.task import react
from twisted.python.usage import Options, UsageError

from ..config import Reading, read
from ..errors import ConfigError, RescriptumError
from ..values import printable
from .arming import ArmOptions, DisarmOptions
from .boot import BootOptions
from .check import CheckOptions
from .config import ConfigOptions
from .gateway.group import GatewayOptions
from .install import InstallOptions
from .media import MediaOptions
from .options import Group, Performed, PerformedApart, PerformedLater, PerformedOnReading
from .power.group import PowerOptions
from .ramdisk import RamdiskOptions
from .render import RenderOptions
from .sets import ExportOptions, ImportOptions, MigrateOptions
from .site import SiteOptions

DONE, FAILED, MISUSED = 0, 1, 2
#: Seconds that what was interrupted has to log out of BMCs, and to end its programs.
_ENDING = 10

_T = TypeVar("_T")


class RescriptumOptions(Group):
    """The root of the command line."""

    synopsis = "Usage: rescriptum [--config FILE] COMMAND [options]"
    longdesc = "The server itself is started by 'twistd -n rescriptum'."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["config", "c", None, "A TOML file with settings (or RESCRIPTUM_CONFIG)."],
    ]
    subCommands: ClassVar[list[list[object]]] = [
        ["arm", None, ArmOptions, "Let a machine install itself the next time it boots."],
        ["boot", None, BootOptions, "Loaders, scripts, DHCP snippets, and would a machine boot?"],
        ["check", None, CheckOptions, "Would every machine receive what its installer takes?"],
        ["config", None, ConfigOptions, "Every setting, its value and who said so."],
        ["disarm", None, DisarmOptions, "Let a machine boot its own disk."],
        ["export", None, ExportOptions, "The answer set into a directory."],
        ["gateway", None, GatewayOptions, "An operator's side of a gateway."],
        ["import", None, ImportOptions, "A directory into the answer set."],
        ["install", None, InstallOptions, "Arm a machine, boot it from the network, start it."],
        ["media", None, MediaOptions, "The images."],
        ["migrate", None, MigrateOptions, "Documents that lie flat into directories."],
        ["power", None, PowerOptions, "Machines, by their BMCs."],
        ["ramdisk", None, RamdiskOptions, "What ramdisks have done."],
        ["render", None, RenderOptions, "What an installer would receive."],
        ["site", None, SiteOptions, "The site agent on this host."],
    ]


def perform(leaf: Options, reading: Reading, out: TextIO, err: TextIO) -> int:
    """:returns: the exit code of one parsed command."""
    if isinstance(leaf, PerformedOnReading):
        return leaf.perform_reading(reading, out, err)
    for warning in reading.warnings:
        err.write(f"warning: {warning}\n")
    config = reading.config()
    if isinstance(leaf, Performed):
        return leaf.perform(config, out, err)
    assert isinstance(leaf, PerformedLater)
    later = leaf.perform_async
    return _perform_later(lambda reactor: later(reactor, config, out, err), err)


def _perform_later(perform: Callable[[object], Coroutine[Any, Any, int]], err: TextIO) -> int:
    codes: list[int] = []
    failed: list[OSError] = []
    interrupted = False

    def started(reactor: object) -> Deferred[None]:
        async def run() -> None:
            try:
                codes.append(await perform(reactor))
            except ConfigError as e:
                codes.append(_misused(e, err))
            except OSError as e:  # for main(), as that of any other command
                failed.append(e)
            except (RescriptumError, CancelledError) as e:
                if interrupted:  # whatever that makes of it
                    return
                if isinstance(e, CancelledError):
                    raise
                err.write(f"error: {printable(str(e))}\n")
                codes.append(FAILED)

        done: Deferred[None] = Deferred()
        running: list[Deferred[None]] = []

        def begin() -> None:
            running.append(Deferred.fromCoroutine(run()))
            running[0].chainDeferred(done)

        def end() -> Deferred[None] | None:
            """What it has begun ends in good order; a second Ctrl-C waits for nothing."""
            nonlocal interrupted
            if done.called or not running:
                return None
            interrupted = True
            if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
            over: Deferred[None] = Deferred()
            late = IReactorTime(reactor).callLater(_ENDING, over.callback, None)
            done.addBoth(_passed, late, over)
            running[0].cancel()
            return over

        IReactorCore(reactor).addSystemEventTrigger("before", "shutdown", end)
        # Not before: until it runs, Ctrl-C strikes in the middle of whatever is done here.
        IReactorCore(reactor).callWhenRunning(begin)
        return done

    try:
        react(started)
    except SystemExit as e:
        if failed:
            raise failed[0] from None
        if not codes and (interrupted or e.code == DONE):
            err.write("error: interrupted before it was done\n")
            return FAILED
        if not codes:  # our own fault: react has shown the traceback
            return e.code if isinstance(e.code, int) else FAILED
    return codes[0]


def _passed(result: _T, late: IDelayedCall, over: Deferred[None]) -> _T:
    if late.active():
        late.cancel()
        over.callback(None)
    return result


def main(argv: Sequence[str], environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """:returns: 0 done, 1 it did not succeed, 2 it was not asked rightly or cannot start."""
    options = RescriptumOptions()
    try:
        options.parseOptions(list(argv))
    except UsageError as e:
        err.write(f"{_leaf(options)}\nerror: {e}\n")
        return MISUSED
    leaf = _leaf(options)
    if isinstance(leaf, PerformedApart):
        apart = leaf.perform_apart
        return _perform_later(lambda reactor: apart(reactor, environ, out, err), err)
    named = options["config"]
    reading = read(environ, Path(named) if named is not None else None)
    try:
        return perform(leaf, reading, out, err)
    except ConfigError as e:
        return _misused(e, err)
    except RescriptumError as e:
        err.write(f"error: {printable(str(e))}\n")
        return FAILED


def _misused(error: ConfigError, err: TextIO) -> int:
    for problem in error.problems:
        err.write(f"error: {problem}\n")
    return MISUSED


def _leaf(options: Options) -> Options:
    """:returns: the innermost command that was named."""
    while getattr(options, "subCommand", None) is not None and hasattr(options, "subOptions"):
        options = options.subOptions
    return options


def run() -> NoReturn:
    """The console script."""
    code: object
    if isinstance(sys.stdout, TextIOWrapper):  # not of every text in every locale
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            code = main(sys.argv[1:], os.environ, sys.stdout, sys.stderr)
        except SystemExit as e:  # --help and --version
            code = e.code
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted before it was done\n")
        code = FAILED
    except OSError as e:
        # What is left in the buffer would be tried again at the very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(e, BrokenPipeError):  # the reader of our output went away: head, less
            where = f"{e.filename}: " if e.filename is not None else ""
            sys.stderr.write(f"error: {where}{e.strerror or e}\n")
        code = FAILED
    sys.exit(code)
