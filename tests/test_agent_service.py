"""Tests for ``rescriptum.agent.service``: what an agent does before, beside and after sessions."""

import os
from pathlib import Path
from typing import cast

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.character import Character
from rescriptum.agent.client import GatewayClient
from rescriptum.agent.config import AgentConfig
from rescriptum.agent.desired import SiteSection
from rescriptum.agent.service import AgentService, boot_id
from rescriptum.agent.settings import url
from rescriptum.agent.store import DataDirectory, Identity
from rescriptum.contract.frames import Ack, Desired, Ping, Received, Release
from rescriptum.contract.joining import (
    JoinAnswer,
    Joined,
    JoinRequest,
    Keys,
    Role,
    TrustBundle,
)
from rescriptum.contract.jose import digest, opened, sign
from rescriptum.contract.keys import generate, public_jwk, public_key, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.sessions import Hello, SecretRequest, Welcome
from rescriptum.contract.specs import LeaseSection, NodeSpec, SiteSpec
from rescriptum.contract.structure import JSON, plain, structured
from rescriptum.errors import ConfigError, RescriptumError, Unavailable
from rescriptum.net.clocks import boottime
from tests.agent_kinds import Echo
from tests.test_agent_link import FakeDoor
from tests.webclient import InlineWorkers

NOW = 1_700_000_000
SIGNING, ENCRYPTION, NODE = generate("Ed25519"), generate("X25519"), generate("Ed25519")
IDENTITY = Identity("n1", "lyon", Role.SITE, NODE)


class FakeGateway(FakeDoor):
    """
    :ivar refusals: of the next joins; then they are answered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[RescriptumError] = []
        self.joins: list[JoinRequest] = []
        self.said: list[str] = []
        self.closed = False

    async def keys(self) -> Keys:
        return Keys(JSON(public_jwk(SIGNING)), JSON(public_jwk(ENCRYPTION)))

    async def join(self, request: JoinRequest) -> Joined:
        self.joins.append(request)
        if self.refusals:
            raise self.refusals.pop(0)
        key = public_key(request.node_key, "Ed25519")
        said = opened("joining", request.joining, trusted(key)).claims
        answer = JoinAnswer(
            "n1", request.site, str(said["jkt"]), str(said["nonce"]), TrustBundle(), 0, NOW
        )
        return Joined(sign("join", plain(answer), SIGNING))

    async def hello(self, signed: str) -> Welcome:
        self.said.append(signed)
        return await super().hello(signed)

    async def close(self) -> None:
        self.closed = True


class ServiceCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock, self.gateway = Clock(), FakeGateway()
        self.wall_ahead = 0.0
        self.data = Path(self.mktemp())
        self.failures: list[str] = []

    def service(self, token: str | None = "hush") -> AgentService:
        return AgentService(
            self.clock,
            AgentConfig(url("https://gw.example"), "gw.example", "lyon", self.data),
            Character(Role.SITE, [Echo()], lambda lease: [SiteSection(lease)], True, {"a": "b"}),
            cast(GatewayClient, self.gateway),
            InlineWorkers(),
            token,
            self.failures.append,
            self.clock.seconds,
            lambda: NOW + self.clock.seconds() + self.wall_ahead,
        )

    def start(self, service: AgentService) -> AgentService:
        service.privilegedStartService()
        service.startService()
        self.addCleanup(self.stop_if_it_runs, service)
        return service

    def stop_if_it_runs(self, service: AgentService) -> None:
        if service.running:
            self.stop(service)

    def identified(self) -> None:
        directory = DataDirectory(self.data)
        directory.open()
        directory.joined(IDENTITY, TrustBundle())
        directory.close()

    def refused(self, service: AgentService) -> str:
        """:returns: why it does not start."""
        with self.assertRaises(ConfigError) as caught:
            service.privilegedStartService()
        error: ConfigError = caught.exception
        return str(error)

    def stop(self, service: AgentService) -> None:
        stopping = service.stopService()
        self.clock.advance(0)
        self.successResultOf(stopping)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertTrue(self.gateway.closed)
        again = DataDirectory(self.data)
        again.open()
        again.close()


class StartTests(ServiceCase):
    def test_no_token(self) -> None:
        """It says how to get one; the directory is not held."""
        self.assertIn("--token-file FILE", self.refused(self.service(None)))
        self.start(self.service())

    def test_an_identity_for_something_else(self) -> None:
        """Of another site: it is not used."""
        directory = DataDirectory(self.data)
        directory.open()
        directory.joined(Identity("n1", "nice", Role.SITE, NODE), TrustBundle())
        directory.close()
        self.assertIn("site nice", self.refused(self.service()))

    def test_a_damaged_identity(self) -> None:
        """It is not begun anew: another agent would come of it."""
        self.identified()
        (self.data / "identity.json").write_text("{")
        self.assertIn("identity.json is damaged", self.refused(self.service()))
        self.assertEqual((self.data / "identity.json").read_text(), "{")

    def test_a_missing_trust(self) -> None:
        """It does not go on: whom would it obey?"""
        self.identified()
        os.unlink(self.data / "trust.json")
        self.start(self.service())
        [reason] = self.failures
        self.assertIn("trust.json is missing", reason)
        self.assertEqual(self.gateway.said, [])

    def test_the_clocks(self) -> None:
        """The fence's goes on, and a boot has a name."""
        before = boottime()
        self.assertGreaterEqual(boottime(), before)
        self.assertEqual(boot_id(), boot_id())
        self.assertGreater(len(boot_id()), 16)


