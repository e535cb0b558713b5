"""Tests for ``rescriptum.gateway.api``: sites, who may join them, and who has."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.joining import Role
from rescriptum.contract.jose import digest
from rescriptum.contract.reports import SectionStatus, State, StatusReport
from rescriptum.gateway.records import Scope
from rescriptum.gateway.stores import leases, nodes, tokens
from tests.gateway_stores import NOW, node, settle
from tests.operatorcases import TOKENS, OperatorCase


class SiteTests(OperatorCase, SynchronousTestCase):
    def test_making_one(self) -> None:
        made = self.call("site-create", body={"name": "ber", "labels": {"rack": "4"}})
        self.assertEqual(made["lease"]["state"], "free")
        self.assertEqual(made["created_at"], "2023-11-14T22:13:20Z")
        self.assertEqual((made["nodes"], made["live"], made["ttl_ms"]), (0, 0, 15_000))
        self.assertEqual(self.call("site-show", "ber"), made)
        self.assertEqual(self.call("site-list")["sites"], [made])

    def test_every_change_is_told_with_who_made_it(self) -> None:
        self.call("site-create", body={"name": "ber"}, token=TOKENS[Scope.OPERATE])
        self.call("site-change", "ber", body={"ttl_ms": 20_000})
        self.call("site-remove", "ber")
        told = [(each.kind, each.site, each.data["operator"]) for each in self.happened()]
        self.assertEqual(
            told,
            [
                ("site.created", "ber", "operate"),
                ("site.changed", "ber", "admin"),
                ("site.removed", "ber", "admin"),
            ],
        )
        self.refusal("site-show", "ber", code="not-found")

    def test_what_is_no_site(self) -> None:
        self.call("site-create", body={"name": "ber"})
        self.refusal("site-create", body={"name": "ber"}, code="conflict")
        for bad in {}, {"name": ""}, {"name": ".."}, {"name": "a/b"}, {"name": "b", "more": 1}:
            self.refusal("site-create", body=bad, code="invalid-message")
        self.refusal("site-create", body={"name": "b", "ttl_ms": 2999}, code="invalid-message")
        self.refusal("site-create", body=b"{", code="malformed-json")
        self.assertEqual(len(self.call("site-list")["sites"]), 1)

    def test_a_site_with_nodes_stays(self) -> None:
        self.do(lambda connection: settle(connection, "ber", "n1"))
        self.assertIn("1 nodes", self.refusal("site-remove", "ber", code="in-use"))

    def test_pages(self) -> None:
        for name in "a", "b", "c":
            self.call("site-create", body={"name": name})
        first = self.call("site-list", query="?limit=2")
        self.assertEqual([each["name"] for each in first["sites"]], ["a", "b"])
        last = self.call("site-list", query=f"?limit=2&cursor={first['next']}")
        self.assertEqual([each["name"] for each in last["sites"]], ["c"])
        self.assertNotIn("next", last)
        for bad in "0", "501", "-1", "1_0", "x", "9" * 30:
            self.refusal("site-list", query=f"?limit={bad}", code="invalid-message")
        self.assertEqual(len(self.call("site-list", query="?limit=500")["sites"]), 3)
        self.assertIn(
            "'sight'", self.refusal("site-list", query="?sight=a", code="invalid-message")
        )


class LeaseTests(OperatorCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber", "n1", "n2"))

    def grant(self, beats: int) -> None:
        session = "session-of-n1"
        self.do(lambda c: leases.grant(c, "ber", 0, session, "n1", 15_000, NOW))
        for _ in range(beats):
            self.do(lambda c: leases.record(c, "ber", 1, session))

    def test_states(self) -> None:
        self.assertEqual(self.call("lease-show", "ber")["state"], "free")
        self.grant(0)
        self.assertEqual(self.call("lease-show", "ber")["state"], "granted")
        self.do(lambda c: leases.record(c, "ber", 1, "session-of-n1"))
        told = self.call("lease-show", "ber")
        self.assertEqual((told["state"], told["node"], told["epoch"]), ("held", "n1", 1))
        [grant] = told["history"]
        self.assertEqual((grant["node"], grant["epoch"]), ("n1", 1))
        self.assertEqual(self.call("site-show", "ber")["lease"]["node"], "n1")

    def test_moving_it(self) -> None:
        self.assertEqual(self.call("lease-move", "ber", body={"node": "n2"})["wanted_node"], "n2")
        self.assertNotIn("wanted_node", self.call("lease-move", "ber", body={}))
        self.refusal("lease-move", "ber", body={"node": "n9"}, code="not-found")
        self.refusal("lease-move", "muc", body={"node": "n1"}, code="not-found")
        self.do(lambda c: settle(c, "muc", "m1"))
        self.refusal("lease-move", "ber", body={"node": "m1"}, code="unknown-node")
        self.do(lambda c: nodes.add(c, node("r1", "ber", Role.RAMDISK)))
        self.refusal("lease-move", "ber", body={"node": "r1"}, code="wrong-role")

    def test_quarantine(self) -> None:
        self.grant(1)
        told = self.call("lease-quarantine", "ber")
        self.assertEqual((told["state"], told["epoch"]), ("quarantined", 1001))
        self.assertNotIn("node", told)
        self.assertEqual(self.happened()[-1].kind, "lease.quarantined")
        self.refusal("lease-quarantine", "muc", code="not-found")


class TokenTests(OperatorCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber"))

    def test_it_is_shown_once(self) -> None:
        made = self.call("token-create", body={"site": "ber", "lifetime_s": 60})
        self.assertEqual(made["digest"], digest(made["token"].encode()))
        self.assertEqual(made["expires_at"], "2023-11-14T22:14:20Z")
        [kept] = self.call("token-list", query="?site=ber")["tokens"]
        self.assertEqual(kept["digest"], made["digest"])
        self.assertNotIn("token", kept)
        self.assertNotIn(made["token"], repr(self.happened()))
        self.do(lambda c: tokens.use(c, made["digest"], "ber", Role.SITE, "n1", NOW + 1))
        self.assertEqual(self.call("token-list")["tokens"][0]["node"], "n1")

    def test_bounds(self) -> None:
        self.refusal("token-create", body={"site": "muc"}, code="not-found")
        for bad in {"lifetime_s": 59}, {"lifetime_s": 30 * 86_400 + 1}, {"role": "boss"}:
            self.refusal("token-create", body={"site": "ber", **bad}, code="invalid-message")

    def test_taking_one_back(self) -> None:
        made = self.call("token-create", body={"site": "ber", "role": "ramdisk"})
        self.call("token-remove", made["digest"])
        self.refusal("token-remove", made["digest"], code="unknown-token")
        self.assertEqual(self.call("token-list")["tokens"], [])


class NodeTests(OperatorCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber", "n1"))
        self.do(lambda connection: nodes.add(connection, node("n2")))

    def test_listing(self) -> None:
        one, other = self.call("node-list", query="?site=ber&role=site")["nodes"]
        self.assertEqual(one["session"]["id"], "session-of-n1")
        self.assertNotIn("session", other)
        self.assertEqual(self.call("node-list", query="?site=muc")["nodes"], [])
        self.assertEqual(self.call("node-list", query="?role=ramdisk")["nodes"], [])
        self.refusal("node-list", query="?role=boss", code="invalid-message")
        self.assertEqual(self.call("site-show", "ber")["live"], 1)

    def test_status_and_inventory(self) -> None:
        section = SectionStatus("site", State.READY, "", {"lease": {"epoch": None}})
        report = StatusReport((section,), {"cpus": 4, "serial": None})
        self.do(lambda connection: nodes.report(connection, "n1", report, NOW + 5))
        shown = self.call("node-show", "n1")
        self.assertEqual(shown["sections"][0]["detail"], {"lease": {"epoch": None}})
        self.assertEqual(shown["inventory"], {"cpus": 4, "serial": None})
        self.assertEqual(shown["reported_at"], "2023-11-14T22:13:25Z")
        self.assertNotIn("inventory", self.call("node-list")["nodes"][0])

    def test_removing_one(self) -> None:
        self.call("node-remove", "n1")
        self.refusal("node-show", "n1", code="not-found")
        self.refusal("node-remove", "n1", code="not-found")
        self.assertEqual([each["id"] for each in self.call("node-list")["nodes"]], ["n2"])
        self.assertEqual(self.happened()[-1].subject, "n1")
