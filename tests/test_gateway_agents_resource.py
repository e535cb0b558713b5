"""Tests for ``rescriptum.gateway.agents.resource``."""

import json
import os
from functools import partial

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from rescriptum.contract.joining import JoinAnswer, Role
from rescriptum.contract.jose import digest, opened, seal, sign
from rescriptum.contract.keys import generate, public_jwk, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON, structured
from rescriptum.gateway.agents.resource import HELLO, JOIN, UNKNOWN, Agents, Terms
from rescriptum.gateway.hub import Hub, Live
from rescriptum.gateway.records import SessionRow
from rescriptum.gateway.stores import commands, leases, secrets, sessions, sites, tokens
from rescriptum.gateway.vault import Vault
from rescriptum.testing import MemoryStream
from rescriptum.web.reply import Reply, StreamReply
from rescriptum.web.request import Request
from rescriptum.web.routing import answer
from tests.gatewaycases import NOW, SITE, GatewayCase

PEER = ("192.0.2.7", 50000)


class AgentsCase(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.hub = Hub(self.clock.seconds)
        self.opened: list[Live] = []
        self.well = True
        self.terms = Terms(
            signing=generate("Ed25519"),
            encryption=generate("X25519"),
            vault=Vault.make(),
            names=frozenset({"gateway.example"}),
            process="p1",
            heartbeat_ms=5000,
            sessions=2,
            now=self.now,
            monotonic=self.clock.seconds,
            octets=os.urandom,
        )
        self.agents = Agents(
            self.database, self.hub, self.terms, self.opened.append, lambda: self.well
        )

    def perform(
        self, method: str, target: str, body: object = None, token: str | None = None
    ) -> Reply | StreamReply:
        headers = () if token is None else (("authorization", f"Bearer {token}"),)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = Request(method, target, PEER, headers, data)
        reply = self.successResultOf(Deferred.fromCoroutine(answer(self.agents, request)))
        assert isinstance(reply, Reply | StreamReply)
        return reply

    def ask(
        self, method: str, target: str, body: object = None, token: str | None = None
    ) -> tuple[int, JSON]:
        reply = self.perform(method, target, body, token)
        assert isinstance(reply, Reply), reply
        return reply.status, json.loads(reply.body)

    def code(
        self, method: str, target: str, body: object = None, token: str | None = None
    ) -> object:
        return self.ask(method, target, body, token)[1].get("code")


class JoinTests(AgentsCase):
    def request(self, token: str, **changes: object) -> JSON:
        key = generate("Ed25519")
        jkt = key.thumbprint()
        claims = {"token": token, "site": SITE, "role": "site", "jkt": jkt, "nonce": "n"}
        sealed = seal({**claims, "issued_at": NOW}, self.terms.encryption)
        said = {"jkt": jkt, "nonce": "n", "token_digest": digest(sealed.encode())}
        return {
            "role": "site",
            "site": SITE,
            "attestor": "token",
            "token": sealed,
            "joining": sign("joining", {**said, "issued_at": NOW}, key),
            "node_key": public_jwk(key),
            "boot_id": "b",
            "attestation": None,
            "inventory": None,
            **changes,
        }

    def token(self) -> str:
        made = partial(
            tokens.create, site=SITE, role=Role.SITE, now=NOW, new_token=lambda: "unguessable"
        )
        return self.run_(made)[0]

    def test_the_join_keys_are_told(self) -> None:
        self.assertEqual(
            self.ask("GET", "/v1/keys"),
            (
                200,
                {
                    "signing": public_jwk(self.terms.signing),
                    "encryption": public_jwk(self.terms.encryption),
                },
            ),
        )

    def test_the_answer_is_signed(self) -> None:
        status, body = self.ask("POST", "/v1/join", self.request(self.token()))
        self.assertEqual(status, 200)
        said = opened("join", body["answer"], trusted(self.terms.signing))
        joined = structured(JoinAnswer, said.claims)
        self.assertRegex(joined.node_id, "^n-[0-9a-f]{16}$")
        self.assertEqual((joined.nonce, joined.site, joined.issued_at), ("n", SITE, NOW))

    def test_who_guesses_is_locked_out_for_a_while(self) -> None:
        """The right token opens nothing meanwhile: else the lock would tell which it is."""
        token = self.token()
        for _ in range(5):
            self.assertEqual(self.code("POST", "/v1/join", self.request("x")), "unknown-token")
        reply = self.perform("POST", "/v1/join", self.request(token))
        assert isinstance(reply, Reply)
        self.assertEqual((reply.status, dict(reply.headers)["Retry-After"]), (429, "60"))
        self.clock.advance(60)
        self.assertEqual(self.ask("POST", "/v1/join", self.request(token))[0], 200)

    def test_what_cannot_be_read_is_no_guess(self) -> None:
        for _ in range(9):
            self.assertEqual(self.code("POST", "/v1/join", b"{"), "malformed-json")

    def test_what_is_long_and_cannot_be_read_is_no_mistake(self) -> None:
        """To read it takes the time that everybody else's heartbeats need."""
        for _ in range(5):
            self.assertEqual(self.code("POST", "/v1/join", [0] * 9000), "invalid-message")
        self.assertEqual(self.code("POST", "/v1/join", self.request(self.token())), "locked-out")

    def test_a_join_has_a_bound(self) -> None:
        at_most = {**self.request(self.token()), "inventory": {"dmi": "x" * 200_000}}
        self.assertEqual(self.ask("POST", "/v1/join", at_most)[0], 200)
        self.assertEqual(self.code("POST", "/v1/join", b"x" * (JOIN + 1)), "too-large")

    def test_nothing_secret_is_logged(self) -> None:
        token = self.token()
        with capturedLogs() as events:
            asked = self.request(token)
            self.ask("POST", "/v1/join", asked)
            self.ask("POST", "/v1/join", self.request("guess"))
        told = "".join(str(event) for event in events)
        self.assertNotIn(token, told)
        self.assertNotIn(str(asked["token"]), told)


class SessionTests(AgentsCase):
    def setUp(self) -> None:
        super().setUp()
        self.node()
        self.name = self.token = ""
        self.nonces = 0

    def hello(self, node: str = "n1", **changes: object) -> tuple[int, JSON]:
        self.nonces += 1
        said = {
            "node_id": node,
            "role": "site",
            "site": SITE,
            "boot_id": "b",
            "version": "1",
            "audience": "gateway.example",
            "nonce": f"n-{self.nonces}",
            "issued_at": int(self.now()),
            "boots": True,
            **changes,
        }
        status, body = self.ask(
            "POST", "/v1/sessions", {"hello": sign("hello", said, self.keys[node])}
        )
        if status == 200:
            self.name, self.token = str(body["session"]), str(body["token"])
        return status, body

    def path(self, what: str = "frames") -> str:
        return f"/v1/sessions/{self.name}/{what}"

    def row(self) -> SessionRow:
        row = self.run_(lambda connection: sessions.get(connection, self.name))
        assert row is not None
        return row

    def stream(self) -> MemoryStream:
        reply = self.perform("GET", self.path(), None, self.token)
        assert isinstance(reply, StreamReply), reply
        self.assertEqual(reply.media_type, "application/x-ndjson")
        stream = MemoryStream(self.clock)
        reply.opened(stream)
        return stream

    def test_welcome_says_how_often_and_for_how_long(self) -> None:
        _, body = self.hello()
        self.assertEqual((body["heartbeat_ms"], body["lease_ttl_ms"]), (5000, 15_000))
        self.assertEqual(body["server_time"], NOW)
        self.run_(lambda connection: sites.set_ttl(connection, SITE, 3000))
        _, body = self.hello()
        self.assertEqual((body["heartbeat_ms"], body["lease_ttl_ms"]), (1000, 3000))

    def test_only_the_digest_of_a_token_is_kept(self) -> None:
        self.hello()
        self.assertEqual(self.row().token_digest, digest(self.token.encode()))

    def test_only_site_agents_boot_machines(self) -> None:
        self.hello()
        self.assertTrue(self.row().boots)
        self.node("n2", Role.RAMDISK)
        self.hello("n2", role="ramdisk")
        self.assertFalse(self.row().boots)

    def test_a_hello_is_used_once(self) -> None:
        self.hello(nonce="same")
        self.assertEqual(self.hello(nonce="same")[1]["code"], "replayed")

    def test_nobody_whom_the_gateway_does_not_know(self) -> None:
        self.keys["n9"] = generate("Ed25519")
        self.assertEqual(self.hello("n9")[1]["code"], "unknown-node")
        self.assertEqual(self.code("POST", "/v1/sessions", {"hello": "x"}), "unknown-node")

    def test_a_second_session_ends_the_first(self) -> None:
        self.hello()
        first = self.stream()
        self.hello()
        self.assertIn(b'"reason":"superseded"', first.sent[-1])
        self.assertEqual(first.end, "closed")

    def test_sessions_have_a_bound(self) -> None:
        """Whoever has a place may come again."""
        for name in ("n1", "n2", "n3"):
            if name != "n1":
                self.node(name)
            status, body = self.hello(name)
            if status == 200:
                self.stream()
        self.assertEqual((status, body["code"]), (503, "over-capacity"))
        self.assertEqual(self.hello("n2")[0], 200)

    def test_a_stream_is_opened_by_the_token_alone(self) -> None:
        self.hello()
        for token in (None, "x", self.token[:-1]):
            self.assertEqual(self.code("GET", self.path(), None, token), "unknown-session")
        self.stream()
        [live] = self.opened
        self.assertEqual((live.session, live.node, live.heartbeat), (self.name, "n1", 5.0))
        self.assertIs(self.hub.of_node("n1"), live)
        self.assertEqual(self.row().process, "p1")

    def test_what_is_recorded_is_acknowledged_in_the_reply_and_in_each_frame(self) -> None:
        self.hello()
        self.stream()
        epoch = self.grant(self.name)
        beat = {"type": "heartbeat", "beat": 41, "epoch": epoch}
        status, body = self.ask("POST", self.path(), [beat], self.token)
        self.assertEqual((status, body["ack"]), (200, {"beat": 41, "epoch": epoch}))
        [live] = self.opened
        self.assertEqual(json.loads(live.ack), {"beat": 41, "epoch": epoch})
        self.ask("POST", self.path(), [{**beat, "beat": 42, "epoch": 9}], self.token)
        self.assertEqual(json.loads(live.ack)["beat"], 41)

    def test_what_is_not_recorded_is_not_acknowledged(self) -> None:
        """An answer of the database that did not come counts as a no."""
        self.hello()
        self.stream()
        epoch = self.grant(self.name)
        self.done(self.database.close())
        beat = {"type": "heartbeat", "beat": 41, "epoch": epoch}
        status, body = self.ask("POST", self.path(), [beat], self.token)
        self.assertEqual((status, body["code"]), (503, "store-unavailable"))
        self.assertEqual(self.opened[0].ack, b"null")
        self.done(self.database.start())
        self.assertEqual(self.run_(lambda connection: leases.read(connection, SITE)).beat, 0)

    def test_frames_that_are_none_change_nothing(self) -> None:
        self.hello()
        for body, code in (
            (b"{", "malformed-json"),
            ({}, "invalid-message"),
            ([{"type": "song"}], "invalid-message"),
            ([{"type": "release", "epoch": 1, "more": 1}], "invalid-message"),
            ([{"type": "heartbeat", "beat": 1}] * 257, "too-large"),
        ):
            self.assertEqual(self.code("POST", self.path(), body, self.token), code)

    def test_nothing_long_is_read_of_somebody_who_is_nobody(self) -> None:
        """Whoever has no token keeps the gateway from nothing: what they say is not looked at."""
        self.hello()
        long = b"[" + b"{}," * UNKNOWN
        for token in (None, "x"):
            self.assertEqual(self.code("POST", self.path(), long, token), "unknown-session")
        self.assertEqual(self.code("POST", self.path(), b"[", None), "unknown-session")
        self.assertEqual(self.code("POST", self.path(), long, self.token), "malformed-json")
        for path, most in (("/v1/sessions", HELLO), (self.path("secrets"), UNKNOWN)):
            self.assertEqual(self.code("POST", path, b"x" * (most + 1), self.token), "too-large")

    def test_a_secret_is_opened_for_whom_it_is_released_to(self) -> None:
        self.hello()
        for name, value in (("bmc-1", b"hush"), ("binary", b"\xff")):
            sealed = self.terms.vault.seal_secret(name, value, os.urandom(12))
            self.run_(partial(secrets.put, name=name, sealed=sealed, now=NOW))
        self.command(secret_refs=("bmc-1", "binary", "gone"))
        self.run_(lambda connection: commands.delivered(connection, ["c1"], NOW))
        asked = {"ref": "bmc-1", "workflow": "w1", "step": "st1", "command_id": "c1", "epoch": 0}
        path = self.path("secrets")
        with capturedLogs() as events:
            self.assertEqual(self.ask("POST", path, asked, self.token), (200, {"value": "hush"}))
        self.assertNotIn("hush", str(events))
        for ref, code in (
            ("binary", "secret-unreadable"),
            ("gone", "not-found"),
            ("other", "secret-refused"),
        ):
            self.assertEqual(self.code("POST", path, {**asked, "ref": ref}, self.token), code)
        self.assertEqual(self.code("POST", path, asked, "x"), "unknown-session")

    def test_healthz(self) -> None:
        self.assertEqual(self.ask("GET", "/v1/healthz"), (200, {"status": "ok"}))
        self.well = False
        status, body = self.ask("GET", "/v1/healthz")
        self.assertEqual((status, body["code"]), (503, "store-unavailable"))

    def test_paths_of_nobody(self) -> None:
        self.assertEqual(self.code("GET", "/v2/keys"), "unknown-path")
        self.assertEqual(self.code("DELETE", "/v1/keys"), "wrong-method")


class RefusedTests(AgentsCase):
    def test_a_refusal_says_what_to_do(self) -> None:
        _, body = self.ask("POST", "/v1/sessions", {"hello": "x"})
        self.assertEqual(body["advice"], Rejected("unknown-node").refusal.advice)