class JoinTests(ServiceCase):
    def test_joined(self) -> None:
        """What it brings is kept, and Hello said by the new key."""
        service = self.start(self.service())
        self.assertEqual(len(self.gateway.joins), 1)
        directory = DataDirectory(self.data)
        identity = directory.identity()
        assert identity is not None
        self.assertEqual((identity.node_id, identity.site), ("n1", "lyon"))
        self.assertEqual(directory.trust(), TrustBundle())
        claims = opened("hello", self.gateway.said[0], trusted(identity.key)).claims
        hello = structured(Hello, claims)
        self.assertEqual(
            (hello.node_id, hello.audience, hello.kinds, hello.labels, hello.boots),
            ("n1", "gw.example", ("test.echo",), {"a": "b"}, True),
        )
        self.assertEqual(hello.issued_at, NOW)
        self.stop(service)
        self.start(self.service(None))
        self.assertEqual(len(self.gateway.joins), 1)

    def test_refused(self) -> None:
        """It cannot go on, and nothing is kept."""
        self.gateway.refusals = [Rejected("token-used")]
        service = self.start(self.service())
        told = "token-used: the join token has been used. Tokens are single use: make another one."
        self.assertEqual(self.failures, [told])
        self.assertFalse((self.data / "identity.json").exists())
        self.stop(service)

    def test_not_yet(self) -> None:
        """It tries again while nobody answers: with the same key, and each time another nonce."""
        self.gateway.refusals = [Unavailable("nobody there"), Unavailable("nobody there")]
        service = self.start(self.service())
        status = self.successResultOf(Deferred.fromCoroutine(service.status()))
        self.assertEqual(status["session"], {"state": "joining", "name": None, "trouble": ""})
        self.clock.pump([1, 1, 1])
        self.assertEqual(len(self.gateway.joins), 3)
        keys = {str(each.node_key) for each in self.gateway.joins}
        self.assertEqual(len(keys), 1)
        self.assertEqual(len({each.joining for each in self.gateway.joins}), 3)
        self.assertEqual(self.failures, [])
        self.stop(service)
        self.assertFalse((self.data / "joining.json").exists())

    def keys(self) -> list[str]:
        return [str(each.node_key["x"]) for each in self.gateway.joins]

    def test_an_answer_that_is_lost(self) -> None:
        """Whoever asks again is the same: the gateway gives the token to nobody else."""
        self.gateway.refusals = [Unavailable("the answer broke off")]
        self.stop(self.start(self.service()))
        path = self.data / "joining.json"
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertNotIn("hush", path.read_text())
        self.stop(self.start(self.service()))
        self.assertEqual(len(self.keys()), 2)
        self.assertEqual(len(set(self.keys())), 1)
        directory = DataDirectory(self.data)
        identity = directory.identity()
        assert identity is not None
        self.assertEqual(public_jwk(identity.key)["x"], self.keys()[0])
        self.assertFalse(path.exists())

    def test_another_token(self) -> None:
        """It makes another node: the gateway may have one of the first key."""
        self.gateway.refusals = [Unavailable("nobody there"), Rejected("token-used")]
        self.stop(self.start(self.service()))
        self.stop(self.start(self.service("another")))
        self.assertEqual(len(set(self.keys())), 2)

    def test_a_damaged_key(self) -> None:
        """It is worth nothing yet: another one is made."""
        self.data.mkdir(0o700)
        path = self.data / "joining.json"
        of = digest(b"hush")
        for each in ("{", '{"token_digest": "x"}', f'{{"token_digest": "{of}", "node_key": {{}}}}'):
            path.write_text(each)
            self.gateway.refusals = [Unavailable("nobody there")]
            self.stop(self.start(self.service()))
        self.assertEqual(len(set(self.keys())), 3)

    def test_a_full_disk(self) -> None:
        """Nobody is asked with a key that could be lost."""
        service = self.service()
        service.privilegedStartService()
        self.data.joinpath(".joining.json.new").mkdir()
        service.startService()
        self.addCleanup(self.stop_if_it_runs, service)
        self.assertEqual(len(self.failures), 1)
        self.assertEqual(self.gateway.joins, [])

    def test_a_removal_that_was_cut_off(self) -> None:
        self.identified()
        (self.data / "joining.json").write_text("{}")
        self.stop(self.start(self.service()))
        self.assertFalse((self.data / "joining.json").exists())

    def test_a_clock_that_is_ahead(self) -> None:
        """By minutes, which a join allows: the first commands are older than its journal."""
        self.wall_ahead = 200
        service = self.start(self.service())
        self.stop(service)
        directory = DataDirectory(self.data)
        directory.open()
        journal = directory.journal(NOW + 200)
        self.assertLessEqual(journal.made_at, NOW)
        journal.close()
        directory.close()

    def test_stopped_while_it_joins(self) -> None:
        """Nothing is left of it."""
        self.gateway.refusals = [Unavailable("nobody there")]
        self.stop(self.start(self.service()))
        self.assertEqual(len(self.gateway.joins), 1)


