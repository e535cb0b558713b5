"""Tests for ``rescriptum.gateway.api``: operators, secrets, trust, and what has happened."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.jose import digest
from rescriptum.contract.keys import generate, public_jwk
from rescriptum.gateway.records import Scope
from rescriptum.gateway.stores import operators, secrets
from tests.operatorcases import PINS, TOKENS, OperatorCase


class PeopleTests(OperatorCase, SynchronousTestCase):
    def test_a_token_is_shown_once(self) -> None:
        made = self.call("operator-create", body={"name": "ann", "scope": "operate"})
        self.assertTrue(made["token"].startswith("rsop_"))
        self.assertEqual(self.call("operator-me", token=made["token"])["name"], "ann")
        kept = self.do(lambda connection: operators.get(connection, "ann"))
        self.assertEqual(kept.token_digest, digest(made["token"].encode()))
        self.assertNotIn(made["token"], repr(self.call("operator-list")) + repr(self.happened()))
        self.assertEqual(self.happened()[-1].data, {"operator": "admin", "scope": "operate"})

    def test_the_first_ones_scope_is_to_read(self) -> None:
        self.assertEqual(self.call("operator-create", body={"name": "ann"})["scope"], "read")

    def test_names(self) -> None:
        self.refusal("operator-create", body={"name": "admin"}, code="conflict")
        self.refusal("operator-create", body={"name": "a b"}, code="invalid-message")
        listed = self.call("operator-list", query="?limit=2")
        self.assertEqual([each["name"] for each in listed["operators"]], ["admin", "operate"])
        last = self.call("operator-list", query=f"?cursor={listed['next']}")
        self.assertEqual([each["name"] for each in last["operators"]], ["read"])

    def test_taking_one_away(self) -> None:
        self.call("operator-remove", "read")
        self.assertEqual(self.asked("GET", "me", token=TOKENS[Scope.READ]).status, 401)
        self.refusal("operator-remove", "read", code="not-found")
        self.refusal("operator-remove", "admin", code="in-use")


class SecretTests(OperatorCase, SynchronousTestCase):
    def test_it_is_sealed_and_never_shown(self) -> None:
        self.call("secret-set", "bmc", body={"value": "hunter2"})
        sealed = self.do(lambda connection: secrets.get(connection, "bmc"))
        self.assertEqual(sealed, b"sealed bmc 2retnuh")
        [listed] = self.call("secret-list")["secrets"]
        self.assertEqual(set(listed), {"name", "created_at", "changed_at"})
        self.assertNotIn("hunter2", repr(self.happened()))

    def test_setting_it_again(self) -> None:
        self.call("secret-set", "bmc", body={"value": "one"})
        self.clock.advance(60)
        self.call("secret-set", "bmc", body={"value": "two"})
        [listed] = self.call("secret-list")["secrets"]
        self.assertEqual(listed["created_at"], "2023-11-14T22:13:20Z")
        self.assertEqual(listed["changed_at"], "2023-11-14T22:14:20Z")

    def test_what_is_wrong_is_told_without_the_value(self) -> None:
        for value in "", 5, "hunter2" * 65536, None:
            detail = self.refusal(
                "secret-set", "bmc", body={"value": value}, code="invalid-message"
            )
            self.assertNotIn("hunter2", detail)
        self.refusal("secret-set", "b%20c", body={"value": "x"}, code="invalid-message")

    def test_forgetting_one(self) -> None:
        self.call("secret-set", "bmc", body={"value": "x"})
        self.call("site-create", body={"name": "ber"})
        body = {"name": "m", "site": "ber", "credential_ref": "bmc"}
        self.call("machine-add", body=body)
        self.refusal("secret-remove", "bmc", code="in-use")
        self.call("machine-remove", "m")
        self.call("secret-remove", "bmc")
        self.refusal("secret-remove", "bmc", code="not-found")


class TrustTests(OperatorCase, SynchronousTestCase):
    def test_nobody_at_first(self) -> None:
        self.assertEqual(
            self.call("trust-show"), {"command_roots": [], "approvers": [], "quorum": 1}
        )

    def test_setting_it(self) -> None:
        root, approver = (dict(public_jwk(generate("Ed25519"))) for _ in range(2))
        bundle = {"command_roots": [root], "approvers": [approver], "quorum": 1}
        self.assertEqual(self.call("trust-set", body=bundle), bundle)
        self.assertEqual(self.call("trust-show"), bundle)
        self.assertEqual(self.happened()[-1].data["approvers"], 1)

    def test_what_is_none(self) -> None:
        approver = dict(public_jwk(generate("Ed25519")))
        self.refusal("trust-set", body={"approvers": [{}]}, code="invalid-key")
        private = {**approver, "d": "x"}
        self.refusal("trust-set", body={"command_roots": [private]}, code="invalid-key")
        bundle = {"approvers": [approver], "quorum": 2}
        self.refusal("trust-set", body=bundle, code="invalid-message")

    def test_pins(self) -> None:
        self.assertEqual(self.call("pins")["server_name"], PINS.server_name)


class LogTests(OperatorCase, SynchronousTestCase):
    def test_what_has_happened(self) -> None:
        for name in "ber", "muc", "ham":
            self.call("site-create", body={"name": name})
        everything = self.call("event-list")
        self.assertEqual([each["site"] for each in everything["events"]], ["ber", "muc", "ham"])
        first = self.call("event-list", query="?limit=2")
        rest = self.call("event-list", query=f"?cursor={first['next']}")
        self.assertEqual([each["subject"] for each in rest["events"]], ["ham"])
        again = self.call("event-list", query=f"?cursor={rest['next']}")
        self.assertEqual((again["events"], again["next"]), ([], rest["next"]))
        only = self.call("event-list", query="?site=muc")["events"]
        self.assertEqual([each["site"] for each in only], ["muc"])
        self.refusal("event-list", query="?cursor=x", code="invalid-message")
