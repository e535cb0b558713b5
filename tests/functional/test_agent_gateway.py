"""Agents and a gateway as operators run them: processes of their own, over real TLS."""

import shutil
import signal
import tempfile
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.structure import JSON
from tests.agentprocess import AgentProcess, asked
from tests.gatewayclient import Gateway


class AgentsCase(SynchronousTestCase):
    """:ivar gateway: runs, with the site ``lab``. :ivar ttl_ms: of its lease."""

    ttl_ms = 3000

    def setUp(self) -> None:
        # Not trial's own: the path of a socket has to be short.
        self.here = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.here)
        self.gateway = Gateway(
            self.here / "gateway", server_names=["gw.internal", "127.0.0.1"]
        ).start()
        self.addCleanup(lambda: self.gateway.process and self.gateway.process.end())
        self.gateway.admit_operator().operate(
            "POST", "sites", {"name": "lab", "ttl_ms": self.ttl_ms}
        )
        self.agents: list[AgentProcess] = []
        self.addCleanup(self.kill_all)

    def kill_all(self) -> None:
        for each in self.agents:
            each.kill()

    def agent(self, name: str = "a", token: str | None = None) -> AgentProcess:
        """:returns: started; with a token it has to join."""
        here = self.here / name
        here.mkdir(exist_ok=True)
        config = here / "site.toml"
        pins = [line for line in self.gateway.text.splitlines() if "_pin = " in line]
        config.write_text(
            f'gateway_url = "https://127.0.0.1:{self.gateway.port}"\n'
            f'gateway_server_name = "gw.internal"\nsite = "lab"\ndata_dir = "{here / "d"}"\n'
            + "".join(line[line.index(" - ") + 3 :] + "\n" for line in pins)
        )
        config.chmod(0o640)
        given = {"RESCRIPTUM_JOIN_TOKEN": token or "", "RESCRIPTUM_TEST_RAN": str(here / "ran")}
        made = AgentProcess(here, "--config", str(config), **given)
        self.agents.append(made)
        return made

    def status(self, name: str = "a") -> JSON:
        path = self.here / name / "d" / "agent.sock"
        try:
            return asked(path)
        except OSError:
            return {"session": {"state": "none"}, "lease": {"active": False, "epoch": 0}}

    def lease(self, name: str = "a") -> JSON:
        lease = self.status(name)["lease"]
        assert isinstance(lease, dict)
        return lease

    def epoch(self, name: str = "a") -> int:
        epoch = self.lease(name)["epoch"]
        assert isinstance(epoch, int)
        return epoch

    def ran(self, name: str = "a") -> list[str]:
        path = self.here / name / "ran"
        return path.read_text().split() if path.exists() else []

    def node(self, name: str = "a") -> str:
        return str(self.status(name)["node_id"])

    def command(self, name: str = "a") -> str:
        sent = self.gateway.operate(
            "POST", "commands", {"node": self.node(name), "kind": "boot.clear"}
        )
        return str(sent["id"])

    def state(self, command_id: str) -> object:
        return self.gateway.operate("GET", f"commands/{command_id}")["state"]


class AgentsTests(AgentsCase):
    def test_from_a_token_to_a_result(self) -> None:
        """An agent joins, shows up, holds the lease, and runs what it is sent."""
        agent = self.agent(token=self.gateway.token())
        agent.until(lambda: self.lease()["active"])
        node = self.gateway.operate("GET", f"nodes/{self.node()}")
        self.assertEqual((node["site"], node["role"]), ("lab", "site"))
        command = self.command()
        agent.until(lambda: self.state(command) == "done")
        self.assertEqual(self.ran(), [command])
        self.assertEqual(agent.stop(), 0)
        self.assertNotIn("Traceback", agent.log + self.gateway.text)

    def test_a_token_is_used_once(self) -> None:
        """Another agent with it does not join: exit code 1, and the gateway's own code."""
        token = self.gateway.token()
        first = self.agent(token=token)
        first.until(lambda: self.lease()["active"])
        second = self.agent("b", token)
        self.assertEqual(second.exited(), 1)
        self.assertIn("token-used", second.log)

    def test_an_agent_is_killed(self) -> None:
        """It keeps its identity and its journal; nothing runs twice."""
        agent = self.agent(token=self.gateway.token())
        agent.until(lambda: self.lease()["active"])
        node, before = self.node(), self.command()
        agent.until(lambda: self.ran())
        agent.kill()
        meanwhile = self.command_to(node)
        agent = self.agent()
        agent.until(lambda: self.state(meanwhile) == "done")
        self.assertEqual(self.node(), node)
        # Done before it was killed, or cut off: either way it is over.
        agent.until(lambda: self.state(before) in ("done", "failed"))
        self.assertEqual(self.ran(), [before, meanwhile])
        agent.until(lambda: self.lease()["active"])
        self.assertGreater(self.epoch(), 1)

    def command_to(self, node: str) -> str:
        sent = self.gateway.operate("POST", "commands", {"node": node, "kind": "boot.clear"})
        return str(sent["id"])

    def test_the_lease_moves(self) -> None:
        """From an agent that is told to stop at once; from one that stands still by patience."""
        first = self.agent(token=self.gateway.token())
        first.until(lambda: self.lease()["active"])
        before = self.epoch()
        second = self.agent("b", self.gateway.token())
        second.until(lambda: self.status("b")["session"]["state"] == "live")  # type: ignore[index]
        self.assertFalse(self.lease("b")["active"])
        self.assertEqual(first.stop(), 0)
        second.until(lambda: self.lease("b")["active"])
        self.assertGreater(self.epoch("b"), before)
        before = self.epoch("b")
        first = self.agent()
        first.until(lambda: self.status()["session"]["state"] == "live")  # type: ignore[index]
        second.process.send_signal(signal.SIGSTOP)
        first.until(lambda: self.lease()["active"])
        self.assertGreater(self.epoch(), before)
        second.process.send_signal(signal.SIGCONT)
        second.until(lambda: self.epoch("b") == 0)
        self.assertFalse(self.lease("b")["active"])

    def test_two_with_one_identity(self) -> None:
        """One of them has the session; the other one says so and waits."""
        first = self.agent(token=self.gateway.token())
        first.until(lambda: self.lease()["active"])
        copy = self.here / "copy" / "d"
        copy.mkdir(parents=True)
        for name in ("identity.json", "trust.json"):
            shutil.copy2(self.here / "a" / "d" / name, copy / name)
        second = self.agent("copy")
        second.until(lambda: self.lease("copy")["active"])
        self.assertIn("has this node's identity", first.log)
        self.assertFalse(self.lease()["active"])


class RestartTests(AgentsCase):
    """With the lease that sites have by default."""

    ttl_ms = 15_000

    def test_the_gateway_is_killed(self) -> None:
        """The same session and the same epoch go on, and so does what was to be run."""
        agent = self.agent(token=self.gateway.token())
        agent.until(lambda: self.lease()["active"])
        session = self.status()["session"]
        self.gateway.kill()
        self.gateway.start()
        command = self.command()
        agent.until(lambda: self.state(command) == "done")
        again = self.status()["session"]
        assert isinstance(session, dict)
        assert isinstance(again, dict)
        self.assertEqual(again["name"], session["name"])
        self.assertEqual(self.lease()["epoch"], 1)
