"""One gateway process over real TLS, and agents that are written out step by step."""

import time
from pathlib import Path
from typing import cast

from hyperlink import DecodedURL
from twisted.internet import reactor
from twisted.internet.interfaces import IReactorTime
from twisted.trial.unittest import SynchronousTestCase, TestCase

from rescriptum.agent.client import GatewayClient
from rescriptum.contract.keys import generate, public_jwk
from rescriptum.errors import Unverified
from rescriptum.net.connections import Connections
from rescriptum.net.pinning import gateway_policy
from tests.gatewayclient import Agent, Gateway
from tests.processes import Process


class GatewayCase(SynchronousTestCase):
    """:ivar gateway: runs, and has the site ``lab``."""

    def setUp(self) -> None:
        self.gateway = self.started(Gateway(Path(self.mktemp()).absolute()))
        self.gateway.admit_operator().operate("POST", "sites", {"name": "lab"})

    def started(self, gateway: Gateway) -> Gateway:
        gateway.start()
        self.addCleanup(lambda: gateway.process and gateway.process.end())
        return gateway

    def joined(self) -> Agent:
        agent = Agent(self.gateway)
        agent.join(self.gateway.token())
        return agent


class SessionTests(GatewayCase):
    def test_from_a_token_to_a_result(self) -> None:
        """Join, Hello, heartbeats, the lease, a command, its result; each is acknowledged."""
        agent = self.joined()
        welcome = agent.hello().body
        self.assertEqual((welcome["heartbeat_ms"], welcome["lease_ttl_ms"]), (5000, 15_000))
        frames = agent.frames()
        self.addCleanup(frames.close)
        section = frames.lease(True)
        self.assertEqual((section["epoch"], section["ttl_ms"]), (1, 15_000))
        self.assertIsNone(agent.heartbeat(0))
        self.assertEqual(agent.heartbeat(1), {"beat": agent.beat, "epoch": 1})
        sent = self.gateway.operate("POST", "commands", {"node": agent.node, "kind": "boot.clear"})
        frame = frames.until("command")
        self.assertEqual(frame["ack"], {"beat": agent.beat, "epoch": 1})
        name = str(sent["id"])
        self.assertIn(name, str(frame["envelope"]))
        journalled = agent.say({"type": "journalled", "command_id": name})
        self.assertEqual(journalled.body["journalled"], [name])
        done = {"ok": True, "code": "ok", "detail": "", "data": {}}
        result = {"type": "result", "command_id": name, "result": done, "finished_at": 1}
        answer = agent.say({**result, "attestation": None})
        self.assertEqual(answer.body["results"], [name])
        self.assertEqual(self.gateway.operate("GET", f"commands/{name}")["state"], "done")
        self.assertIn("ping", [next(iter(frames))["type"] for _ in range(2)])
        self.assertNotIn("Traceback", self.gateway.text)

    def test_a_restart_moves_nothing(self) -> None:
        """Row, session and epoch are in the database: the same session goes on proving."""
        agent = self.joined()
        agent.hello()
        frames = agent.frames()
        epoch = cast(int, frames.lease(True)["epoch"])
        agent.heartbeat(epoch)
        assert self.gateway.process is not None
        self.gateway.process.process.terminate()
        self.assertEqual(frames.until("close")["reason"], "stopping")
        frames.close()
        self.assertEqual(self.gateway.process.exited(), 0)
        self.gateway.start()
        again = agent.frames()
        self.addCleanup(again.close)
        self.assertEqual(again.lease(True)["epoch"], epoch)
        self.assertEqual(agent.heartbeat(epoch), {"beat": agent.beat, "epoch": epoch})

    def test_a_process_that_is_killed_moves_nothing(self) -> None:
        agent = self.joined()
        agent.hello()
        frames = agent.frames()
        epoch = cast(int, frames.lease(True)["epoch"])
        agent.heartbeat(epoch)
        sent = self.gateway.operate("POST", "commands", {"node": agent.node, "kind": "boot.clear"})
        frames.until("command")
        self.gateway.kill()
        frames.close()
        self.gateway.start()
        again = agent.frames()
        self.addCleanup(again.close)
        kinds = {frame["type"]: frame for frame, _ in zip(again, range(2), strict=False)}
        self.assertIn(str(sent["id"]), str(kinds["command"]["envelope"]))
        self.assertEqual(agent.heartbeat(epoch), {"beat": agent.beat, "epoch": epoch})

    def test_two_sessions_of_one_node(self) -> None:
        """The second one ends the first, which proves nothing any more, and is told why."""
        agent = self.joined()
        agent.hello()
        frames = agent.frames()
        self.addCleanup(frames.close)
        epoch = cast(int, frames.lease(True)["epoch"])
        agent.heartbeat(epoch)
        session, token = agent.session, agent.token
        agent.hello()
        self.assertEqual(frames.until("close")["reason"], "superseded")
        self.assertEqual(list(frames), [])
        self.assertIsNone(agent.heartbeat(epoch))
        path = f"/v1/sessions/{session}/frames"
        late = self.gateway.ask("POST", path, [], token)
        self.assertEqual((late.status, late.code), (401, "superseded"))
        released = agent.say({"type": "release", "epoch": epoch})
        self.assertEqual(released.body["released"], [epoch])
        again = agent.frames()
        self.addCleanup(again.close)
        self.assertEqual(again.lease(True)["epoch"], epoch + 1)

    def test_a_planned_move(self) -> None:
        """The holder is asked, lets go, and the wanted one has the next epoch."""
        one, other = self.joined(), self.joined()
        one.hello()
        frames = one.frames()
        self.addCleanup(frames.close)
        epoch = cast(int, frames.lease(True)["epoch"])
        one.heartbeat(epoch)
        other.hello()
        others = other.frames()
        self.addCleanup(others.close)
        self.gateway.operate("POST", "sites/lab/lease/move", {"node": other.node})
        self.assertEqual(frames.lease(False)["epoch"], epoch)
        one.say({"type": "release", "epoch": epoch})
        self.assertEqual(others.lease(True)["epoch"], epoch + 1)

    def test_a_secret_is_released_to_its_command(self) -> None:
        agent = self.joined()
        agent.hello()
        self.gateway.operate("PUT", "secrets/bmc-1", {"value": "hush"})
        sent = self.gateway.operate(
            "POST",
            "commands",
            {"node": agent.node, "kind": "bmc.power", "secret_refs": ["bmc-1"]},
        )
        frames = agent.frames()
        self.addCleanup(frames.close)
        frames.until("command")
        asked = {"ref": "bmc-1", "command_id": sent["id"], "epoch": 0}
        asked |= {"workflow": sent["workflow"], "step": sent["step"]}
        path = f"/v1/sessions/{agent.session}/secrets"
        answer = self.gateway.ask("POST", path, asked, agent.token)
        self.assertEqual((answer.status, answer.body), (200, {"value": "hush"}))
        refused = self.gateway.ask("POST", path, {**asked, "ref": "bmc-2"}, agent.token)
        self.assertEqual(refused.code, "secret-refused")
        self.assertNotIn("hush", self.gateway.text)


