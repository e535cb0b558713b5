"""Tests for ``rescriptum.gateway.api``: machines, discovered ones, and images."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.reports import Discovered
from rescriptum.gateway.stores import discovered
from tests.gateway_stores import NOW, settle
from tests.operatorcases import OperatorCase

MAC, OTHER = "bc:24:11:a1:b2:07", "bc:24:11:a1:b2:08"
PIN = "sha256/" + "A" * 43 + "="
SHA = "0123456789abcdef" * 4


class MachineCase(OperatorCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber"))

    def add(self, name: str = "pve-07", **more: Any) -> Any:
        return self.call("machine-add", body={"name": name, "site": "ber", **more})


class MachineTests(MachineCase, SynchronousTestCase):
    def test_adding_one(self) -> None:
        """MACs in any spelling; what it does not have is left out."""
        made = self.add(macs=["BC-24-11-A1-B2-07"], bmc_address="10.0.0.7", bmc_pin=PIN)
        self.assertEqual(made["macs"], [MAC])
        self.assertEqual((made["revision"], made["bmc_pin"]), (1, PIN))
        self.assertNotIn("bmc_driver", made)
        self.assertEqual(self.call("machine-list", query="?site=ber")["machines"], [made])
        self.assertEqual(self.call("machine-list", query="?site=muc")["machines"], [])

    def test_what_is_none(self) -> None:
        self.refusal("machine-add", body={"name": "a", "site": "muc"}, code="not-found")
        for bad in {"macs": ["x"]}, {"bmc_pin": "sha256/x"}, {"macs": "x"}, {"password": "x"}:
            body = {"name": "a", "site": "ber", **bad}
            self.refusal("machine-add", body=body, code="invalid-message")
        self.add(macs=[MAC])
        self.refusal("machine-add", body={"name": "pve-07", "site": "ber"}, code="conflict")
        body = {"name": "b", "site": "ber", "macs": [MAC]}
        self.assertIn("pve-07", self.refusal("machine-add", body=body, code="conflict"))

    def test_changing_one(self) -> None:
        """What is left out stays."""
        self.add(macs=[MAC], bmc_address="10.0.0.7")
        after = self.call("machine-set", "pve-07", body={"bmc_username": "root"})
        self.assertEqual((after["revision"], after["bmc_username"]), (2, "root"))
        self.assertEqual((after["macs"], after["bmc_address"]), ([MAC], "10.0.0.7"))
        self.assertNotIn(
            "bmc_address", self.call("machine-set", "pve-07", body={"bmc_address": ""})
        )
        self.assertEqual(self.happened()[-1].data["fields"], ["bmc_address"])
        self.refusal("machine-set", "pve-07", body={"site": "muc"}, code="not-found")
        self.refusal("machine-set", "pve-09", body={}, code="not-found")

    def test_two_at_once(self) -> None:
        """The revision is the ETag; whoever has seen an older one changes nothing."""
        self.add()
        told = self.asked("GET", "machines/pve-07")
        self.assertEqual(told.header("ETag"), '"1"')
        match = (("if-match", '"1"'),)
        self.call("machine-set", "pve-07", body={"uuid": "a"}, headers=match)
        self.refusal(
            "machine-set", "pve-07", body={"uuid": "b"}, headers=match, code="changed-meanwhile"
        )
        self.assertEqual(self.call("machine-show", "pve-07")["uuid"], "a")
        self.call("machine-set", "pve-07", body={"uuid": "c"}, headers=(("if-match", "*"),))

    def test_forgetting_one(self) -> None:
        self.add()
        self.call("workflow-start", body={"kind": "wipe", "machine": "pve-07"})
        self.refusal("machine-remove", "pve-07", code="in-use")
        self.call("workflow-cancel", "wf-wipe")
        self.call("machine-remove", "pve-07")
        self.refusal("machine-remove", "pve-07", code="not-found")
        self.assertEqual(self.happened()[-1].kind, "machine.removed")


class DiscoveryTests(MachineCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        seen = [Discovered(MAC, "uuid-7", "x86_64", "10.4.0.7", 5000), Discovered(OTHER)]
        self.do(lambda connection: discovered.report(connection, "ber", seen, NOW))

    def test_listing(self) -> None:
        one, other = self.call("discovered-list", "ber")["discovered"]
        self.assertEqual((one["mac"], one["uuid"], one["ip"]), (MAC, "uuid-7", "10.4.0.7"))
        self.assertEqual(one["seen_at"], "2023-11-14T22:13:15Z")
        self.assertNotIn("uuid", other)
        page = self.call("discovered-list", "ber", query="?limit=1")
        rest = self.call("discovered-list", "ber", query=f"?limit=1&cursor={page['next']}")
        self.assertEqual(rest["discovered"], [other])
        self.refusal("discovered-list", "muc", code="not-found")

    def test_adopting_one(self) -> None:
        body = {"name": "pve-07", "macs": ["bc:24:11:a1:b2:09"], "bmc_address": "10.0.0.7"}
        made = self.call("adopt", "ber", "bc241111a1b207"[:2] + "-24-11-a1-b2-07", body=body)
        self.assertEqual(made["macs"], [MAC, "bc:24:11:a1:b2:09"])
        self.assertEqual((made["uuid"], made["site"]), ("uuid-7", "ber"))
        left = self.call("discovered-list", "ber")["discovered"]
        self.assertEqual([each["mac"] for each in left], [OTHER])
        self.refusal("adopt", "ber", MAC, body={"name": "other"}, code="not-found")
        self.refusal("adopt", "ber", "x", body={"name": "other"}, code="invalid-message")
        self.refusal("adopt", "ber", OTHER, body={"name": "pve-07"}, code="conflict")

    def test_one_that_is_silent_for_a_day(self) -> None:
        self.clock.advance(discovered.KEPT)
        self.refusal("adopt", "ber", MAC, body={"name": "pve-07"}, code="not-found")
        self.call("adopt", "ber", OTHER, body={"name": "pve-07"})


class ImageTests(MachineCase, SynchronousTestCase):
    def add(self, name: str = "alma", **more: Any) -> Any:
        body = {"name": name, "sha256": SHA, "url": "https://images.example/alma.raw", **more}
        return self.call("image-add", body=body)

    def test_adding_one(self) -> None:
        made = self.add(sites=["ber"], format="zstd")
        self.assertEqual((made["sites"], made["format"]), (["ber"], "zstd"))
        self.assertEqual(self.call("image-list")["images"], [made])
        self.assertEqual(self.call("image-show", "alma"), made)

    def test_what_is_none(self) -> None:
        body = {"name": "alma", "sha256": "x", "url": "https://images.example/"}
        self.refusal("image-add", body=body, code="invalid-message")
        body["sha256"] = SHA
        self.refusal("image-add", body={**body, "sites": ["muc"]}, code="not-found")
        self.add()
        self.refusal("image-add", body=body, code="conflict")

    def test_which_sites_have_it(self) -> None:
        self.add()
        self.assertEqual(self.call("image-assign", "alma", "ber")["sites"], ["ber"])
        self.assertEqual(self.call("image-assign", "alma", "ber")["sites"], ["ber"])
        self.refusal("image-assign", "alma", "muc", code="not-found")
        self.refusal("image-assign", "suse", "ber", code="not-found")
        self.refusal("image-remove", "alma", code="in-use")
        self.assertEqual(self.call("image-unassign", "alma", "ber")["sites"], [])
        self.call("image-remove", "alma")
        self.refusal("image-show", "alma", code="not-found")
