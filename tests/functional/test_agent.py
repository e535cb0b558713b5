"""A site agent as an operator starts it, ``twistd -n rescriptum site``, and a scripted gateway."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from rescriptum.contract.commands import Command, Result
from rescriptum.contract.frames import Journalled, Ping, Refused, Release, ResultFrame, Status
from rescriptum.contract.structure import JSON
from rescriptum.net.clocks import boottime
from tests.agentprocess import CLI, ENTRY, TWISTD, AgentProcess, asked
from tests.processes import ROOT, free_port
from tests.relay import Relay
from tests.scriptedgateway import TOKEN, Lease, ScriptedGateway


def command(command_id: str, kind: str = "test.written", **payload: object) -> Command:
    now = int(time.time())
    return Command(command_id, "n1", kind, JSON(payload), "w1", "s1", now, now + 600)


class AgentCase(TestCase):
    timeout = 120

    def setUp(self) -> None:
        # Not trial's own: the path of a socket has to be short.
        self.here = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.here)
        self.data = self.here / "d"
        self.gateway = ScriptedGateway()
        self.gateway.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.gateway.stop()))
        self.configure()
        self.agents: list[AgentProcess] = []
        self.addCleanup(self.kill_all)

    def kill_all(self) -> None:
        for each in self.agents:
            if each.process.poll() is None:
                each.process.send_signal(signal.SIGCONT)
                each.kill()

    def configure(self, more: str = "", port: int = 0) -> None:
        self.config = self.here / "site.toml"
        self.config.write_text(self.gateway.config(str(self.data), port) + more)
        self.config.chmod(0o640)

    def start(self, *argv: str, entry: Sequence[str] = ENTRY, **environ: str) -> AgentProcess:
        given = {"RESCRIPTUM_JOIN_TOKEN": TOKEN, "RESCRIPTUM_TEST_RAN": str(self.here / "ran")}
        agent = AgentProcess(
            self.here, "--config", str(self.config), *argv, entry=entry, **{**given, **environ}
        )
        self.agents.append(agent)
        return agent

    def ran(self) -> list[str]:
        path = self.here / "ran"
        return path.read_text().split() if path.exists() else []

    async def joined(self, **environ: str) -> AgentProcess:
        agent = self.start(entry=ENTRY, **environ)
        await self.until(lambda: self.gateway.beats and self.gateway.streaming, agent)
        return agent

    async def until(
        self, true: Callable[[], object], agent: AgentProcess, seconds: float = 20
    ) -> None:
        try:
            await self.gateway.until(true, seconds)
        except AssertionError as e:
            raise AssertionError(f"{e}; the agent said:\n{agent.log}") from None


class StartTests(AgentCase):
    async def refused(self, *argv: str, code: int, **environ: str) -> str:
        """:returns: what the agent says that does not start."""
        agent = self.start(*argv, entry=ENTRY, **environ)
        self.assertEqual(await deferToThread(agent.exited), code, agent.log)
        self.assertNotIn("Traceback", agent.log)
        self.assertNotIn(TOKEN, agent.log)
        return agent.log

    async def test_arguments(self) -> None:
        """A positional argument, and an option that there is not: exit code 2."""
        self.assertIn("'site.toml'", await self.refused("site.toml", code=2))
        self.assertIn("--frobnicate", await self.refused("--frobnicate", code=2))

    async def test_the_configuration(self) -> None:
        """Every problem with its line: exit code 2."""
        self.configure("gateway_urls = 5\nsites = 1\n")
        log = await self.refused(code=2)
        self.assertIn(f"error: {self.config}:8: gateway_urls: no such key", log)
        self.assertIn(":9: sites", log)

    async def test_http(self) -> None:
        """Without TLS only with fake hardware."""
        text = self.config.read_text().replace("https://", "http://")
        self.config.write_text(text)
        self.assertIn("want https://", await self.refused(code=2))

    async def test_a_token_file(self) -> None:
        """One that is not there: exit code 2."""
        self.assertIn("cannot be read", await self.refused("--token-file", "none", code=2))

    async def test_no_token(self) -> None:
        """No identity and no token: exit code 1, and what to do."""
        log = await self.refused(code=1, RESCRIPTUM_JOIN_TOKEN="")
        self.assertIn("--token-file FILE", log)
        self.assertEqual(self.gateway.joins, [])

    async def test_a_data_directory_that_cannot_be(self) -> None:
        """Exit code 1."""
        self.data.write_text("a file")
        self.assertIn(str(self.data), await self.refused(code=1))

    async def test_a_refused_join(self) -> None:
        """Exit code 1 with the gateway's own code; nothing is kept, so that one can try again."""
        log = await self.refused(code=1, RESCRIPTUM_JOIN_TOKEN="other")
        self.assertIn("unknown-token", log)
        self.assertFalse((self.data / "identity.json").exists())
        agent = await self.joined()
        self.assertEqual(await deferToThread(agent.stop), 0)

    async def test_another_gateway(self) -> None:
        """A CA, or join keys, that are not the pinned ones: exit code 1, and no join was asked."""
        other = ScriptedGateway()
        other.pin = self.gateway.pin
        text = self.config.read_text()
        for line, mine in (
            ("join_signing_key_pin", "signing key is"),
            ("join_encryption_key_pin", "encryption key is"),
        ):
            wrong = [
                each if not each.startswith(line) else new
                for each, new in zip(
                    text.splitlines(), other.config(str(self.data), 1).splitlines(), strict=True
                )
            ]
            self.config.write_text("\n".join(wrong))
            log = await self.refused(code=1)
            self.assertIn("pin-mismatch", log)
            self.assertIn(mine, log)
        pinned = text.replace(self.gateway.pin, "sha256/" + "A" * 43 + "=")
        self.config.write_text(pinned)
        self.assertIn("pinned key", await self.refused(code=1))
        self.assertEqual(self.gateway.joins, [])

    async def test_a_gateway_that_is_not_there_yet(self) -> None:
        """It waits for it, and joins then."""
        self.configure(port=1)
        agent = self.start()
        await self.until(lambda: "Cannot join yet" in agent.log, agent)
        self.assertIsNone(agent.process.poll())
        self.assertEqual(await deferToThread(agent.stop), 0)

    async def test_another_site(self) -> None:
        """An identity of another site is not used: exit code 1."""
        agent = await self.joined()
        await deferToThread(agent.stop)
        self.config.write_text(self.config.read_text().replace('"lyon"', '"nice"'))
        self.assertIn("of site lyon", await self.refused(code=1))

    async def test_two_on_one_directory(self) -> None:
        """The second one does not start: exit code 1."""
        agent = await self.joined()
        self.assertIn("another agent runs on it", await self.refused(code=1))
        self.assertIsNone(agent.process.poll())

    async def test_without_a_boot_server(self) -> None:
        """It says so, and runs; with one, it may hold the lease, and has the kinds for it."""
        agent = self.start(entry=TWISTD)
        await self.until(lambda: self.gateway.beats, agent)
        self.assertIn("without [boot] listen it serves no PXE machines", agent.log)
        self.assertFalse(self.gateway.hellos[-1].boots)
        self.assertEqual(self.boots(), [])
        await self.until(lambda: self.gateway.of(Status), agent)
        report = self.gateway.of(Status)[0].report  # type: ignore[union-attr]
        self.assertEqual(report.sections[0].detail["boot"], "off")
        self.assertEqual(await deferToThread(agent.stop), 0)
        self.configure(f'[boot]\nlisten = "127.0.0.1:{free_port()}"\n')
        agent = self.start(entry=TWISTD)
        await self.until(lambda: len(self.gateway.hellos) > 1, agent)
        self.assertIn("it serves PXE machines on 127.0.0.1:", agent.log)
        self.assertTrue(self.gateway.hellos[-1].boots)
        self.assertEqual(self.boots(), ["boot.clear", "boot.prepareRamdisk"])
        self.assertEqual(await deferToThread(agent.stop), 0)

    def boots(self) -> list[str]:
        """:returns: kinds of the last Hello that are for a boot server."""
        return [each for each in self.gateway.hellos[-1].kinds if each.startswith("boot.")]