class LeaseTests(ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.identified()
        self.agent = self.start(self.service())
        self.gateway.hellos[-1].callback(Welcome("s1", "t1", 5000, 15000, NOW))

    def say(self, frame: Ping | Desired, ack: Ack | None = None) -> None:
        self.gateway.streams[-1].received(Received(1, frame, ack))

    def activate(self) -> None:
        section = LeaseSection(True, 1, 15000)
        self.say(Desired(NodeSpec(1, SiteSpec(section))))
        self.prove()

    def prove(self) -> None:
        self.say(Ping(), Ack(self.agent.lease.beat - 1, 1))

    def site_status(self) -> JSON:
        status = self.successResultOf(Deferred.fromCoroutine(self.agent.status()))
        sections = status["sections"]
        assert isinstance(sections, list)
        [section] = sections
        lease = section["detail"]["lease"]
        assert isinstance(lease, dict)
        return lease

    def test_active(self) -> None:
        """The site's section says so within a second, and when it closes by itself."""
        self.activate()
        self.assertTrue(self.agent.fence.is_open())
        self.clock.advance(1)
        self.assertTrue(self.site_status()["active"])
        self.clock.pump([1] * 15)
        self.assertFalse(self.agent.fence.is_open())
        self.assertFalse(self.site_status()["active"])
        self.stop(self.agent)

    def test_standing_still(self) -> None:
        """After a pause no proof of before counts: a heartbeat at once, and then it is open."""
        self.activate()
        self.clock.pump([1, 1])
        beats = self.agent.lease.beat
        self.clock.rightNow += 3
        self.clock.advance(1)
        self.assertFalse(self.agent.fence.is_open())
        self.assertGreater(self.agent.lease.beat, beats)
        self.prove()
        self.assertTrue(self.agent.fence.is_open())

    def test_a_wall_clock_that_jumps(self) -> None:
        """It may be the other clock that stood still."""
        self.activate()
        self.clock.pump([1, 1])
        self.wall_ahead = 5
        self.clock.advance(1)
        self.assertFalse(self.agent.fence.is_open())

    def test_stopped(self) -> None:
        """The lease is released, the directory free, and nothing left behind."""
        self.activate()
        stopping = self.agent.stopService()
        self.assertFalse(self.agent.fence.is_open())
        self.assertNoResult(stopping)
        self.clock.advance(0)
        self.successResultOf(stopping)
        self.assertIn(Release(1), [f for _, frames, _ in self.gateway.posts for f in frames])
        self.assertEqual(self.clock.getDelayedCalls(), [])


class BootsTests(ServiceCase):
    def test_whether_it_serves_machines(self) -> None:
        """With another answer to that a new session begins, and the lease is given up first."""
        self.identified()
        service = self.start(self.service())
        self.gateway.hellos[-1].callback(Welcome("s1", "t1", 5000, 15000, NOW))
        service.lease.section(True, 3, None)
        number, _ = service.lease.heartbeat(self.clock.seconds())
        service.lease.acknowledged(number, 3)
        self.assertTrue(service.fence.is_open())
        before = len(self.gateway.said)
        service.boots = False
        self.clock.advance(1)
        self.assertFalse(service.fence.is_open())
        [text] = self.gateway.said[before:]
        said = structured(Hello, opened("hello", text, trusted(NODE)).claims)
        self.assertFalse(said.boots)
        self.gateway.hellos[-1].callback(Welcome("s2", "t2", 5000, 15000, NOW))
        self.clock.pump([0.1] * 30)
        self.assertEqual(len(self.gateway.said), before + 1)
        self.assertIn(Release(3), [f for _, frames, _ in self.gateway.posts for f in frames])

    async def _secret(self, service: AgentService) -> str:
        return (await service.kept_secret(SecretRequest("r", "w", "s", "c", 3))).reveal()

    def test_before_a_session(self) -> None:
        """There are no secrets, and nobody to be told of machines."""
        service = self.start(self.service())
        fresh = self.service()
        self.failureResultOf(Deferred.fromCoroutine(self._secret(fresh)), Unavailable)
        fresh.found(())
        fresh.inventory({})
        self.assertIsNone(fresh.identity)
        self.assertEqual(fresh.now(), NOW)
        self.assertIsNotNone(service.identity)