class RefusalTests(GatewayCase):
    def test_a_wrong_everything(self) -> None:
        """Each is told by its code, and none of it makes anything."""
        agent, token = Agent(self.gateway), self.gateway.token()
        for code, status, changes in (
            ("invalid-message", 400, {"colour": "red"}),
            ("invalid-key", 400, {"node_key": {"kty": "RSA"}}),
            ("unknown-key", 403, {"node_key": public_jwk(generate("Ed25519"))}),
            ("bad-token", 403, {"token": "x"}),
            ("bad-signature", 403, {"joining": "x"}),
        ):
            answer = self.gateway.ask("POST", "/v1/join", agent.request(token, **changes))
            self.assertEqual((answer.status, answer.code), (status, code), answer.body)
            self.assertTrue(answer.body["advice"])
        agent.join(token)
        hellos: tuple[tuple[str, dict[str, object]], ...] = (
            ("wrong-audience", {"audience": "gateway.example"}),
            ("stale", {"issued_at": int(time.time()) - 301}),
            ("key-mismatch", {"node_id": "n-1"}),
            ("wrong-site", {"site": "office"}),
            ("wrong-role", {"role": "node"}),
        )
        for code, wrong in hellos:
            self.assertEqual(agent.hello(**wrong).code, code)
        nonce = agent.nonce()
        self.assertEqual(agent.hello(nonce=nonce).status, 200)
        self.assertEqual(agent.hello(nonce=nonce).code, "replayed")
        stranger = Agent(self.gateway, node=agent.node)
        self.assertEqual(stranger.hello().code, "unknown-node")
        path = f"/v1/sessions/{agent.session}"
        for method, name in (("GET", "frames"), ("POST", "frames"), ("POST", "secrets")):
            body = {"ref": "a", "workflow": "b", "step": "c", "command_id": "d"}
            sent: object = [] if name == "frames" else body
            answer = self.gateway.ask(method, f"{path}/{name}", sent, "wrong")
            self.assertEqual((answer.status, answer.code), (401, "unknown-session"))
            answer = self.gateway.ask(method, f"{path}/{name}", sent)
            self.assertEqual(answer.status, 401)
            self.assertEqual(answer.headers["www-authenticate"], "Bearer")
        self.assertEqual(agent.say({"type": "song"}).code, "invalid-message")
        self.assertEqual(self.gateway.ask("POST", "/v1/join", b"{").code, "malformed-json")
        self.assertEqual(len(cast(list[object], self.gateway.operate("GET", "nodes")["nodes"])), 1)
        self.assertNotIn("Traceback", self.gateway.text)

    def test_who_guesses_at_tokens_is_not_looked_at(self) -> None:
        agent = Agent(self.gateway)
        codes = [
            self.gateway.ask("POST", "/v1/join", agent.request(f"guess-{number}")).code
            for number in range(6)
        ]
        self.assertEqual(codes, ["unknown-token"] * 5 + ["locked-out"])
        answer = self.gateway.ask("POST", "/v1/join", agent.request(self.gateway.token()))
        self.assertEqual((answer.status, answer.headers["retry-after"]), (429, "60"))

    def test_a_node_that_is_removed_is_told(self) -> None:
        agent = self.joined()
        agent.hello()
        frames = agent.frames()
        self.addCleanup(frames.close)
        self.gateway.operate("DELETE", f"nodes/{agent.node}")
        self.assertEqual(frames.until("close")["reason"], "unknown-node")
        self.assertEqual(agent.say().code, "unknown-node")
        self.assertEqual(agent.hello().code, "unknown-node")


