"""Tests for ``rescriptum.bmc.redfish.session`` and ``replies``."""

import gzip
import json
from base64 import b64encode

from attrs import evolve
from twisted.internet.defer import Deferred

from rescriptum.bmc.driver import Credential
from rescriptum.bmc.redfish.quirks import BASIC, QuirkProfile
from rescriptum.bmc.redfish.replies import (
    Ask,
    Declined,
    Dropped,
    Mask,
    Reply,
    declined,
    explained,
    location,
    same_with_slash,
)
from rescriptum.bmc.redfish.session import Session, talk
from rescriptum.contract.bmc import BmcRefusal, BootTarget, PowerAction, SetOverride, SetPower
from rescriptum.values import Secret

from .redfishcases import (
    BASE,
    CREDENTIAL,
    ORIGIN,
    PASSWORD,
    RESET,
    SESSIONS,
    SYSTEM,
    MemoryBmc,
    RedfishCase,
    reply,
    said,
)

ON = SetPower(PowerAction.ON)
PROOFS = ("X-Auth-Token", "Authorization")
BASIC_HEADER = "Basic " + b64encode(f"admin:{PASSWORD}".encode()).decode()


def header(ask: Ask, name: str) -> str | None:
    return dict(ask.headers).get(name)


class LoginTests(RedfishCase):
    def test_one_session_an_operation(self) -> None:
        """Opened where the root says, used for everything, closed in the end (W204, W205)."""
        sessions: list[Ask] = []

        def seen(ask: Ask) -> Reply:
            sessions.append(ask)
            return self.bmc.keep_sessions(ask)

        self.bmc.sessions = seen
        self.run_operation("power.getPower")
        self.assertEqual([each.method for each in sessions], ["POST", "DELETE"])
        for each in sessions:  # (W208)
            self.assertEqual(header(each, "OData-Version"), "4.0")
        self.assertEqual(self.bmc.logins, 1)
        first, *others = self.bmc.asked
        self.assertIsNone(header(first, "X-Auth-Token"))
        self.assertEqual({header(each, "X-Auth-Token") for each in others}, {"token-1"})

    def test_fifty_operations_leave_no_session(self) -> None:
        """Some of them failing midway (R53)."""
        for number in range(50):
            if number % 3:
                self.run_operation("power.getPower")
            else:
                self.bmc.doing[("POST", RESET)] = [
                    reply(500) if number % 2 else Dropped("bad-response", "broke off")
                ]
                self.refused("power.setPower", ON)
        self.assertEqual((self.bmc.logins, self.bmc.opened), (50, set()))

    def test_cancelled_it_logs_out(self) -> None:
        class Hanging(MemoryBmc):
            async def ask(self, ask: Ask, seconds: float) -> Reply:
                if ask.path == SYSTEM:
                    await Deferred()
                return await super().ask(ask, seconds)

        self.bmc = Hanging()
        session = self.session()
        working = Deferred.fromCoroutine(talk(session, lambda each: each.get(SYSTEM)))
        self.assertEqual(len(self.bmc.opened), 1)
        working.cancel()
        self.failureResultOf(working)
        self.assertEqual(self.bmc.opened, set())

    def test_a_logout_that_fails_is_none_of_the_outcome(self) -> None:
        """401 and 404 are usual (W206)."""
        for answer in (reply(401), reply(404), reply(500), Dropped("bad-response", "x")):
            self.bmc.doing[("DELETE", f"{SESSIONS}/{self.bmc.logins + 1}")] = [answer]
            self.bmc.opened.clear()
            session = self.session()
            self.successResultOf(Deferred.fromCoroutine(session.open()))
            self.successResultOf(Deferred.fromCoroutine(session.close()))

    def test_a_token_that_is_not_known_even_to_log_out(self) -> None:
        """The password does it; not after a rotation, when it may be a wrong one (W246)."""
        ways: list[tuple[str, ...]] = []

        def deaf(ask: Ask) -> Reply:
            if ask.method != "DELETE":
                return self.bmc.keep_sessions(ask)
            ways.append(tuple(name for name, _ in ask.headers if name in PROOFS))
            return self.bmc.keep_sessions(ask) if "Authorization" in ways[-1] else reply(401)

        self.bmc.sessions = deaf
        self.run_operation("power.getPower")
        self.assertEqual(ways, [("X-Auth-Token",), ("Authorization",)])
        session = self.session()
        self.successResultOf(Deferred.fromCoroutine(session.open()))
        ways.clear()
        self.successResultOf(Deferred.fromCoroutine(session.renew(CREDENTIAL)))
        self.assertEqual(ways, [("X-Auth-Token",)])

    def test_without_sessions_each_request_has_the_credential(self) -> None:
        """No link, none at the link, no token, none free, or a root that wants a login itself."""

        def link_gone() -> None:
            del self.bmc.root["Links"]

        def root_closed() -> None:
            self.bmc.doing[("GET", f"{BASE}/")] = lambda ask: (
                reply(200, self.bmc.root) if header(ask, "Authorization") else reply(401)
            )

        def answers(*given: Reply) -> None:
            self.bmc.doing[("POST", SESSIONS)] = list(given)

        for spoil in (
            link_gone,
            root_closed,
            lambda: answers(reply(404)),
            lambda: answers(reply(405)),
            lambda: answers(reply(501)),
            lambda: answers(reply(201, {})),
            lambda: answers(reply(503)),
        ):
            self.setUp()
            spoil()
            self.assertEqual(self.run_operation("power.getPower"), {"power": "off"})
            self.assertEqual(header(self.bmc.asked[-1], "Authorization"), BASIC_HEADER)

    def test_no_slot_is_waited_for(self) -> None:
        """503 RAC0218 is asked again a few times, as late as it says (W204)."""
        self.bmc.doing[("POST", SESSIONS)] = [reply(503, said("RAC0218"), retry_after="4")]
        self.run_operation("power.getPower")
        self.assertEqual(self.bmc.paused, [4, 5, 10])
        self.assertEqual(self.profile.sessions, SESSIONS)  # the next operation tries again

    def test_a_wrong_password_is_tried_once(self) -> None:
        """More might lock the account (W246)."""
        self.bmc.password = "another"
        tries: list[Ask] = []
        real = self.bmc.sessions

        def counting(ask: Ask) -> Reply:
            tries.append(ask)
            return real(ask)

        self.bmc.sessions = counting
        error = self.refused("power.getPower")
        self.assertEqual((error.code, len(tries)), ("auth-failed", 1))

    def test_a_session_that_ends_midway(self) -> None:
        """401: one more login, then it is what it is (W206)."""
        answers = [reply(401), reply(200, self.bmc.system)]
        self.bmc.doing[("GET", SYSTEM)] = answers
        self.assertEqual(self.run_operation("power.getPower"), {"power": "off"})
        self.assertEqual(self.bmc.logins, 2)
        self.bmc.doing[("GET", SYSTEM)] = [reply(401)]
        self.assertEqual(self.refused("power.getPower").code, "auth-failed")
        self.assertEqual(self.bmc.logins, 4)

    def test_sessions_that_keep_ending(self) -> None:
        """One more login an operation, not one a request."""
        fine = reply(200, self.bmc.system)
        self.bmc.doing[("GET", SYSTEM)] = [reply(401), fine, reply(401), fine]
        self.assertEqual(self.refused("power.setPower", ON).code, "auth-failed")
        self.assertEqual(self.bmc.logins, 2)

    def test_nobody_asked_for_nothing(self) -> None:
        """A BMC without a login is told none."""
        self.run_operation("power.getPower", credential=None)
        for each in self.bmc.asked:
            self.assertIsNone(header(each, "Authorization"))
            self.assertIsNone(header(each, "X-Auth-Token"))
        self.assertEqual(self.bmc.logins, 0)

    def test_what_is_known_is_not_asked_again(self) -> None:
        self.run_operation("power.getPower")
        self.bmc.asked.clear()
        self.run_operation("power.getPower")
        self.assertEqual([each.path for each in self.bmc.asked], [SYSTEM])

    def test_what_is_known_no_more(self) -> None:
        """A machine that has another path since is found anew."""
        self.run_operation("power.getPower")
        moved = f"{BASE}/Systems/Self"
        self.bmc.documents[moved] = self.bmc.documents.pop(SYSTEM)
        self.bmc.documents[f"{BASE}/Systems"]["Members"] = [{"@odata.id": moved}]
        self.assertEqual(self.run_operation("power.getPower"), {"power": "off"})
        self.assertEqual(self.profile.system, moved)

    def test_a_password_that_must_change(self) -> None:
        """The refusal says so (W244)."""
        self.bmc.doing[("POST", SESSIONS)] = [reply(403, said("PasswordChangeRequired", "change"))]
        self.bmc.doing[("GET", SYSTEM)] = [reply(403, said("PasswordChangeRequired", "change"))]
        error = self.refused("power.getPower")
        self.assertEqual(error.code, "auth-failed")
        self.assertIn("management.rotateCredential", error.detail)


