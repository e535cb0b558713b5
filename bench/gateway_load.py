"""
What agents do to a gateway, phase by phase, in one process: ``python -m bench.gateway_load``.

A :class:`Task` comes as JSON on standard input; figures go out as one JSON object. All times are
told by one clock, the agents'; seconds of processors are the gateway's, unless they say otherwise.
"""

import gc
import json
import os
import random
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence

from attrs import frozen
from cattrs.preconf.json import make_converter
from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredSemaphore, gatherResults
from twisted.internet.interfaces import IReactorCore, IReactorTime
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from rescriptum.agent.backoff import Backoff
from rescriptum.contract.structure import rendered
from rescriptum.net.pinning import gateway_policy

from .benchlib import cpu_seconds
from .gateway_agents import Agent, Doing, Net
from .gateway_http import Asking, request
from .http import resident

#: Seconds between two heartbeats and two reports of an agent.
BEAT, REPORT = 5.0, 60.0
#: Joins under way at once; operators' connections; agents that say heartbeat after heartbeat.
JOINING, OPERATORS, BUSY = 50, 16, 64
#: Of a command: with it, it is as long as a signed one of a deployment.
PAYLOAD = {"text": "x" * 2000}

Figures = dict[str, float]
_converter = make_converter()


@frozen
class Task:
    """
    What is to be done, with which gateway.

    :ivar ports: of its processes, and ``pids``; ``beside``: pids of what they use.
    :ivar tokens: to join with, one an agent; none: they are known already.
    :ivar operator: token of one. :ivar steady: and ``busy``: seconds of those phases.
    :ivar kill: whether the last process is killed in the end.
    """

    agents: int
    ports: tuple[int, ...]
    pids: tuple[int, ...]
    beside: tuple[int, ...]
    pin: str
    tokens: tuple[str, ...]
    operator: str
    steady: float
    busy: float
    kill: bool

    @classmethod
    def read(cls, text: str) -> "Task":
        return _converter.loads(text, cls)

    def written(self) -> str:
        return _converter.dumps(self)


class Watch:
    """What a phase takes: seconds of the clock, and of processors."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._began = self._read()

    def _read(self) -> tuple[float, float, float, float]:
        gateway = sum(map(cpu_seconds, self._task.pids))
        beside = sum(map(cpu_seconds, self._task.beside))
        return time.monotonic(), gateway, beside, time.process_time()

    def figures(self, phase: str) -> Figures:
        parts = ("seconds", "cpu", "beside_cpu", "agents_cpu")
        both = zip(parts, self._read(), self._began, strict=True)
        return {f"{phase}_{part}": end - began for part, end, began in both}


def spread(what: str, seconds: Sequence[float]) -> Figures:
    """:returns: in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    figures = {"p50": cuts[49], "p99": cuts[98], "max": max(seconds)}
    return {f"{what}_{part}": each * 1000 for part, each in figures.items()}