class PinTests(TestCase):
    """What agents pin is what the gateway printed at its start."""

    def setUp(self) -> None:
        self.gateway = Gateway(Path(self.mktemp()).absolute()).start()
        assert self.gateway.process is not None
        self.addCleanup(self.gateway.process.end)

    def pinned(self, pin: str) -> GatewayClient:
        policy = gateway_policy([pin], "127.0.0.1")
        url = DecodedURL.from_text(f"https://127.0.0.1:{self.gateway.port}")
        client = GatewayClient(url, Connections(reactor, policy), cast(IReactorTime, reactor))
        self.addCleanup(client.close)
        return client

    async def test_the_pin_opens_and_another_one_does_not(self) -> None:
        assert self.gateway.process is not None
        told = self.gateway.process.wait_for(r'serving_ca_spki_pin = "(sha256/\S+)"')[1]
        keys = await self.pinned(told).keys()
        self.assertEqual(keys.signing["crv"], "Ed25519")
        with self.assertRaises(Unverified):
            await self.pinned("sha256/" + "A" * 43 + "=").keys()


class StartTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir(parents=True)

    def run_(self, text: str) -> Process:
        (self.here / "gateway.toml").write_text(text)
        process = Process(self.here, "gateway", "--config", str(self.here / "gateway.toml"))
        self.addCleanup(process.end)
        return process

    def test_a_broken_configuration_is_exit_code_two(self) -> None:
        process = self.run_('listen = "nowhere"\ndata_dirr = "/x"\n')
        self.assertEqual(process.exited(), 2)
        self.assertRegex(process.text, r"error: .*gateway.toml:2: data_dirr: no such key; data_dir")
        self.assertRegex(process.text, r"error: .*gateway.toml:1: listen: ")
        self.assertNotIn("Traceback", process.text)

    def test_a_database_of_no_kind_is_exit_code_two(self) -> None:
        process = self.run_('database_url = "oracle://u:hush@h/d"\n')
        self.assertEqual(process.exited(), 2)
        self.assertRegex(process.text, "error: database_url: no database of kind 'oracle'")
        self.assertNotIn("hush", process.text)

    def test_keys_that_are_gone_are_exit_code_one(self) -> None:
        """They are not made anew in silence: agents have pinned them."""
        gateway = Gateway(self.here).start()
        gateway.ask("GET", "/v1/keys")  # it runs by now, and ends when it is told to
        assert gateway.process is not None
        self.assertEqual(gateway.process.end(), 0)
        (self.here / "data" / "keys" / "join-signing.jwk").unlink()
        process = Process(self.here, "gateway", "--config", str(gateway.config))
        self.addCleanup(process.end)
        self.assertEqual(process.exited(), 1)
        self.assertRegex(process.text, r"error: .*join-signing\.jwk: is missing")
        self.assertNotIn("Traceback", process.text)

    def test_a_port_that_is_taken_is_exit_code_one(self) -> None:
        gateway = Gateway(self.here / "one").start()
        assert gateway.process is not None
        self.addCleanup(gateway.process.end)
        process = self.run_(f'listen = "127.0.0.1:{gateway.port}"\ndata_dir = "{self.here}/two"\n')
        self.assertEqual(process.exited(), 1)
        self.assertRegex(process.text, "error: gateway: cannot listen on 127.0.0.1")

    def test_a_database_that_is_none_is_exit_code_one(self) -> None:
        data = self.here / "data"
        data.mkdir(mode=0o700)
        (data / "gateway.db").write_text("no database at all" * 100)
        process = self.run_(f'data_dir = "{data}"\nlisten = "127.0.0.1:0"\n')
        self.assertEqual(process.exited(), 1)
        self.assertRegex(process.text, "error: database_url: ")
        self.assertNotIn("Traceback", process.text)
