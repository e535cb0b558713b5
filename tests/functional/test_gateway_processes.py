"""Two gateway processes on one PostgreSQL, and agents spread over both."""

from pathlib import Path
from typing import cast

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.structure import JSON
from tests import postgres
from tests.gatewayclient import Agent, Frames, Gateway

DONE = {"ok": True, "code": "ok", "detail": "", "data": {}}


class ProcessesTests(SynchronousTestCase):
    """:ivar one: and ``other``: processes of one gateway, with a site ``lab``."""

    def setUp(self) -> None:
        here = Path(self.mktemp()).absolute()
        server = postgres.server()
        self.one = Gateway(here / "one", server.url(server.database()))
        self.other = self.started(self.started(self.one).beside(here / "other"))
        self.one.admit_operator().operate("POST", "sites", {"name": "lab"})

    def started(self, gateway: Gateway) -> Gateway:
        gateway.start()
        self.addCleanup(lambda: gateway.process and gateway.process.end())
        return gateway

    def frames(self, agent: Agent) -> Frames:
        made = agent.frames()
        self.addCleanup(made.close)
        return made

    def agent(self, hello: Gateway) -> Agent:
        """:returns: one that joined at the first process, and has a session by ``hello``."""
        made = Agent(self.one)
        made.join(self.one.token())
        made.gateway = hello
        self.assertEqual(made.hello().status, 200)
        return made

    def send(self, by: Gateway, agent: Agent) -> str:
        sent = by.operate("POST", "commands", {"node": agent.node, "kind": "boot.clear"})
        return str(sent["id"])

    def test_each_request_may_come_to_another_process(self) -> None:
        """Hello here, frames there, heartbeats here: the database is what they have in common."""
        agent = self.agent(self.one)
        agent.gateway = self.other
        frames = self.frames(agent)
        epoch = cast(int, frames.lease(True)["epoch"])
        agent.gateway = self.one
        self.assertEqual(agent.heartbeat(epoch), {"beat": agent.beat, "epoch": epoch})
        name = self.send(self.one, agent)
        self.assertIn(name, str(frames.until("command")["envelope"]))
        result: JSON = {"type": "result", "command_id": name, "result": DONE, "finished_at": 1}
        self.assertEqual(agent.say(result).body["results"], [name])
        self.assertEqual(self.other.operate("GET", f"commands/{name}")["state"], "done")

    def test_a_hello_here_ends_the_session_there(self) -> None:
        agent = self.agent(self.one)
        agent.gateway = self.other
        frames = self.frames(agent)
        frames.lease(True)
        agent.gateway = self.one
        agent.hello()
        self.assertEqual(frames.until("close")["reason"], "superseded")

    def test_a_process_that_is_killed_is_missed_by_nobody(self) -> None:
        """Sessions move, the lease does not; commands are neither lost nor doubled."""
        agents = [self.agent(self.other), self.agent(self.one)]
        streams = [self.frames(each) for each in agents]
        epoch = cast(int, streams[0].lease(True)["epoch"])
        agents[0].heartbeat(epoch)
        names = [self.send(self.one, each) for each in agents]
        for stream, name in zip(streams, names, strict=True):
            self.assertIn(name, str(stream.until("command")["envelope"]))
        journalled = agents[1].say({"type": "journalled", "command_id": names[1]})
        self.assertEqual(journalled.body["journalled"], [names[1]])
        self.other.kill()
        agents[0].gateway = self.one
        self.assertEqual(agents[0].heartbeat(epoch), {"beat": agents[0].beat, "epoch": epoch})
        again = self.frames(agents[0])
        kinds = {frame["type"]: frame for frame, _ in zip(again, range(2), strict=False)}
        self.assertIn(names[0], str(kinds["command"]["envelope"]))
        spec = cast(dict[str, dict[str, object]], kinds["desired"]["spec"])
        self.assertEqual(cast(JSON, spec["site"]["lease"])["epoch"], epoch)
        for agent, name in zip(agents, names, strict=True):
            result: JSON = {"type": "result", "command_id": name, "result": DONE, "finished_at": 1}
            for _ in range(2):
                self.assertEqual(agent.say(result).body["results"], [name])
            self.assertEqual(self.one.operate("GET", f"commands/{name}")["state"], "done")
        late = self.frames(agents[1])
        self.assertEqual(next(iter(late))["type"], "desired")
        self.assertEqual(next(iter(late))["type"], "ping")
        self.assertEqual(self.one.operate("GET", "sites/lab/lease")["epoch"], epoch)

    def test_a_holder_that_is_gone_is_waited_for_by_either(self) -> None:
        """Both processes look; one of them takes, once."""
        holder, other = self.agent(self.one), self.agent(self.other)
        frames, others = self.frames(holder), self.frames(other)
        first = self.one.operate("GET", "sites/lab/lease")
        active, waiting = (holder, other) if str(first["node"]) == holder.node else (other, holder)
        streams = {holder.node: frames, other.node: others}
        epoch = cast(int, streams[active.node].lease(True)["epoch"])
        active.heartbeat(epoch)
        stream = iter(streams[waiting.node])
        taken = None
        while taken is None:
            waiting.heartbeat(0)
            frame = next(stream)
            if frame["type"] == "desired" and frame["spec"]["site"]["lease"]["active"]:  # type: ignore[index]
                taken = frame["spec"]["site"]["lease"]["epoch"]  # type: ignore[index]
        self.assertEqual(taken, epoch + 1)