class Load:
    """All agents, and what is done with them."""

    def __init__(self, clock: IReactorTime, task: Task) -> None:
        self._clock = clock
        self._task = task
        self._net = Net(clock, gateway_policy([task.pin], "127.0.0.1"))
        self._trips: list[float] = []
        self._regular = True
        self._moved: list[Deferred[None]] = []
        self.broken: Deferred[Figures] = Deferred()
        self._agents = [
            Agent(each, self._net, task.ports[each % len(task.ports)], self._spawn, self._lost)
            for each in range(task.agents)
        ]

    async def run(self) -> Figures:
        figures: Figures = {}
        if self._task.tokens:
            figures |= await self._join()
        else:
            for each in self._agents:
                each.node = f"n-{each.number}"
        figures |= await self._open()
        figures |= await self._steady()
        figures |= await self._command()
        figures |= await self._busy()
        if self._task.kill:
            figures |= await self._kill()
        for each in self._agents:
            each.hang_up()
        # None was granted twice: nobody's fence closed, whatever else was to be done.
        figures["moved_leases"] = sum(each.epochs - 1 for each in self._agents)
        return figures

    # Phases.

    async def _join(self) -> Figures:
        watch, few = Watch(self._task), DeferredSemaphore(JOINING)

        def joining(agent: Agent, token: str) -> Deferred[None]:
            return few.run(lambda: self._spawn(agent.join(token)))

        await gatherResults(map(joining, self._agents, self._task.tokens))
        figures = watch.figures("join")
        for each in self._agents:
            each.hang_up()
        await self._sleep(2)
        return figures

    async def _open(self) -> Figures:
        """Everybody at once, as after an outage without any back-off."""
        before, watch = self._memory(), Watch(self._task)
        await self._all(map(self._begin, self._agents))
        figures = watch.figures("open")
        await gatherResults([each.proved for each in self._agents])
        figures |= watch.figures("held")
        await self._sleep(BEAT)
        figures["memory"] = (self._memory() - before) * 1000 / self._task.agents
        return figures

    async def _begin(self, agent: Agent) -> None:
        """
        A heartbeat at once: on standby, it is what makes a candidate. The others are spread over
        their period, as those of agents that came back one by one.
        """
        await agent.hello()
        self._spawn(self._beat(agent))
        share = agent.number / self._task.agents
        self._clock.callLater(BEAT * share, self._again_and_again, BEAT, agent, self._beat)
        self._clock.callLater(REPORT * share, self._again_and_again, REPORT, agent, Agent.report)
        await agent.listen()

    def _again_and_again(self, every: float, agent: Agent, say: Callable[[Agent], Doing]) -> None:
        if self._regular:
            self._clock.callLater(every, self._again_and_again, every, agent, say)
            self._spawn(say(agent))

    async def _beat(self, agent: Agent) -> None:
        self._trips.append(await agent.beat())

    async def _steady(self) -> Figures:
        watch = Watch(self._task)
        self._trips = []
        await self._sleep(self._task.steady)
        figures = watch.figures("steady") | spread("trip", self._trips)
        share = figures["steady_cpu"] / figures["steady_seconds"]
        return {**figures, "steady_share": share / len(self._task.pids)}

    async def _command(self) -> Figures:
        """One to each agent, as fast as operators' connections take them."""
        lines = [await self._net.connected(port, Asking()) for port in self._ports()]
        watch, began = Watch(self._task), time.monotonic()
        self._trips = []
        await self._all(self._operate(lines, number) for number in range(OPERATORS))
        sent = time.monotonic()
        await gatherResults([each.done for each in self._agents])
        figures = watch.figures("command") | spread("command_trip", self._trips)
        times = [each.times for each in self._agents]
        parts = ("", "here", "journalled", "recorded")
        for at, part in enumerate(parts[1:], 1):
            figures |= spread(f"command_{part}", [each[at] - each[0] for each in times])
            figures[f"command_last_{part}"] = max(each[at] for each in times) - began
        figures["command_last_sent"] = sent - began
        for each in lines:
            each.transport.loseConnection()
        return figures

    def _ports(self) -> list[int]:
        ports = self._task.ports
        return [ports[number % len(ports)] for number in range(OPERATORS)]

    async def _operate(self, lines: Sequence[Asking], number: int) -> None:
        for agent in self._agents[number::OPERATORS]:
            body = rendered({"node": agent.node, "kind": "boot.clear", "payload": PAYLOAD})
            asked = request("POST", "/api/v1/commands", body, self._task.operator)
            agent.times.append(time.monotonic())
            status, answer = await lines[number].ask(asked)
            if status not in (200, 201):
                raise RuntimeError(f"command: {status} {answer!r}")

    async def _busy(self) -> Figures:
        """Heartbeat after heartbeat: what is the most that is recorded?"""
        self._regular = False
        await self._sleep(0.5)
        self._trips = []
        watch, until = Watch(self._task), time.monotonic() + self._task.busy
        await self._all(self._beats_until(each, until) for each in self._agents[:BUSY])
        figures = watch.figures("busy") | spread("busy_trip", self._trips)
        figures["busy_rate"] = len(self._trips) / figures["busy_seconds"]
        return figures

    async def _beats_until(self, agent: Agent, until: float) -> None:
        while time.monotonic() < until:
            await self._beat(agent)

    async def _kill(self) -> Figures:
        """A process is gone: its agents go on at the other one, in the same session."""
        port = self._task.ports[-1]
        there = [each for each in self._agents if each.port == port]
        watch = Watch(self._task)
        os.kill(self._task.pids[-1], signal.SIGKILL)
        while len(self._moved) < len(there):
            await self._sleep(0.05)
        await gatherResults(self._moved)
        figures = watch.figures("kill")
        return {"kill_seconds": figures["kill_seconds"], "kill_agents": len(there)}

    def _lost(self, agent: Agent) -> None:
        if not self._task.kill:
            self._break(Failure(RuntimeError(f"{agent.site}: the stream broke off")))
            return
        self._moved.append(self._spawn(self._again(agent)))

    async def _again(self, agent: Agent) -> None:
        await self._sleep(Backoff().ended(0).wait(random.random()))
        agent.port = self._task.ports[0]
        await agent.listen()
        await agent.beat()

    # What phases share.

    def _memory(self) -> float:
        return sum(resident(str(pid)) for pid in self._task.pids)

    async def _sleep(self, seconds: float) -> None:
        await deferLater(self._clock, seconds)

    async def _all(self, each: Iterable[Doing]) -> None:
        await gatherResults([self._spawn(one) for one in each])

    def _spawn(self, doing: Doing) -> Deferred[None]:
        done = Deferred.fromCoroutine(doing)
        done.addErrback(self._break)
        return done

    def _break(self, failure: Failure) -> None:
        """What cannot be is the end of it all: half a figure would say something else."""
        if not self.broken.called:
            self.broken.errback(failure)


def main() -> int:
    core = IReactorCore(reactor)
    load = Load(IReactorTime(reactor), Task.read(sys.stdin.read()))
    outcome: list[Figures | Failure] = []

    def over(result: Figures | Failure) -> None:
        outcome.append(result)
        core.stop()

    def begin() -> None:
        gc.collect()
        gc.freeze()  # our own pauses are not the gateway's
        Deferred.fromCoroutine(load.run()).addBoth(over)
        load.broken.addBoth(over)

    core.callWhenRunning(begin)
    core.run()
    [first, *_] = outcome
    if isinstance(first, Failure):
        traceback.print_exception(first.value)
        return 1
    print(json.dumps(first))
    return 0


if __name__ == "__main__":
    sys.exit(main())