class SessionTests(AgentCase):
    async def test_joins_and_beats(self) -> None:
        """By a file's token; identity and mode; heartbeats each third of the ttl; a status."""
        token = self.here / "token"
        token.write_text(TOKEN + "\n")
        agent = self.start("--token-file", str(token), RESCRIPTUM_JOIN_TOKEN="")
        await self.until(lambda: len(self.gateway.beats) > 2, agent)
        await self.until(lambda: self.gateway.of(Status), agent)
        self.assertEqual(len(self.gateway.joins), 1)
        self.assertEqual((self.data / "identity.json").stat().st_mode & 0o777, 0o600)
        [hello] = self.gateway.hellos
        self.assertEqual((hello.node_id, hello.site, hello.audience), ("n1", "lyon", "gw.internal"))
        numbers = [each.beat for each in self.gateway.beats]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertNotIn(TOKEN, agent.log)
        self.assertEqual(await deferToThread(agent.stop), 0)
        self.assertEqual(
            sorted(os.listdir(self.data)),
            ["agent.lock", "identity.json", "journal.db", "trust.json"],
        )

    async def test_status(self) -> None:
        """Over the socket, for the owner alone; by the command line, for people and as JSON."""
        agent = await self.joined()
        path = self.data / "agent.sock"
        await self.until(path.exists, agent)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        await self.until(lambda: self.gateway.of(Status), agent)
        status = await deferToThread(asked, path)
        self.assertEqual((status["node_id"], status["site"]), ("n1", "lyon"))
        self.assertEqual(status["session"], {"state": "live", "name": "s1", "trouble": ""})
        self.assertEqual(status["journal"], {"waiting": 0, "unacknowledged": 0})
        self.gateway.grant()
        await self.until(lambda: self.gateway.ack is not None, agent)
        for argv, texts in (
            ((), ("lyon", "live", "active, epoch 1")),
            (("--json",), ('"epoch": 1',)),
        ):
            run = await deferToThread(
                subprocess.run,
                [*CLI, "site", "status", "--config", self.config, *argv],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                timeout=30,
            )
            self.assertEqual((run.returncode, run.stderr), (0, b""))
            for text in texts:
                self.assertIn(text, run.stdout.decode())
        self.assertEqual(await deferToThread(agent.stop), 0)
        self.assertFalse(path.exists())

    async def test_a_command(self) -> None:
        """It is journalled, run, told, and answered for; the same again runs nothing."""
        agent = await self.joined()
        self.gateway.command(command("c1", text="hello"))
        await self.until(lambda: self.gateway.of(ResultFrame), agent)
        self.assertEqual(self.gateway.of(Journalled), [Journalled("c1")])
        [result] = self.gateway.of(ResultFrame)
        self.assertEqual(result.result, Result(True, "ok", "", {"text": "hello"}))  # type: ignore[union-attr]
        self.gateway.command(command("c1", text="other"))
        await self.until(lambda: len(self.gateway.of(ResultFrame)) > 1, agent)
        self.assertEqual(self.gateway.of(ResultFrame)[-1], result)
        self.gateway.command(command("c2", kind="test.none"))
        await self.until(lambda: self.gateway.of(Refused), agent)
        [refused] = self.gateway.of(Refused)
        self.assertEqual(refused.code, "unknown-kind")  # type: ignore[union-attr]
        self.assertEqual(self.ran(), ["c1"])

    async def test_killed(self) -> None:
        """
        It keeps its identity and its journal: what ran is not run again and ends as interrupted,
        and what was done is told again until the gateway has heard it.
        """
        agent = await self.joined()
        self.gateway.hears = False
        self.gateway.command(command("c1"))
        self.gateway.command(command("c2", kind="test.endless"))
        await self.until(lambda: len(self.ran()) == 2 and self.gateway.of(ResultFrame), agent)
        agent.kill()
        self.gateway.frames.clear()
        self.gateway.hears = True
        agent = self.start(RESCRIPTUM_JOIN_TOKEN="")
        await self.until(lambda: len(self.gateway.of(ResultFrame)) >= 2, agent)
        told = {each.command_id: each.result.code for each in self.gateway.of(ResultFrame)}  # type: ignore[union-attr]
        self.assertEqual(told, {"c1": "ok", "c2": "interrupted"})
        for each in ("c1", "c2"):
            self.gateway.command(command(each, kind="test.written"))
        await self.until(lambda: len(self.gateway.of(ResultFrame)) >= 4, agent)
        self.assertEqual(sorted(self.ran()), ["c1", "c2"])
        self.assertEqual(len(self.gateway.joins), 1)
        self.assertEqual([each.node_id for each in self.gateway.hellos], ["n1", "n1"])
        self.assertEqual(await deferToThread(agent.stop), 0)

    async def test_results_are_told_until_heard(self) -> None:
        """In the same session, and in later ones."""
        agent = await self.joined()
        self.gateway.hears = False
        self.gateway.command(command("c1"))
        await self.until(lambda: len(self.gateway.of(ResultFrame)) > 1, agent)
        self.gateway.hears = True
        before = len(self.gateway.of(ResultFrame))
        await self.until(lambda: len(self.gateway.of(ResultFrame)) > before, agent)
        status = await deferToThread(asked, self.data / "agent.sock")
        self.assertEqual(status["journal"], {"waiting": 0, "unacknowledged": 0})

    async def test_a_secret(self) -> None:
        """A command asks for it in its own name; it is in no log and no journal."""
        agent = await self.joined()
        self.gateway.command(command("c1", kind="test.secret", text="bmc-7"))
        await self.until(lambda: self.gateway.of(ResultFrame), agent)
        [request] = self.gateway.secrets
        self.assertEqual(
            (request.ref, request.workflow, request.step, request.command_id),
            ("bmc-7", "w1", "s1", "c1"),
        )
        [result] = self.gateway.of(ResultFrame)
        self.assertEqual(result.result.data, {"characters": len("value of bmc-7")})  # type: ignore[union-attr]
        self.assertNotIn("value of", agent.log)
        await deferToThread(agent.stop)
        self.assertNotIn(b"value of", (self.data / "journal.db").read_bytes())

    async def test_the_stream_is_lost(self) -> None:
        """The session goes on with another stream: no Hello, and nothing is given up."""
        agent = await self.joined()
        self.gateway.grant()
        await self.until(lambda: self.gateway.ack is not None, agent)
        self.gateway.lose_streams()
        await self.until(lambda: self.gateway.streaming, agent)
        self.gateway.command(command("c1"))
        await self.until(lambda: self.gateway.of(ResultFrame), agent)
        self.assertEqual(len(self.gateway.hellos), 1)
        self.assertEqual(self.gateway.of(Release), [])

    async def test_the_session_is_over(self) -> None:
        """Hello again; what the old one held is released by the new one."""
        agent = await self.joined()
        self.gateway.grant()
        await self.until(lambda: self.gateway.ack is not None, agent)
        self.gateway.session = None
        await self.until(lambda: len(self.gateway.hellos) > 1, agent)
        await self.until(lambda: self.gateway.of(Release), agent)
        self.assertEqual(self.gateway.of(Release)[0], Release(1))
        self.assertIsNone(self.gateway.lease.holder)

    async def test_superseded(self) -> None:
        """It says so, gives up the lease at once, and does not fight for the session."""
        agent = await self.joined()
        self.gateway.grant()
        await self.until(lambda: self.gateway.ack is not None, agent)
        self.gateway.close("superseded")
        self.gateway.session = None
        await self.until(lambda: "has this node's identity" in agent.log, agent)
        status = await deferToThread(asked, self.data / "agent.sock")
        self.assertEqual(status["lease"], {"active": False, "epoch": 0, "heard_ms_ago": None})
        self.assertEqual(len(self.gateway.hellos), 1)
        self.assertEqual(await deferToThread(agent.stop), 0)

    async def test_told_to_stop(self) -> None:
        """The lease is released, and the process is gone soon; also when nobody answers."""
        agent = await self.joined()
        self.gateway.grant()
        await self.until(lambda: self.gateway.ack is not None, agent)
        self.assertEqual(await deferToThread(agent.stop), 0)
        self.assertEqual(self.gateway.of(Release), [Release(1)])
        self.assertIsNone(self.gateway.lease.holder)