class AskingTests(RedfishCase):
    def got(self, path: str, session: Session | None = None) -> dict[str, object]:
        session = session or self.session(None)
        return dict(self.successResultOf(Deferred.fromCoroutine(session.get(path))))

    def no(self, path: str) -> BmcRefusal:
        working = Deferred.fromCoroutine(self.session(None).get(path))
        error = self.failureResultOf(working, BmcRefusal).value
        assert isinstance(error, BmcRefusal)
        return error

    def test_headers(self) -> None:
        """Unpacked answers, and the version of OData that some insist on (W207, W208)."""
        self.got(SYSTEM)
        [ask] = self.bmc.asked
        self.assertEqual(header(ask, "Accept-Encoding"), "identity")
        self.assertEqual(header(ask, "OData-Version"), "4.0")

    def test_406_is_asked_again_packed(self) -> None:
        """HPE's registries come in no other way (W207)."""
        body = gzip.compress(b'{"Id": "x"}')
        packed = Reply(200, {"content-encoding": "gzip"}, body)
        self.bmc.doing[("GET", "/x")] = lambda ask: (
            packed if header(ask, "Accept-Encoding") == "gzip" else reply(406)
        )
        self.assertEqual(self.got("/x"), {"Id": "x"})
        self.bmc.doing[("GET", "/x")] = [reply(406)]
        self.assertEqual(self.no("/x").code, "refused")
        self.assertEqual(len(self.bmc.asked), 4)

    def test_a_slash_is_followed(self) -> None:
        """The same path with a slash, relative or not, whatever the status (W202, R49)."""
        for status in (301, 302, 303, 307, 308):
            for there in ("/x/", f"{ORIGIN}/x/", "HTTPS://BMC.example/x/"):
                self.bmc.doing[("GET", "/x")] = [reply(status, location=there)]
                self.bmc.documents["/x/"] = {"Id": "x"}
                self.assertEqual(self.got("/x"), {"Id": "x"})

    def test_a_post_is_repeated_there(self) -> None:
        """Except after 303, which says that it was done (W203)."""
        self.bmc.doing[("POST", "/x/")] = [reply(200, {"done": "there"})]
        self.bmc.documents["/x/"] = {"done": "here"}
        for status, expected in ((308, "there"), (301, "there"), (303, "here")):
            self.bmc.doing[("POST", "/x")] = [reply(status, location="/x/")]
            working = Deferred.fromCoroutine(self.session(None).post("/x", {"a": 1}))
            self.assertEqual(self.successResultOf(working).document(), {"done": expected})

    def test_303_is_a_task(self) -> None:
        """Elsewhere, it says where what was begun can be watched; nothing is sent there (W203)."""
        self.bmc.doing[("POST", "/x")] = [reply(303, location="https://evil.example/task/1")]
        working = Deferred.fromCoroutine(self.session(None).post("/x", {}))
        answer = self.successResultOf(working)
        self.assertEqual((answer.status, location(answer)), (202, "/task/1"))
        self.assertEqual(len(self.bmc.asked), 1)
        self.bmc.doing[("GET", "/x")] = [reply(303, location="/task/1")]
        self.assertEqual(self.no("/x").code, "bad-response")

    def test_nothing_else_is_followed(self) -> None:
        """Another host, scheme, port or path, or a second slash: refused, and nothing is sent."""
        for there in (
            "http://bmc.example/x/",
            "https://evil.example/x/",
            "https://bmc.example:8443/x/",
            "https://bmc.example.evil/x/",
            "https://bmc.example/X/",
            "//evil.example/x/",
            "/y/",
            "/x",
            "/X/",
            "/x/?a",
            "x/",
            "",
        ):
            self.bmc.asked.clear()
            self.bmc.doing[("GET", "/x")] = [reply(308, location=there)]
            self.assertEqual(self.no("/x").code, "bad-response", there)
            self.assertEqual(len(self.bmc.asked), 1)
        self.bmc.doing[("GET", "/x")] = [reply(308, location="/x/")]
        self.bmc.doing[("GET", "/x/")] = [reply(308, location="/x//")]
        self.assertEqual(self.no("/x").code, "bad-response")

    def test_a_query_keeps_its_place(self) -> None:
        self.assertEqual(same_with_slash("/x?a=1", "/x/?a=1", ORIGIN), "/x/?a=1")
        self.assertEqual(same_with_slash("/x?a=1", "/x/", ORIGIN), "")

    def test_a_read_that_breaks_off_is_repeated_once(self) -> None:
        self.bmc.doing[("GET", "/x")] = [Dropped("bad-response", "broke"), reply(200, {"a": 1})]
        self.assertEqual(self.got("/x"), {"a": 1})
        self.bmc.doing[("GET", "/x")] = [Dropped("bad-response", "broke")]
        self.assertEqual(self.no("/x").code, "bad-response")
        self.assertEqual(len(self.bmc.asked), 4)

    def test_a_read_that_fails_is_repeated_once(self) -> None:
        """On a new connection that may go well (W208); a change is not repeated."""
        for status in (500, 502, 504):
            self.bmc.asked.clear()
            self.bmc.doing[("GET", "/x")] = [reply(status), reply(200, {"a": 1})]
            self.assertEqual(self.got("/x"), {"a": 1})
            self.bmc.doing[("GET", "/x")] = [reply(status)]
            self.assertEqual(self.no("/x").code, "failed")
            self.bmc.doing[("POST", "/x")] = [reply(status)]
            working = Deferred.fromCoroutine(self.session(None).post("/x", {}))
            self.failureResultOf(working, BmcRefusal)
            self.assertEqual(len(self.bmc.asked), 5)

    def test_a_timeout_says_what_may_have_been_done(self) -> None:
        """Nothing, when nothing had been asked for yet; else nobody knows."""
        slow = BmcRefusal("timeout", "no answer in time")
        self.bmc.doing[("GET", SYSTEM)] = [slow]
        self.assertIn("nothing was changed", self.refused("power.setPower", ON).detail)
        del self.bmc.doing[("GET", SYSTEM)]
        self.bmc.doing[("POST", RESET)] = [slow]
        error = self.refused("power.setPower", ON)
        self.assertEqual(error.detail, "no answer in time: nobody knows whether it was done")

    def test_a_timeout_is_not_repeated(self) -> None:
        self.bmc.doing[("GET", "/x")] = [BmcRefusal("timeout", "no answer")]
        self.assertEqual(self.no("/x").code, "timeout")
        self.assertEqual(len(self.bmc.asked), 1)

    def test_after_its_time_nothing_is_asked(self) -> None:
        session = self.session(None, seconds=10)
        self.bmc.time += 10
        working = Deferred.fromCoroutine(session.get(SYSTEM))
        self.assertEqual(self.failureResultOf(working).value.code, "timeout")
        self.assertEqual(self.bmc.asked, [])

    def test_answers_that_are_no_documents(self) -> None:
        for body in (b"{", b"[]", b"null", b"\xff", b'{"a":' * 100_000, b"<html>", b"1" * 5000):
            self.bmc.doing[("GET", "/x")] = [Reply(200, {}, body)]
            self.assertEqual(self.no("/x").code, "bad-response")


