"""Tests for ``rescriptum.fakebmc.respond`` and what it is made of, without a socket."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.fakebmc.asking import Answer, Ask, Rude
from rescriptum.fakebmc.documents import documents
from rescriptum.fakebmc.places import ROOT, Places
from rescriptum.fakebmc.respond import respond
from rescriptum.fakebmc.state import IDLE, KEPT, LAGGING, LOCKED, SLOTS, UPDATING, State
from rescriptum.fakebmc.switches import Switch, Switches

NAME, PASSWORD = "admin", "Secret123"
BASIC: Final = {"authorization": "Basic " + b64encode(f"{NAME}:{PASSWORD}".encode()).decode()}
FRESH = count()


def bmc(*switches: Switch) -> State:
    return State.new(Switches.of(*switches), NAME, PASSWORD)


class Asked:
    """Somebody who asks a BMC one thing after the other. :ivar now: the time."""

    def __init__(self, *switches: Switch) -> None:
        self.state = bmc(*switches)
        self.places = Places.of(self.state.switches)
        self.now = 100.0

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"{}",
        headers: Mapping[str, str] = BASIC,
    ) -> Answer:
        ask = Ask(method, path, headers, body, self.now, f"token{next(FRESH)}")
        self.state, answer = respond(self.state, ask)
        return answer

    def reset(self, how: str) -> int:
        return self.ask("POST", self.places.reset, b'{"ResetType": "%s"}' % how.encode()).status

    def login(self, password: str = PASSWORD) -> Answer:
        body = b'{"UserName": "%s", "Password": "%s"}' % (NAME.encode(), password.encode())
        return self.ask("POST", self.places.sessions, body, {})

    def read(self, path: str) -> dict[str, object]:
        found = self.ask("GET", path).document
        assert isinstance(found, dict), found
        return found


class AccessTests(SynchronousTestCase):
    def test_strangers_see_the_root_alone(self) -> None:
        """Whatever they ask for; and with a credential everything is there."""
        asked = Asked()
        for path in documents(asked.state, asked.now):
            expected = 200 if path == ROOT else 401
            self.assertEqual(asked.ask("GET", path, headers={}).status, expected, path)
            self.assertEqual(asked.ask("GET", path).status, 200, path)
        for method, path in (("POST", asked.places.reset), ("PATCH", asked.places.system)):
            self.assertEqual(asked.ask(method, path, headers={}).status, 401)
        wrong = ("Basic", "Basic %", "Basic Zm9v", "Bearer x", "Basic " + "Og==")
        for each in wrong:
            told = asked.ask("GET", asked.places.system, headers={"authorization": each})
            self.assertEqual(told.status, 401, each)

    def test_sessions_are_few_and_end(self) -> None:
        """Four; one that nobody uses ends after half an hour, or when it is ended."""
        asked = Asked()
        opened = [asked.login() for _ in range(SLOTS)]
        self.assertEqual({each.status for each in opened}, {201})
        full = asked.login()
        self.assertEqual(full.status, 503)
        self.assertIn("RAC0218", full.body.decode())
        path = dict(opened[0].headers)["Location"]
        self.assertEqual(asked.ask("DELETE", path).status, 204)
        self.assertEqual(asked.ask("DELETE", path).status, 404)
        self.assertEqual(asked.login().status, 201)
        asked.now += IDLE
        asked.ask("GET", ROOT)
        self.assertEqual(asked.state.sessions, ())

    def test_a_third_wrong_password_locks(self) -> None:
        """For five minutes, whatever is told then; a right one before it counts anew (W246)."""
        asked = Asked(Switch.LOCKS_OUT)
        for password in ("x", "x", PASSWORD, "x", "x", "x"):
            asked.login(password)
        self.assertEqual(asked.login().status, 401)
        asked.now += LOCKED
        self.assertEqual(asked.login().status, 201)

    def test_registries_want_gzip(self) -> None:
        """Where that is switched on (W207)."""
        asked = Asked(Switch.NO_IDENTITY)
        path = f"{ROOT}/Registries"
        for coding, status in (("identity", 406), ("gzip", 200), ("", 406)):
            headers = {**BASIC, "accept-encoding": coding}
            self.assertEqual(asked.ask("GET", path, headers=headers).status, status)


class StateTests(SynchronousTestCase):
    def test_power_comes_in_its_time(self) -> None:
        """At once, or twelve seconds later (W229)."""
        for switch, late in ((Switch.ODD_IDS, False), (Switch.POWER_LAGS, True)):
            asked = Asked(switch)
            self.assertEqual(asked.reset("On"), 204)
            state = asked.read(asked.places.system)["PowerState"]
            self.assertEqual(state, "Off" if late else "On")
            asked.now += LAGGING
            self.assertEqual(asked.read(asked.places.system)["PowerState"], "On")

    def test_an_override_is_used_up_by_a_boot(self) -> None:
        """That of once; and whoever plays the machine is told of both."""
        asked = Asked()
        once = b'{"Boot": {"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": "Once"}}'
        self.assertEqual(asked.ask("PATCH", asked.places.system, once).status, 204)
        asked.reset("On")
        self.assertEqual([each.what for each in asked.state.changes], ["boot", "on"])
        self.assertEqual(asked.state.changes[1].override.target, "Pxe")
        self.assertEqual(asked.state.override.enabled, "Disabled")
        asked.reset("Nmi")
        asked.reset("ForceRestart")
        asked.reset("GracefulShutdown")
        asked.reset("ForceOff")  # it is off already: nothing happens
        told = [each.what for each in asked.state.changes[2:]]
        self.assertEqual(told, ["nmi", "reset", "soft-off"])

    def test_an_update_ends_in_its_time(self) -> None:
        """And the firmware is another from then on."""
        asked = Asked()
        asked.ask("POST", asked.places.update, b'{"ImageURI": "http://192.0.2.1/x"}')
        task = asked.places.task("1")
        self.assertEqual(asked.read(task)["TaskState"], "Running")
        asked.now += UPDATING
        self.assertEqual(asked.read(task)["TaskState"], "Completed")
        self.assertEqual(asked.read(asked.places.manager)["FirmwareVersion"], "1.2")

    def test_nothing_grows_without_end(self) -> None:
        """Tasks, lines of the log, and changes that nobody takes: 64 of each."""
        asked = Asked()
        for _ in range(KEPT + 1):
            asked.ask("POST", asked.places.update, b'{"ImageURI": "http://192.0.2.1/x"}')
            asked.reset("Nmi")
        state = asked.state
        self.assertEqual([len(state.tasks), len(state.log), len(state.changes)], [KEPT] * 3)
        self.assertEqual(state.tasks[-1].id, str(KEPT + 1))

    def test_no_secret_is_shown(self) -> None:
        """Neither a password nor a token, of a state or of what a BMC was asked."""
        asked = Asked()
        asked.login()
        ask = Ask("POST", "/", {"x-auth-token": "token"}, PASSWORD.encode(), 0, "token")
        for text in (repr(asked.state), repr(ask)):
            self.assertNotIn(PASSWORD, text)
            self.assertNotIn("'token", text)


class DocumentTests(SynchronousTestCase):
    def test_every_link_leads_somewhere(self) -> None:
        """On a BMC of each manner: whatever names a path names one that can be read."""
        for switch in Switch:
            asked = Asked(switch)
            asked.login()
            asked.reset("On")
            found = documents(asked.state, asked.now)
            for path, document in found.items():
                for link in links(document):
                    self.assertIn(link.rstrip("/"), found, (switch, path))


class RudenessTests(SynchronousTestCase):
    def test_rude_answers_are_what_they_say(self) -> None:
        """Bytes, or what becomes of the connection."""
        system = Asked().places.system
        huge = Asked(Switch.HUGE).ask("GET", system)
        self.assertGreater(len(huge.body), 5 << 20)
        self.assertIs(Asked(Switch.HANG).ask("GET", system).rude, Rude.HANG)
        self.assertIs(Asked(Switch.CUT).ask("GET", system).rude, Rude.CUT)
        self.assertIn(b"\xff", Asked(Switch.GARBAGE).ask("GET", system).body)
        echoing = Asked(Switch.ECHO)
        self.assertIn("Wrong111", echoing.login("Wrong111").body.decode())

    def test_a_refused_connection_is_refused_again(self) -> None:
        """Once it has had a 500 (W208)."""
        asked = Asked(Switch.NO_REUSE)
        self.assertEqual(asked.ask("GET", asked.places.system).status, 500)
        ask = Ask("GET", asked.places.system, BASIC, b"", 0, "", again=True)
        self.assertIs(respond(asked.state, ask)[1].rude, Rude.DROP)
        self.assertEqual(asked.ask("GET", asked.places.system).status, 200)


PATHS: Final = tuple(documents(bmc(), 0)) + tuple(
    getattr(Places.of(Switches()), name)
    for name in ("reset", "insert", "eject", "update", "manager_reset", "settings")
)


class TotalTests(SynchronousTestCase):
    @given(
        st.sets(st.sampled_from(Switch), max_size=4),
        st.lists(
            st.tuples(
                st.sampled_from(("GET", "POST", "PATCH", "DELETE")),
                st.sampled_from(PATHS) | st.text(max_size=20),
                st.binary(max_size=40)
                | st.sampled_from(
                    (
                        b'{"Boot": {"BootSourceOverrideTarget": 7}}',
                        b'{"Boot": {"BootSourceOverrideEnabled": []}}',
                        b'{"ResetType": {}}',
                        b'{"ResetType": "On"}',
                        b'{"Image": 1}',
                        b'{"Image": "x"}',
                        b'{"UserName": [], "Password": ""}',
                    )
                ),
                st.sampled_from((BASIC, {}, {**BASIC, "if-match": "*"}, {"x-auth-token": "é"})),
            ),
            max_size=8,
        ),
    )
    def test_whatever_is_asked_has_an_answer(
        self,
        switches: set[Switch],
        asks: list[tuple[str, str, bytes, Mapping[str, str]]],
    ) -> None:
        """Of bytes, with a status; the machine's switches never change."""
        asked = Asked(*switches)
        for method, path, body, headers in asks:
            answer = asked.ask(method, path, body, headers)
            self.assertTrue(200 <= answer.status < 600)
            self.assertIsInstance(answer.body, bytes)
            asked.now += 1
        self.assertEqual(asked.state.switches, Switches.of(*switches))


def links(document: object) -> Iterator[str]:
    """:returns: every path that a document names."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key in ("@odata.id", "@Redfish.ActionInfo") and isinstance(value, str):
                yield value
            else:
                yield from links(value)
    elif isinstance(document, list):
        for each in document:
            yield from links(each)
