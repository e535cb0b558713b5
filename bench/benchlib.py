"""
Start servers, load them in turn, compare: the parts that the suites share. Linux only.

Rounds are interleaved, and ratios are taken within a round: the machine drifts, and what it does
to one server it does to the next. Figures of different runs are not comparable.
"""

import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from attrs import define, field, frozen

HERE = Path(__file__).parent
TOOLS = HERE / "bin"
TICKS = os.sysconf("SC_CLK_TCK")
#: Where it is allowed, servers and load generators preempt whatever else the machine does: ratios
#: then say something there too. Real-time tasks get 950 ms of each second, so quote no p99.
FIRST = ("chrt", "-r", "1") if os.geteuid() == 0 and shutil.which("chrt") else ()


def end_on_request() -> None:
    """SIGTERM ends the servers that were started, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def children(pid: int) -> list[int]:
    """:returns: ``pid`` and all its descendants."""
    found, todo = [], [pid]
    while todo:
        each = todo.pop()
        found.append(each)
        try:
            for task in Path(f"/proc/{each}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except OSError:
            continue  # gone meanwhile
    return found


def cpu_seconds(pid: int) -> float:
    """:returns: of ``pid`` and its descendants, ended ones included."""
    total = 0
    for each in children(pid):
        try:
            stat = Path(f"/proc/{each}/stat").read_text()
        except OSError:
            continue
        total += sum(map(int, stat[stat.rindex(")") + 2 :].split()[11:15]))
    return total / TICKS


def bound(kind: str, port: int, namespace: str = "") -> bool:
    """
    :param kind: ``udp`` or ``tcp``: whether somebody listens at ``port`` of IPv4.
    :param namespace: of the network; empty: ours.
    """
    pattern = re.compile(rf"^\s*\d+: [0-9A-F]{{8}}:{port:04X} \S+ (?:0A|07) ", re.M)
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    shown = subprocess.run(
        [*inside, "cat", f"/proc/net/{kind}"], capture_output=True, text=True, check=True
    )
    return bool(pattern.search(shown.stdout))


@define
class Server:
    """
    A server that runs for as long as the ``with`` block does.

    :ivar kind: ``udp`` or ``tcp``, and ``port``: what it listens at when it is ready.
    :ivar prefix: :data:`FIRST`, where nothing else may come between.
    :ivar namespace: of the network that it listens in; empty: ours.
    """

    name: str
    argv: Sequence[str]
    kind: str
    port: int
    environ: Mapping[str, str] = field(factory=dict)
    log: Path = Path(os.devnull)
    prefix: Sequence[str] = ()
    namespace: str = ""
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        if bound(self.kind, self.port, self.namespace):
            raise RuntimeError(f"{self.name}: {self.kind} port {self.port} is taken already")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.prefix, *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environ},
                start_new_session=True,
            )
        until = time.monotonic() + 20
        while not bound(self.kind, self.port, self.namespace):
            if self._process.poll() is not None or time.monotonic() > until:
                self.__exit__(None, None, None)
                raise RuntimeError(f"{self.name} does not listen; it said: {self.said()}")
            time.sleep(0.02)
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None, "not running"
        return self._process.pid

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-2000:] if self.log.is_file() else ""

    def cpu(self) -> float:
        return cpu_seconds(self._process.pid) if self._process is not None else 0.0

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in children(self._process.pid):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                continue
            break


@frozen
class Sample:
    """
    One run of a load generator against one server.

    :ivar rate: what the case compares: MB/s, or requests a second.
    :ivar complete: whether all of it was answered, and rightly.
    """

    rate: float
    cpu: float
    complete: bool
    figures: Mapping[str, float]


def load(server: Server, argv: Sequence[str], rate: str, seconds: float = 120) -> Sample:
    """
    :param argv: a load generator that prints one JSON object.
    :param rate: which of its figures is the rate.
    """
    before = server.cpu()
    done = subprocess.run(
        [*FIRST, *argv], capture_output=True, text=True, timeout=seconds, check=False
    )
    try:
        figures = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f"{argv[0]} said {done.stdout!r} {done.stderr!r}") from None
    return Sample(figures[rate], server.cpu() - before, done.returncode == 0, figures)


def wrk(server: Server, path: str, options: Sequence[str], refused: bool = False) -> Sample:
    """
    One run of wrk: requests a second, over 64 connections.

    :param refused: whether it is every reply that has to be an error, not none.
    """
    url = f"http://127.0.0.1:{server.port}{path}"
    before = server.cpu()
    done = subprocess.run(
        ["wrk", "-t1", "-c64", *options, url], capture_output=True, text=True, check=True
    )
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout)
    count = re.search(r"([0-9]+) requests in", done.stdout)
    errors = re.search(r"Non-2xx or 3xx responses: ([0-9]+)", done.stdout)
    expected = int(count[1]) if refused and count is not None else 0
    complete = "Socket errors" not in done.stdout
    complete = complete and expected == (int(errors[1]) if errors is not None else 0)
    figure = float(rate[1]) if rate is not None else math.nan
    return Sample(figure, server.cpu() - before, complete, {})


@frozen
class Bar:
    """
    What a case has to reach beside one peer.

    :ivar floor: as a multiple of the peer's rate, which holds on a busy machine too.
    :ivar goal: on a quiet one.
    """

    case: str
    peer: str
    floor: float
    goal: float


#: case -> server -> one sample a round.
Results = dict[str, dict[str, list[Sample]]]
Run = Callable[[Server, Sequence[str]], Sample]


def measure(
    cases: Mapping[str, Sequence[str]],
    servers: Sequence[Server],
    run: Run,
    rounds: int,
    results: Results,
) -> None:
    """Add ``rounds`` samples of every case and server; who comes first changes."""
    for number in range(rounds):
        first = number % len(servers)
        for case, options in cases.items():
            for server in (*servers[first:], *servers[:first]):
                samples = results.setdefault(case, {}).setdefault(server.name, [])
                samples.append(run(server, options))


def compare(
    cases: Mapping[str, Sequence[str]],
    bars: Sequence[Bar],
    servers: Sequence[Server],
    run: Run,
    rounds: int,
) -> Results:
    """
    Measure every case of ours, which is the first server, and of the peers it has bars beside.

    A machine that has other work drifts more than a few rounds level out: where a floor was not
    reached there are as many rounds again, twice at most, and all of them count.
    """
    ours = servers[0]
    results: Results = {}
    for _ in range(3):
        for number in range(rounds):
            for case, options in cases.items():
                peers = {ours.name} | {bar.peer for bar in bars if bar.case == case}
                turn = [each for each in servers if each.name in peers]
                first = number % len(turn)
                measure({case: options}, turn[first:] + turn[:first], run, 1, results)
        if all(ratio(results, bar, ours.name) >= bar.floor for bar in bars):
            break
    return results


def ratio(results: Results, bar: Bar, ours: str, figure: str = "rate") -> float:
    """:returns: the median of the rounds' own ratios, ours to the peer's; NaN without both."""
    samples = results.get(bar.case, {})
    pairs = zip(samples.get(ours, ()), samples.get(bar.peer, ()), strict=False)
    ratios = [getattr(mine, figure) / (getattr(its, figure) or 1e-9) for mine, its in pairs]
    return statistics.median(ratios) if ratios else math.nan


def report(results: Results, bars: Sequence[Bar], ours: str, unit: str) -> bool:
    """Print what was measured. :returns: whether every bar's floor was reached."""
    for case, by_server in results.items():
        print(f"\n{case}")
        for name, samples in by_server.items():
            rate = statistics.median(each.rate for each in samples)
            cpu = statistics.median(each.cpu for each in samples)
            broken = sum(not each.complete for each in samples)
            print(
                f"  {name:<12} {rate:10.1f} {unit}   cpu {cpu:6.2f} s   rounds {len(samples)}"
                + (f"   INCOMPLETE {broken}" if broken else "")
            )
    print(f"\n{'case':<32} {'beside':<12} {'ratio':>6} {'floor':>6} {'goal':>6}   cpu ratio")
    fine = True
    for bar in bars:
        speed, cpu = ratio(results, bar, ours), ratio(results, bar, ours, "cpu")
        verdict = "goal" if speed >= bar.goal else "ok" if speed >= bar.floor else "TOO SLOW"
        verdict = "NOT MEASURED" if math.isnan(speed) else verdict
        fine = fine and speed >= bar.floor
        print(
            f"{bar.case:<32} {bar.peer:<12} {speed:6.2f} {bar.floor:6.2f} {bar.goal:6.2f}"
            f"   {cpu:9.2f}   {verdict}"
        )
    incomplete = [
        f"{case}, round {number}"
        for case, by_server in results.items()
        for number, sample in enumerate(by_server.get(ours, ()))
        if not sample.complete
    ]
    for each in incomplete:
        print(f"INCOMPLETE: {each}")
    return fine and not incomplete


def judged(what: str, unit: str, figure: float, bar: tuple[float, float]) -> bool:
    """Print a figure of which less is better. :returns: whether its floor was kept."""
    floor, goal = bar
    verdict = "goal" if figure <= goal else "ok" if figure <= floor else "TOO MUCH"
    print(f"{what:<45} {figure:6.2f} {floor:6.2f} {goal:6.2f}   {unit}   {verdict}")
    return figure <= floor
