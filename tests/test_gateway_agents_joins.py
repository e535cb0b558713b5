"""Tests for ``rescriptum.gateway.agents.joins``."""

from functools import partial

from rescriptum.contract.joining import Attestor, JoinRequest, Role, TrustBundle
from rescriptum.contract.jose import digest, seal, sign
from rescriptum.contract.keys import Key, generate, public_jwk
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.gateway.agents.joins import Admitted, admit
from rescriptum.gateway.joining import applicant
from rescriptum.gateway.records import Machine
from rescriptum.gateway.stores import leases, machines, nodes, sites, tokens
from rescriptum.gateway.trust import set_trust
from tests.gatewaycases import NOW, SITE, GatewayCase

MAC = "52:54:00:aa:bb:cc"


class JoinCase(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.encryption = generate("X25519")
        self.key = generate("Ed25519")

    def token(self, text: str = "t1", role: Role = Role.SITE, machine: str | None = None) -> None:
        now = int(self.now())
        self.run_(
            partial(
                tokens.create,
                site=SITE,
                role=role,
                now=now,
                new_token=lambda: text,
                machine=machine,
            )
        )

    def request(
        self,
        token: str = "t1",
        role: Role = Role.SITE,
        attestation: str | None = None,
        key: Key | None = None,
    ) -> JoinRequest:
        key, now = key or self.key, int(self.now())
        jkt = key.thumbprint()
        claims = {"site": SITE, "role": role.value, "jkt": jkt, "nonce": "n", "issued_at": now}
        sealed = seal({"token": token, **claims}, self.encryption)
        joining = {"jkt": jkt, "nonce": "n", "token_digest": digest(sealed.encode())}
        return JoinRequest(
            role,
            SITE,
            Attestor.TOKEN if attestation is None else Attestor.DISCOVERY,
            sealed,
            sign("joining", {**joining, "issued_at": now}, key),
            JSON(public_jwk(key)),
            "b",
            attestation,
            {"macs": [MAC]},
        )

    def admit(self, request: JoinRequest, name: str = "n9") -> Admitted:
        now = int(self.now())
        who = applicant(request, self.encryption, now)
        return self.run_(partial(admit, who=who, node_id=name, now=now))

    def refused(self, code: str, request: JoinRequest, name: str = "n9") -> None:
        with self.assertRaises(Rejected) as caught:
            self.admit(request, name)
        self.assertEqual(caught.exception.code, code)
        self.assertIsNone(self.run_(partial(nodes.find, node=name)))


class TokenTests(JoinCase):
    def test_a_token_makes_a_node(self) -> None:
        bundle = TrustBundle((JSON(public_jwk(generate("Ed25519"))),))
        self.run_(partial(set_trust, bundle=bundle))
        self.token()
        admitted = self.admit(self.request())
        node = self.run_(partial(nodes.get, node="n9"))
        self.assertEqual((node.site, node.role, node.jkt), (SITE, Role.SITE, self.key.thumbprint()))
        self.assertEqual((node.inventory, node.boot_id), ({"macs": [MAC]}, "b"))
        self.assertEqual((admitted.node, admitted.trust), (node, bundle))
        [event] = self.events()
        self.assertEqual((event.kind, event.subject, event.site), ("node.joined", "n9", SITE))

    def test_each_step_refuses_and_nothing_is_made(self) -> None:
        self.token()
        self.token("t2", Role.RAMDISK)
        self.refused("unknown-token", self.request("t3"))
        self.refused("wrong-role", self.request("t2"))
        self.clock.advance(tokens.LIFETIME)
        self.refused("token-expired", self.request())
        self.assertEqual(self.events(), [])

    def test_a_token_is_used_once(self) -> None:
        self.token()
        self.admit(self.request())
        self.refused("token-used", self.request(key=generate("Ed25519")), "n10")

    def test_an_answer_that_was_lost_is_given_again(self) -> None:
        """To who has the same key and the same token, and to nobody else."""
        self.token()
        before = self.admit(self.request())
        self.assertEqual(self.admit(self.request(), "n10"), before)
        self.assertEqual(len(self.events()), 1)
        self.token("t2")
        self.refused("conflict", self.request("t2"), "n10")
        self.run_(partial(nodes.remove, node="n9", now=NOW))
        self.refused("token-used", self.request(), "n10")


class DiscoveryTests(JoinCase):
    def setUp(self) -> None:
        super().setUp()
        self.node()
        self.session()
        self.run_(partial(machines.create, machine=Machine("m1", SITE, (MAC,)), now=NOW))
        self.token("t1", Role.RAMDISK, "m1")
        self.grant()

    def discovered(self, agent: str = "n1", **changes: object) -> JoinRequest:
        said = {
            "mac": MAC,
            "ip": "",
            "uuid": "",
            "site": SITE,
            "token_digest": digest(b"t1"),
            "epoch": 1,
            "issued_at": NOW,
            "not_after": NOW + 900,
            "purpose": "discovery-assertion",
        }
        text = sign("discovery", {**said, **changes}, self.keys[agent])
        return self.request(role=Role.RAMDISK, attestation=text)

    def test_a_machine_that_a_site_agent_saw(self) -> None:
        admitted = self.admit(self.discovered())
        self.assertEqual(admitted.node.machine, "m1")

    def test_the_epoch_may_be_over(self) -> None:
        """A boot takes minutes, and may outlive a hand-over."""
        self.node("n2")
        self.session("s2", "n2")
        self.run_(partial(leases.release, site=SITE, epoch=1, node="n1"))
        self.grant("s2", "n2")
        self.refused("stale-epoch", self.discovered(epoch=2))
        self.refused("stale-epoch", self.discovered("n2", epoch=1))
        self.admit(self.discovered(epoch=1))

    def test_each_step_refuses(self) -> None:
        self.refused("bad-assertion", self.request(role=Role.RAMDISK))
        self.refused("stale-epoch", self.discovered(epoch=9))
        self.refused("stale-epoch", self.discovered(epoch=0))
        self.refused("bad-assertion", self.discovered(mac="52:54:00:aa:bb:cd"))
        self.node("n3", Role.RAMDISK)
        self.refused("unknown-key", self.discovered("n3"))
        self.run_(partial(sites.create, name="office", now=NOW))
        self.node("n4", site="office")
        self.refused("unknown-key", self.discovered("n4"))
        self.run_(partial(nodes.remove, node="n1", now=NOW))
        self.refused("unknown-key", self.discovered())

    def test_a_machine_that_is_another_one(self) -> None:
        other = Machine("m2", SITE, ("52:54:00:00:00:02",))
        self.run_(partial(machines.create, machine=other, now=NOW))
        self.token("t2", Role.RAMDISK, "m2")
        said = self.discovered(token_digest=digest(b"t2"))
        assert said.attestation is not None
        asked = self.request("t2", Role.RAMDISK, said.attestation)
        self.refused("bad-assertion", asked)

    def test_an_operators_token_needs_no_assertion(self) -> None:
        self.token("t3", Role.RAMDISK)
        said = self.discovered(token_digest=digest(b"t3"))
        assert said.attestation is not None
        self.refused("bad-assertion", self.request("t3", Role.RAMDISK, said.attestation))
        self.admit(self.request("t3", Role.RAMDISK))
