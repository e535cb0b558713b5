"""Tests for ``rescriptum.bmc.redfish.accounts``: which password holds afterwards."""

import json
from base64 import b64encode

from rescriptum.bmc.driver import Credential
from rescriptum.bmc.redfish.accounts import account_in
from rescriptum.bmc.redfish.replies import Ask, Dropped, Message, Reply
from rescriptum.contract.bmc import BmcRefusal
from rescriptum.values import Secret

from .redfishcases import (
    BASE,
    CREDENTIAL,
    MANAGER,
    PASSWORD,
    SESSIONS,
    RedfishCase,
    collection,
    linked,
    reply,
    said,
)

ACCOUNTS = f"{BASE}/AccountService/Accounts"
OTHER, OWN = f"{ACCOUNTS}/1", f"{ACCOUNTS}/2"
NEW = "a brand new secret"
REPLACEMENT = Credential("admin", Secret(NEW))


class RotateTests(RedfishCase):
    def setUp(self) -> None:
        super().setUp()
        self.bmc.root["AccountService"] = linked(f"{BASE}/AccountService")
        self.bmc.documents[f"{BASE}/AccountService"] = {"Accounts": linked(ACCOUNTS)}
        self.bmc.documents[ACCOUNTS] = collection(OTHER, OWN)
        self.bmc.documents[OTHER] = {"UserName": "operator"}
        self.bmc.documents[OWN] = {"UserName": "admin"}
        self.bmc.doing[("PATCH", OWN)] = self.change
        self.tries: list[str] = []
        real = self.bmc.sessions

        def counting(ask: Ask) -> Reply:
            if ask.method == "POST":
                self.tries.append(json.loads(ask.body or b"")["Password"])
            return real(ask)

        self.bmc.sessions = counting

    def change(self, ask: Ask) -> Reply:
        self.bmc.password = self.bmc.body(ask)["Password"]
        return reply(200)

    def rotate(self) -> dict[str, object]:
        return self.run_operation("management.rotateCredential", replacement=REPLACEMENT)

    def no(self) -> BmcRefusal:
        error = self.refused("management.rotateCredential", replacement=REPLACEMENT)
        for text in (str(error), repr(error)):
            self.assertNotIn(PASSWORD, text)
            self.assertNotIn(NEW, text)
        return error

    def test_the_new_one_is_verified(self) -> None:
        """By a login of its own: the session that is open would prove nothing (W242, W247)."""
        self.assertEqual(self.rotate(), {"verified": True})
        self.assertEqual(self.tries, [PASSWORD, NEW])
        self.assertEqual(self.bmc.sent("PATCH"), [(OWN, {"Password": NEW})])

    def test_yes_and_the_old_one_holds(self) -> None:
        """A 200 proves nothing either (W242, R56)."""
        self.bmc.doing[("PATCH", OWN)] = [reply(200)]
        error = self.no()
        self.assertEqual(error.code, "failed")
        self.assertIn("the old password still holds", error.detail)
        self.assertEqual(self.tries, [PASSWORD, NEW, PASSWORD])

    def test_yes_and_neither_logs_in(self) -> None:
        """The account may have no right to (W243): changed, and not verified."""

        def change(ask: Ask) -> Reply:
            self.bmc.password = "something else"
            return reply(200)

        self.bmc.doing[("PATCH", OWN)] = change
        self.assertEqual(self.rotate(), {"verified": False})
        self.assertEqual(len(self.tries), 3)  # two wrong ones lock no account (W246)

    def test_a_connection_that_breaks_off(self) -> None:
        """Both are tried (R56)."""
        for applied in (True, False):
            self.setUp()

            def drop(ask: Ask, applied: bool = applied) -> Reply:
                if applied:
                    self.change(ask)
                raise Dropped("bad-response", "the answer broke off")

            self.bmc.doing[("PATCH", OWN)] = drop
            if applied:
                self.assertEqual(self.rotate(), {"verified": True})
            else:
                self.assertIn("old password still holds", self.no().detail)
            self.assertEqual(len(self.bmc.sent("PATCH")), 1)

    def test_a_connection_that_breaks_off_and_neither_logs_in(self) -> None:
        def drop(ask: Ask) -> Reply:
            self.bmc.password = "something else"
            raise BmcRefusal("timeout", "no answer in time")

        self.bmc.doing[("PATCH", OWN)] = drop
        self.assertEqual(self.no().code, "timeout")

    def test_a_bmc_that_is_away_for_a_while(self) -> None:
        """It is asked again; no wrong password is tried for that."""
        away: list[BmcRefusal | Reply] = [reply(503), BmcRefusal("unreachable", "refused")]
        real = self.bmc.sessions

        def session(ask: Ask) -> Reply:
            if self.bmc.password == NEW and away and ask.method == "POST":
                given = away.pop()
                if isinstance(given, Reply):
                    return given
                raise given
            return real(ask)

        self.bmc.sessions = session
        self.assertEqual(self.rotate(), {"verified": True})

    def test_a_bmc_that_stays_away(self) -> None:
        def drop(ask: Ask) -> Reply:
            self.change(ask)
            self.bmc.doing[("POST", SESSIONS)] = [BmcRefusal("unreachable", "refused")]
            return reply(200)

        self.bmc.doing[("PATCH", OWN)] = drop
        error = self.no()
        self.assertEqual(error.code, "timeout")
        self.assertIn("nobody knows which password holds", error.detail)

    def test_without_sessions(self) -> None:
        """A document that needs a login is the proof."""
        del self.bmc.root["Links"]
        listed = self.bmc.documents[f"{BASE}/Systems"]

        def systems(ask: Ask) -> Reply:
            sent = dict(ask.headers).get("Authorization")
            right = b64encode(f"admin:{self.bmc.password}".encode()).decode()
            return reply(200, listed) if sent == f"Basic {right}" else reply(401)

        self.bmc.doing[("GET", f"{BASE}/Systems")] = systems
        self.assertEqual(self.rotate(), {"verified": True})
        self.bmc.password = PASSWORD
        self.bmc.doing[("PATCH", OWN)] = [reply(200)]
        self.assertEqual(self.no().code, "failed")

    def test_a_login_is_proof_enough(self) -> None:
        """Whatever the account may read then (W243)."""
        self.bmc.doing[("GET", f"{BASE}/Systems")] = [reply(401)]
        self.assertEqual(self.rotate(), {"verified": True})

    def test_without_sessions_and_with_an_old_one_that_must_change(self) -> None:
        """A BMC that says so of the old one has taken it: it still holds."""
        del self.bmc.root["Links"]
        old = b64encode(f"admin:{PASSWORD}".encode()).decode()

        def systems(ask: Ask) -> Reply:
            known = dict(ask.headers).get("Authorization") == f"Basic {old}"
            return reply(403, said("PasswordChangeRequired", "", OWN)) if known else reply(401)

        self.bmc.doing[("GET", f"{BASE}/Systems")] = systems
        self.bmc.doing[("PATCH", OWN)] = [reply(200)]
        self.assertIn("old password still holds", self.no().detail)

    def test_a_password_that_must_change(self) -> None:
        """Everything is forbidden but the account that the message names (W244, R56)."""
        forbidden = said("PasswordChangeRequired", "change it", OWN)
        for login in (
            reply(403, forbidden),
            reply(201, forbidden, x_auth_token="first", location=f"{SESSIONS}/9"),
        ):
            self.setUp()

            def session(ask: Ask, login: Reply = login) -> Reply:
                first = ask.method == "POST" and self.bmc.password == PASSWORD
                return login if first else self.bmc.keep_sessions(ask)

            self.bmc.sessions = session
            for path in (f"{BASE}/AccountService", ACCOUNTS, OWN, f"{BASE}/Systems"):
                self.bmc.doing[("GET", path)] = [reply(403, forbidden)]
            self.assertEqual(self.rotate(), {"verified": True})
            self.assertEqual(len(self.bmc.sent("PATCH")), 1)

    def test_a_password_that_must_change_is_said_later(self) -> None:
        """Not by the login, but by whatever comes next, in a text (W244)."""
        words = f"The password must be changed: PATCH {OWN}."
        self.bmc.doing[("GET", ACCOUNTS)] = [reply(403, said("SWC1908", words))]
        self.assertEqual(self.rotate(), {"verified": True})

    def test_older_places(self) -> None:
        """Under the manager (W245)."""
        del self.bmc.root["AccountService"]
        path = f"{MANAGER}/Accounts"
        self.bmc.documents[path] = collection(OTHER, OWN)
        self.assertEqual(self.rotate(), {"verified": True})
        self.assertEqual(self.profile.accounts, path)

    def test_no_such_account(self) -> None:
        self.bmc.documents[OWN] = {"UserName": "someone"}
        self.assertEqual(self.no().code, "not-found")
        self.bmc.documents[f"{BASE}/AccountService"] = {}
        self.profile = type(self.profile)()
        self.assertEqual(self.no().code, "unsupported-operation")

    def test_rules_for_passwords(self) -> None:
        """Said in a text alone (W246), in which the password may stand."""
        words = f"{NEW} is too long"
        self.bmc.doing[("PATCH", OWN)] = [reply(400, said("PropertyValueFormatError", words))]
        error = self.no()
        self.assertEqual(error.code, "refused")
        self.assertIn("*** is too long", error.detail)
        self.assertEqual(self.tries, [PASSWORD])

    def test_nothing_to_rotate(self) -> None:
        for credential, replacement in (
            (None, REPLACEMENT),
            (CREDENTIAL, None),
            (CREDENTIAL, Credential("admin", Secret(""))),
        ):
            error = self.refused(
                "management.rotateCredential", credential=credential, replacement=replacement
            )
            self.assertEqual(error.code, "invalid-config")
        self.assertEqual(self.bmc.sent("PATCH"), [])

    def test_where_messages_name_the_account(self) -> None:
        for message, path in (
            (Message("PasswordChangeRequired", "", (OWN,)), OWN),
            (Message("x", f"go to https://bmc{OWN}."), OWN),
            (Message("x", f"('{OWN}')"), OWN),
            (Message("x", "change it"), ""),
        ):
            self.assertEqual(account_in([message]), path)