class MeaningTests(RedfishCase):
    def test_each_status_has_a_code(self) -> None:
        for status, code in (
            (301, "bad-response"),
            (400, "refused"),
            (401, "auth-failed"),
            (403, "refused"),
            (404, "not-found"),
            (405, "unsupported-operation"),
            (409, "conflict"),
            (410, "not-found"),
            (412, "conflict"),
            (418, "refused"),
            (428, "conflict"),
            (500, "failed"),
            (501, "unsupported-operation"),
            (503, "conflict"),
        ):
            self.assertEqual(declined(reply(status), Mask.of()).code, code)

    def test_each_shape_of_an_error(self) -> None:
        """A list, an object, in the error or beside it, with a registry or without (W212)."""
        info = {"MessageId": "ActionNotSupported", "Message": "no"}
        for document in (
            {"error": {"@Message.ExtendedInfo": [info]}},
            {"error": {"@Message.ExtendedInfo": info}},
            {"@Message.ExtendedInfo": [info]},
            {"@Message.ExtendedInfo": info},
            {"error": {"code": "Base.1.0.ActionNotSupported", "message": "no"}},
            {
                "error": {
                    "@Message.ExtendedInfo": [{**info, "MessageId": "A.1.2.ActionNotSupported"}]
                }
            },
        ):
            error = declined(reply(400, document), Mask.of())
            self.assertEqual((error.code, error.detail), ("unsupported-operation", "HTTP 400: no"))

    def test_errors_that_are_no_json(self) -> None:
        error = declined(Reply(400, {}, b"Failed to download\x1b[0m"), Mask.of())
        self.assertEqual(error.detail, "HTTP 400: Failed to download\\x1b[0m")
        self.assertEqual(explained(Reply(400, {}, b"")), ())

    def test_what_is_said_is_bounded(self) -> None:
        document = {
            "error": {"@Message.ExtendedInfo": [{"Message": f"{n}" * 9} for n in range(999)]}
        }
        self.assertLess(len(declined(reply(400, document), Mask.of()).detail), 420)


