"""
``python -m bench.gateway``: 500 agents at one gateway, over SQLite and over PostgreSQL.

Agents, gateway and database share the machine, which is to have two cores. PostgreSQL is measured
where it is installed, and waits for the disk like SQLite does.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

from attrs import frozen

from tests import postgres

from .benchlib import FIRST, HERE, Bar, Results, Sample, end_on_request, judged, ratio, report
from .gateway_load import BUSY, Figures, Task
from .gateway_place import OPERATOR, Place, bare, gateway

SQLITE, POSTGRES, TWO, BARE = "SQLite", "PostgreSQL", "two processes", "twisted.web"
PORTS = (7921, 7922)
#: Seconds of heartbeats as they come, and of as many as can be.
STEADY, FLAT_OUT = 15.0, 5.0

OPENED = "sessions, all opened at once"
BEATS = f"heartbeats, {BUSY} at a time"
COMMANDS = "commands, until the last result"
#: Beside a server that keeps nothing: a heartbeat is a transaction, and so is each of the five
#: steps of a command.
BARS = (Bar(OPENED, BARE, 0.15, 0.4), Bar(BEATS, BARE, 0.1, 0.3), Bar(COMMANDS, BARE, 0.02, 0.06))


@frozen
class Limit:
    """
    What a figure may be at the most.

    :ivar figure: of :class:`~.gateway_load.Load`, divided by ``per``. :ivar bar: floor and goal.
    """

    what: str
    unit: str
    figure: str
    per: float
    bar: tuple[float, float]


LIMITS: Final = (
    # The rest is for operators, and for the minute in which all come back.
    Limit("steady: a process's share of a core", "  ", "steady_share", 1, (0.5, 0.25)),
    # One that takes longer than a period is lost to the agent.
    Limit("steady: heartbeat, p99", "ms", "trip_p99", 1, (1000, 100)),
    # About a ttl: a site whose agent was restarted is without a boot server for that long anyway.
    Limit("all sessions opened", "s ", "open_seconds", 1, (20, 7.5)),
    Limit("commands: the last one is journalled", "s ", "command_last_journalled", 1, (30, 10)),
    Limit("commands: the last result is recorded", "s ", "command_last_recorded", 1, (30, 10)),
    Limit("memory of a session", "kB", "memory", 1, (150, 100)),
    Limit("leases that moved", "  ", "moved_leases", 1, (0, 0)),
)
KILLED: Final = Limit("killed: all agents at the other one", "s ", "kill_seconds", 1, (15, 5))

#: What is shown: label, figure, divisor.
SHOWN: Final = (
    ("join, 50 at a time: seconds", "join_seconds", 1),
    ("  processor", "join_cpu", 1),
    ("Hello and stream, all at once: seconds", "open_seconds", 1),
    ("  processor", "open_cpu", 1),
    ("  the agents' own processor", "open_agents_cpu", 1),
    ("all leases held and proved: seconds", "held_seconds", 1),
    ("memory of a session: kB", "memory", 1),
    ("steady: share of a core, of all processes", "steady_cpu", STEADY),
    ("  the database's", "steady_beside_cpu", STEADY),
    ("  heartbeat: ms, p50", "trip_p50", 1),
    ("  p99", "trip_p99", 1),
    ("a command to each: the last is sent: seconds", "command_last_sent", 1),
    ("  the last is journalled", "command_last_journalled", 1),
    ("  the last result is recorded", "command_last_recorded", 1),
    ("  from sent to journalled: ms, p50", "command_journalled_p50", 1),
    ("  p99", "command_journalled_p99", 1),
    ("  from sent to recorded: ms, p50", "command_recorded_p50", 1),
    ("  p99", "command_recorded_p99", 1),
    ("  processor", "command_cpu", 1),
    ("  heartbeat meanwhile: ms, p99", "command_trip_p99", 1),
    ("heartbeats flat out: 1/s", "busy_rate", 1),
    ("  ms, p99", "busy_trip_p99", 1),
    ("a process is killed: agents that moved", "kill_agents", 1),
    ("  the last one is heard again: seconds", "kill_seconds", 1),
    ("leases that moved", "moved_leases", 1),
)


class Arena:
    """A directory, and a database server where there is one."""

    def __init__(self, root: Path, agents: int) -> None:
        self._root = root
        self._agents = agents
        self._database = None if postgres.missing() else postgres.server(durable=True)
        self._number = 0
        if self._database is not None and FIRST:
            argv = [*FIRST[:1], "-a", "-r", "-p", FIRST[-1], str(self._database.pid)]
            subprocess.run(argv, check=True)

    @property
    def names(self) -> list[str]:
        """What can be measured here, the peer last."""
        return [SQLITE, *((POSTGRES, TWO) if self._database is not None else ()), BARE]

    def measured(self, name: str) -> Figures:
        """One run of everything, with a new gateway."""
        self._number += 1
        root = self._root / str(self._number)
        ports = PORTS if name == TWO else PORTS[:1]
        database = self._database if name in (POSTGRES, TWO) else None
        if name == BARE:
            place = bare(root, name, PORTS[0])
        else:
            url = None if database is None else database.url(database.database())
            place = gateway(root, "gateway", ports, self._agents, url)
        with ExitStack() as running:
            for each in place.servers:
                running.enter_context(each)
            beside = () if database is None else (database.pid,)
            return self._loaded(place, ports, beside, kill=name == TWO)

    def _loaded(
        self, place: Place, ports: tuple[int, ...], beside: tuple[int, ...], kill: bool
    ) -> Figures:
        task = Task(
            agents=self._agents,
            ports=ports,
            pids=tuple(each.pid for each in place.servers),
            beside=beside,
            pin=place.pin,
            tokens=place.tokens,
            operator=OPERATOR,
            steady=STEADY,
            busy=FLAT_OUT,
            kill=kill,
        )
        argv = [*FIRST, sys.executable, "-m", "bench.gateway_load"]
        done = subprocess.run(
            argv, input=task.written(), cwd=HERE.parent, capture_output=True, text=True, timeout=600
        )
        if done.returncode:
            said = "".join(each.said() for each in place.servers)
            raise RuntimeError(f"{done.stderr}\n{said}")
        figures: Figures = json.loads(done.stdout)
        return figures


def compared(figures: dict[str, list[Figures]], name: str, agents: int) -> Results:
    """:returns: one of ours, and the peer."""

    def samples(
        rate: Callable[[Figures], float], cpu: Callable[[Figures], float]
    ) -> dict[str, list[Sample]]:
        return {
            each: [Sample(rate(one), cpu(one), True, one) for one in figures[each]]
            for each in (name, BARE)
        }

    return {
        OPENED: samples(lambda f: agents / f["open_seconds"], lambda f: f["open_cpu"]),
        BEATS: samples(
            lambda f: f["busy_rate"],
            lambda f: 1000 * f["busy_cpu"] / (f["busy_rate"] * f["busy_seconds"]),
        ),
        COMMANDS: samples(
            lambda f: agents / f["command_last_recorded"], lambda f: f["command_cpu"]
        ),
    }


def typical(runs: Sequence[Figures], limit: Limit) -> float:
    return median(each[limit.figure] for each in runs) / limit.per


def limits(name: str) -> tuple[Limit, ...]:
    return (*LIMITS, KILLED) if name == TWO else LIMITS


def kept(figures: dict[str, list[Figures]], agents: int) -> bool:
    """:returns: whether every floor is."""
    ours = [each for each in figures if each != BARE]
    return all(
        all(typical(figures[name], each) <= each.bar[0] for each in limits(name))
        and all(ratio(compared(figures, name, agents), bar, name) >= bar.floor for bar in BARS)
        for name in ours
    )


def show(figures: dict[str, list[Figures]]) -> None:
    print(f"{'':<46}" + "".join(f"{name:>15}" for name in figures))
    for label, figure, per in SHOWN:
        cells = []
        for runs in figures.values():
            found = [each[figure] / per for each in runs if figure in each]
            cells.append(f"{median(found):15.2f}" if found else f"{'':>15}")
        print(f"{label:<46}" + "".join(cells))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.gateway", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="of everything")
    parser.add_argument("--agents", type=int, default=500)
    asked = parser.parse_args()
    end_on_request()
    figures: dict[str, list[Figures]] = {}
    with tempfile.TemporaryDirectory(prefix="rescriptum-bench-") as directory:
        arena = Arena(Path(directory), asked.agents)
        for turn in range(3 * asked.rounds):  # more where a floor is not kept: it may be noise
            for name in arena.names:
                figures.setdefault(name, []).append(arena.measured(name))
            if turn % asked.rounds == asked.rounds - 1 and kept(figures, asked.agents):
                break
    print(f"{asked.agents} agents\n")
    show(figures)
    fine = True
    for name, runs in figures.items():
        if name == BARE:
            continue
        fine = report(compared(figures, name, asked.agents), BARS, name, "1/s ") and fine
        print(f"\n{name}")
        for each in limits(name):
            fine = judged(each.what, each.unit, typical(runs, each), each.bar) and fine
    if POSTGRES not in figures:
        print(f"\nnot measured over PostgreSQL: {postgres.missing()}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
