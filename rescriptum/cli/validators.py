"""Installers' own tools, where they are there, over what their installers would receive."""

import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from tempfile import TemporaryDirectory
from threading import Event, Lock, Timer

from attrs import define, evolve, field, frozen

from ..answers.checks.finding import Severity
from ..answers.checks.result import Rendered, Result
from .progress import Advance
from .tools import TOOLS, Tool

#: Seconds that a tool may take for one document.
PATIENCE = 30.0
#: Bytes of what it prints that are read, and lines of them that are shown.
MAX_OUTPUT = 16384
_LINES, _LINE = 3, 300
#: Tools that run at the same time.
_AT_ONCE = 2
#: Documents that each tool looks at, unless it is asked to look at all of them.
EACH = 8


@frozen
class Run:
    """
    What a tool said of one document.

    :ivar output: the first lines that it printed.
    :ivar error: why it said nothing, or empty.
    """

    passed: bool
    output: str = ""
    error: str = ""


@define
class _Queue:
    """
    Documents for one tool: the first of each group, and others.

    :ivar count: how many there were.
    """

    firsts: list[Rendered] = field(factory=list)
    others: list[Rendered] = field(factory=list)
    count: int = 0
    _groups: set[tuple[str, str]] = field(factory=set)
    _digests: set[bytes] = field(factory=set)

    def add(self, rendered: Rendered, room: int | None) -> None:
        """Equal documents are one."""
        digest = sha256(rendered.body).digest()
        if digest in self._digests:
            return
        self._digests.add(digest)
        self.count += 1
        group = rendered.format, rendered.group
        queue = self.others if group in self._groups or not rendered.group else self.firsts
        self._groups.add(group)
        if room is None or len(queue) < room:
            queue.append(rendered)

    def taken(self, room: int | None) -> list[Rendered]:
        return [*self.firsts, *self.others][:room]


@define
class Validators:
    """
    The tools that are there, run in threads.

    :ivar path: where programs are looked for, as ``PATH``.
    :ivar each: how many documents each tool looks at; None for all.
    """

    path: str
    each: int | None = EACH
    _tools: Sequence[Tool] = TOOLS
    _timer: Callable[[float, Callable[[], None]], Timer] = Timer
    _queues: dict[Tool, _Queue] = field(factory=dict, init=False)
    _running: set[Popen[bytes]] = field(factory=set, init=False)
    _closing: bool = field(default=False, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def offer(self, rendered: Rendered) -> None:
        """One more document, for whichever tools are for it."""
        for tool in self._tools:
            if tool.suits(rendered):
                self._queues.setdefault(tool, _Queue()).add(rendered, self.each)

    def results(self, advance: Advance) -> Generator[Result, None, None]:
        """
        Run them all. Once it is over or closed, no file and no process is left behind.

        :param advance: is called with how many documents are done and how many there are.
        """
        work: list[tuple[Tool, str, Rendered]] = []
        for tool, queue in self._queues.items():
            taken = queue.taken(self.each)
            formats = ", ".join(sorted({each.format for each in taken}))
            program = shutil.which(tool.program, path=self.path)
            if program is None:
                said = f"{tool.program} is not on PATH: only the bundled check looked at it"
                yield Result(Severity.NOTE, formats, said)
                continue
            work += ((tool, program, each) for each in taken)
            if queue.count > len(taken):
                said = f"{tool.program} looked at {len(taken)} of {queue.count}: --every for all"
                yield Result(Severity.NOTE, formats, said)
        with TemporaryDirectory(prefix="rescriptum-check-") as directory:
            pool = ThreadPoolExecutor(_AT_ONCE, "validators")
            try:
                runs = [
                    pool.submit(self._run, Path(directory) / str(number), *each)
                    for number, each in enumerate(work)
                ]
                for number, ((tool, _, rendered), run) in enumerate(zip(work, runs, strict=True)):
                    yield from _told(tool, rendered, run.result())
                    advance(number + 1, len(work))
            finally:
                self._close()
                pool.shutdown(cancel_futures=True)

    def _run(self, place: Path, tool: Tool, program: str, rendered: Rendered) -> Run:
        """In a thread."""
        place.mkdir(0o700)
        name = place / f"answer.{rendered.format}"
        with open(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(rendered.body)
        try:
            return self._ran([program, *tool.arguments, str(name)], place)
        except OSError as e:
            return Run(False, error=f"cannot be run: {e.strerror}")
        finally:
            name.unlink()

    def _ran(self, command: Sequence[str], place: Path) -> Run:
        environ = {"PATH": self.path, "LC_ALL": "C", "HOME": str(place), "TMPDIR": str(place)}
        # Its own database, not the system's: that one is locked by whoever has it, and it fails.
        environ["DEBCONF_DB_REPLACE"] = f"File{{{place}/debconf.dat}}"
        expired = Event()
        with Popen(
            command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            cwd=place,
            env=environ,
            start_new_session=True,
        ) as process:

            def expire() -> None:
                expired.set()
                _kill(process)

            late = self._timer(PATIENCE, expire)
            late.start()
            with self._lock:
                self._running.add(process)
                if self._closing:
                    _kill(process)
            try:
                assert process.stdout is not None
                output = process.stdout.read(MAX_OUTPUT)
                if process.stdout.read(1):  # it says more than anybody reads
                    _kill(process)
                code = process.wait()
            finally:
                late.cancel()
                with self._lock:
                    self._running.discard(process)
        if expired.is_set():
            return Run(False, error=f"took longer than {PATIENCE:g} seconds")
        return Run(code == 0, _shown(output, place))

    def _close(self) -> None:
        with self._lock:
            self._closing = True
            for process in self._running:
                _kill(process)


def _kill(process: Popen[bytes]) -> None:
    """It and whatever it has started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _shown(output: bytes, place: Path) -> str:
    """:returns: the first lines that say something, without our own file's name in them."""
    text = output.decode("utf-8", "replace").replace(f"{place}/", "")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    kept = [line for line in lines if line][:_LINES]
    said = "; ".join(line if len(line) <= _LINE else f"{line[:_LINE]}…" for line in kept)
    return "".join(each if each.isprintable() else "?" for each in said).replace(":; ", ": ")


def _told(tool: Tool, rendered: Rendered, run: Run) -> Iterator[Result]:
    about = Result(
        Severity.PROBLEM,
        rendered.source,
        run.output or "refuses it, and does not say why",
        format=rendered.format,
        machine=rendered.machine,
        group=rendered.group,
        by=tool.program,
    )
    if run.error:
        yield evolve(about, severity=Severity.WARNING, text=run.error)
    elif not run.passed:
        yield about