class SecrecyTests(RedfishCase):
    """A BMC may repeat what it was sent."""

    def test_an_echo_is_masked(self) -> None:
        """The password as it is, as JSON has it, within Basic, and a session's token."""
        password = 'pass"wörd\\7'
        credential = Credential("admin", Secret(password))
        self.bmc.password = password
        basic = b64encode(f"admin:{password}".encode()).decode()
        spoken = f"you sent {password}, {json.dumps(password)}, {basic} and token-1"
        for status in (400, 500):
            self.bmc.logins = 0
            self.bmc.doing[("POST", RESET)] = [reply(status, said("GeneralError", spoken))]
            error = self.refused("power.setPower", ON, credential=credential)
            for text in (str(error), error.detail, repr(error), repr(error.args)):
                for secret in (password, json.dumps(password)[1:-1], basic, "token-1"):
                    self.assertNotIn(secret, text)
            self.assertIn("you sent ***", error.detail)

    def test_a_secret_within_another(self) -> None:
        """The longer one goes first, or a piece of it would stay."""
        self.assertEqual(Mask.of("abc", "abcdef")("abcdef"), "***")

    def test_what_reads_back_is_masked(self) -> None:
        """An error of ours may be made of a document."""
        boot = {"BootSourceOverrideTarget": PASSWORD}
        self.bmc.doing[("GET", SYSTEM)] = [reply(200, {**self.bmc.system, "Boot": boot})]
        error = self.refused("boot.setOverride", SetOverride(BootTarget.PXE))
        self.assertEqual(error.code, "failed")
        self.assertNotIn(PASSWORD, str(error))

    def test_a_raw_echo_is_masked(self) -> None:
        self.bmc.doing[("POST", RESET)] = [Reply(400, {}, f"<b>{PASSWORD}</b>".encode())]
        self.assertNotIn(PASSWORD, str(self.refused("power.setPower", ON)))

    def test_an_echo_at_login(self) -> None:
        self.bmc.doing[("POST", SESSIONS)] = [reply(401, said("X", f"bad password {PASSWORD}"))]
        self.assertNotIn(PASSWORD, str(self.refused("power.getPower")))

    def test_an_echo_that_is_cut(self) -> None:
        """What is long is cut, perhaps within a password: its beginning goes as well."""
        for size in range(380, 520):
            for words in ("x" * size + PASSWORD, PASSWORD * (size // len(PASSWORD)) + PASSWORD[:9]):
                told = said("A", words)
                told["error"]["@Message.ExtendedInfo"] += [{"MessageId": "B", "Message": "more"}]
                self.bmc.doing[("POST", RESET)] = [reply(400, told)]
                self.assertNotIn(PASSWORD[:6], str(self.refused("power.setPower", ON)))
                self.bmc.system["Model"] = words
                made = self.run_operation("inventory.get")
                self.assertNotIn(PASSWORD[:6], str(self.masked(made)))

    def masked(self, made: object) -> object:
        return Mask.of(PASSWORD).document(made)

    def test_data_have_none_either(self) -> None:
        mask = Mask.of(PASSWORD, "root")
        made = mask.document({"a": [f"x{PASSWORD}", 1, None], PASSWORD: {"b": "root"}})
        self.assertEqual(made, {"a": ["x***", 1, None], "***": {"b": "root"}})

    def test_nothing_shows_one(self) -> None:
        """No ``repr`` of what carries it."""
        session = self.session()
        self.successResultOf(Deferred.fromCoroutine(session.open()))
        ask = Ask("POST", "/x", (("X-Auth-Token", "token-1"),), PASSWORD.encode())
        answer = reply(200, {"p": PASSWORD}, x_auth_token="token-1")
        refusal = Declined("refused", "no", answer, ())
        for each in (session, session.mask, ask, answer, refusal, CREDENTIAL):
            self.assertNotIn(PASSWORD, repr(each))
            self.assertNotIn("token-1", repr(each))
        self.successResultOf(Deferred.fromCoroutine(session.close()))

    def test_a_profile_has_none(self) -> None:
        """Whatever a BMC calls itself and its choices; a path stays one."""
        made = QuirkProfile(
            vendor=PASSWORD,
            version=PASSWORD,
            system=f"/{PASSWORD}",
            resets=("On", PASSWORD),
            boot_targets=(PASSWORD,),
            boot_modes=(PASSWORD,),
        )
        told = made.told(Mask.of(PASSWORD))
        self.assertEqual(told.system, made.system)
        self.assertEqual(told.resets, ("On", "***"))
        self.assertNotIn(PASSWORD, repr(evolve(told, system="")))

    def test_basic_is_a_profile_without_secrets(self) -> None:
        del self.bmc.root["Links"]
        self.run_operation("power.getPower")
        self.assertEqual(self.profile.sessions, BASIC)
        self.assertNotIn(PASSWORD, repr(self.profile))