class LeaseTests(AgentCase):
    """Each 10 ms the agent asks its fence, and writes down every answer that it allows."""

    def setUp(self) -> None:
        super().setUp()
        self.relay = Relay(self.gateway.port)
        self.relay.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.relay.stop()))
        self.configure(port=self.relay.port)
        self.ttl = self.gateway.ttl_ms / 1000

    def answers(self) -> list[tuple[int, float]]:
        """:returns: epoch and time of each, by the fence's clock, which is that of this host."""
        path = self.here / "answers"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(epoch), float(at)) for epoch, at in (each.split() for each in lines)]

    def answers_after(self, moment: float) -> int:
        return len([at for _, at in self.answers() if at > moment])

    async def active(self) -> AgentProcess:
        agent = await self.joined(RESCRIPTUM_TEST_ANSWERS=str(self.here / "answers"))
        self.assertEqual(self.answers(), [])
        self.gateway.grant()
        await self.until(self.answers, agent)
        return agent

    def taken_over(self) -> None:
        """Another agent has the next epoch, as the arbiter may do by now."""
        self.gateway.lease = Lease(self.gateway.lease.epoch + 1, "another session")

    async def seconds(self, seconds: float) -> None:
        await deferLater(reactor, seconds, lambda: None)

    async def test_granted_and_moved(self) -> None:
        """Active by proof alone, inactive as soon as it is told, and the epoch is released."""
        agent = await self.active()
        self.gateway.lease.holder = None
        self.gateway.desire()
        await self.until(lambda: self.gateway.of(Release), agent)
        before = self.answers()
        await self.seconds(0.3)
        self.assertEqual(self.answers(), before)
        self.assertEqual({epoch for epoch, _ in before}, {1})
        self.gateway.grant()
        await self.until(lambda: self.answers()[-1][0] == 2, agent)

    async def test_stopped(self) -> None:
        """A process that stands still for longer than its lease gives at most one late answer."""
        agent = await self.active()
        agent.process.send_signal(signal.SIGSTOP)
        stopped = boottime()
        await self.seconds(self.ttl + 1)
        self.taken_over()
        agent.process.send_signal(signal.SIGCONT)
        await self.seconds(2)
        self.assertLessEqual(self.answers_after(stopped + self.ttl), 1)
        self.assertIn("stood still", agent.log)
        self.assertIsNone(agent.process.poll())

    async def test_bytes_that_were_kept(self) -> None:
        """
        Cut off, it stops by itself; what the network kept both ways, and lets go when another one
        holds the lease, opens nothing.
        """
        agent = await self.active()
        self.relay.holds = True
        cut = boottime()
        self.gateway.say(Ping())
        await self.seconds(self.ttl + 1)
        self.assertLessEqual(self.answers_after(cut + self.ttl), 1)
        self.taken_over()
        self.relay.let_go()
        await self.seconds(3)
        self.assertLessEqual(self.answers_after(cut + self.ttl), 1)
        self.assertIsNone(agent.process.poll())

    async def test_the_network_comes_back(self) -> None:
        """Where nobody took over, the same epoch goes on by a new proof."""
        agent = await self.active()
        self.relay.holds = True
        await self.seconds(self.ttl + 1)
        before = self.answers()
        self.relay.let_go()
        await self.until(lambda: len(self.answers()) > len(before), agent, 30)
        self.assertEqual(self.answers()[-1][0], self.gateway.lease.epoch)
