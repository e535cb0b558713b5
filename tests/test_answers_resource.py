"""Tests for ``rescriptum.answers.resource``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogEvent, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.resource import LARGE, LOGGED, Answers
from rescriptum.answers.store import AnswerStore
from rescriptum.answers.stores.capture import Captures
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.values import MAC, Secret
from rescriptum.web.reply import Finished, Outcome, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import answer

from .test_answers_facts import PROXMOX

_T = TypeVar("_T")
PEER = ("192.0.2.7", 2070)
JSON = (("content-type", "application/json; charset=utf-8"),)


class Here:
    """Workers that work at once; counts what was asked of them."""

    asked = 0

    async def run(self, work: Callable[[], _T]) -> _T:
        self.asked += 1
        return work()


class Asking(SynchronousTestCase):
    """The listener's routes, without a listener."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.workers, self.clock = Here(), Clock()
        directory = AnswerDirectory(self.path, self.clock.seconds)
        self.store = AnswerStore(directory, self.workers, self.clock)
        self.answers = Answers(self.store, self.workers)

    def write(self, name: str, data: bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def ask(
        self,
        target: str,
        method: str = "GET",
        body: bytes = b"",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Reply:
        self.request = Request(method, target, PEER, headers, body)
        reply = self.successResultOf(Deferred.fromCoroutine(answer(self.answers, self.request)))
        assert isinstance(reply, Reply)
        return reply

    def log_of(self, reply: Reply, outcome: Outcome = Outcome.SENT) -> LogEvent:
        """:returns: the one event that is recorded once ``reply`` is over."""
        size = len(reply.body)
        done = Finished(
            self.request, PEER, reply.status, size, size, 0.5, outcome, reply.about, reply.reason
        )
        with capturedLogs() as events:
            self.answers.finished(done)
        [event] = events
        return event


class AnswersTests(Asking):
    def test_an_answer(self) -> None:
        """By GET and by POST, on any path, labelled by its format."""
        self.write("52-54-00-00-00-01/boot.ipxe", b"#!ipxe\nexit\n")
        for method in ("GET", "POST", "HEAD"):
            reply = self.ask("/ipxe/boot?mac=52:54:00:00:00:01", method)
            self.assertEqual((reply.status, reply.body), (200, b"#!ipxe\nexit\n"))
            self.assertEqual(reply.media_type, "text/plain; charset=utf-8")
        self.assertEqual(self.ask("/52-54-00-00-00-01").status, 200)
        self.write("default/x.cfg", b"d")
        self.clock.advance(2)
        self.assertEqual(self.ask("/").body, b"d")

    def test_what_was_sent_is_an_event(self) -> None:
        """Who asked for what, and whose document it was."""
        self.write("52-54-00-00-00-01/boot.ipxe", b"#!ipxe\n")
        event = self.log_of(self.ask("/ipxe/boot?mac=52:54:00:00:00:01"))
        self.assertEqual(event["event"], "answer.sent")
        self.assertEqual(event["mac"], MAC("525400000001"))
        self.assertEqual(
            formatEvent(event),
            "GET /ipxe/boot?mac=52:54:00:00:00:01 body=0 200 format=text "
            "machine=52-54-00-00-00-01 group= bytes=7",
        )
        stopped = self.log_of(self.ask("/ipxe/boot?mac=525400000001"), Outcome.STOPPED)
        self.assertEqual(stopped["outcome"], "stopped")

    def test_what_nobody_hears_of_is_not_told(self) -> None:
        """Where the log shows problems only: those, and answers that did not arrive."""
        self.answers = Answers(self.store, self.workers, told=False)
        self.write("default/x.ks", b"k")
        with self.assertRaises(ValueError):  # there is no event
            self.log_of(self.ask("/ks"))
        self.assertEqual(self.log_of(self.ask("/ks"), Outcome.STOPPED)["event"], "answer.sent")
        self.assertEqual(self.log_of(self.ask("/pve"))["event"], "answer.refused")

    def test_a_default_is_said_to_be_one(self) -> None:
        self.write("default/x.ks", b"k")
        event = self.log_of(self.ask("/ks"))
        self.assertEqual((event["machine"], event["group"], event["mac"]), ("", "default", None))

    def test_proxmox_gets_toml_that_is_not_called_json(self) -> None:
        """S44 and families C7: although what it posts, and accepts, is JSON."""
        self.write("bc-24-11-00-00-02/a.toml", b"[global]\n")
        body = json.dumps(PROXMOX).encode()
        accepts = ("accept", "application/json, application/toml;q=0.5")
        reply = self.ask("/proxmox/answer", "POST", body, (*JSON, accepts))
        self.assertEqual((reply.status, reply.body), (200, b"[global]\n"))
        self.assertEqual(reply.media_type, "text/plain; charset=utf-8")
        event = self.log_of(reply)
        self.assertEqual(event["mac"], MAC("bc2411000001"))
        self.assertEqual(event["body"], len(body))

    def test_broken_json(self) -> None:
        """S44: 400 where the client says that it is JSON; else a value like another."""
        self.write("machine-1/a.toml", b"a = 1")
        body = b'{"serial": "machine-1", '
        for media_type in ("application/json", "Application/JSON;x=y", "application/a+json"):
            reply = self.ask("/pve", "POST", body, (("content-type", media_type),))
            self.assertEqual((reply.status, reply.body), (400, b"400 Bad Request\n"))
        self.assertEqual(self.ask("/pve", "POST", body).status, 200)
        event = self.log_of(self.ask("/pve?mac=52:54:00:00:00:01", "POST", body, JSON))
        self.assertEqual(event["event"], "answer.refused")
        self.assertEqual(event["mac"], MAC("525400000001"))
        self.assertIn("not the JSON it says", event["reason"])

    def test_nothing_claims_it(self) -> None:
        """404; the reason is for the log."""
        reply = self.ask("/debian/52-54-00-00-00-01/preseed.cfg")
        self.assertEqual((reply.status, reply.body), (404, b"404 Not Found\n"))
        event = self.log_of(reply)
        self.assertEqual(event["mac"], MAC("525400000001"))
        self.assertTrue(event["problem"])
        self.assertIn("no default (preseed, seed)", formatEvent(event))

    def test_what_cannot_be_served_is_a_500(self) -> None:
        """A broken document and one that cannot be filled; the client learns nothing more."""
        self.write("machine-1/a.toml", b"a =")
        self.write("machine-1/a.ks", b"{{ rack }}")
        self.write("default/a.ks", b"default")
        for path, reason in (
            ("/pve/machine-1", "machine-1/a.toml: line 1: not TOML"),
            ("/ks/machine-1", "machine-1/a.ks: template needs {{ rack }}, but"),
        ):
            reply = self.ask(path)
            self.assertEqual((reply.status, reply.body), (500, b"500 Internal Server Error\n"))
            self.assertIn(reason, self.log_of(reply)["reason"])

    def test_other_methods(self) -> None:
        """405 with what would be allowed."""
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            reply = self.ask("/pve/answer", method)
            self.assertEqual(reply.status, 405)
            self.assertEqual(reply.headers, (("Allow", "GET, HEAD, POST"),))

    def test_a_disk_that_is_gone(self) -> None:
        """503, and iPXE asks again; not a 404, which is final for an installer."""
        self.path.write_bytes(b"")
        reply = self.ask("/debian/x")
        self.assertEqual(reply.status, 503)
        self.assertIn("Retry-After", dict(reply.headers))

    def test_a_fresh_set_answers_at_once(self) -> None:
        """No thread, no waiting, while the set is younger than a second."""
        self.write("default/x.ks", b"1")
        self.ask("/ks")
        for _ in range(5):
            self.assertEqual(self.ask("/ks").body, b"1")
        self.assertIsInstance(self.answers.answer(self.request, "ks"), Reply)
        self.assertEqual(self.workers.asked, 1)

    def test_a_change_is_served_within_a_second(self) -> None:
        self.write("default/x.ks", b"1")
        self.ask("/ks")
        self.write("default/x.ks", b"22")
        self.clock.advance(1.01)
        self.assertEqual(self.ask("/ks").body, b"22")

    def test_a_large_body_is_looked_through_elsewhere(self) -> None:
        """At the bound in the reactor's turn, past it in a thread."""
        self.write("machine-1/x.ks", b"1")
        self.ask("/ks")
        for size, asked in ((LARGE, 1), (LARGE + 1, 2)):
            reply = self.ask("/ks", "POST", b"machine-1".ljust(size))
            self.assertEqual((reply.status, self.workers.asked), (200, asked))

    def test_a_large_body_is_looked_through_for_the_log_up_to_a_bound(self) -> None:
        """A stranger's megabyte does not hold up the answers of others once more."""
        for size, mac in ((LOGGED, MAC("525400000001")), (LOGGED + 1, None)):
            body = b'{"mac": "52:54:00:00:00:01", "x": ""}'
            body = body[:-2] + b"x" * (size - len(body)) + body[-2:]
            self.assertEqual(len(body), size)
            event = self.log_of(self.ask("/ks", "POST", body, JSON))
            self.assertEqual((event["status"], event["mac"]), (404, mac))

    def test_layers_are_composed_elsewhere_and_once(self) -> None:
        """The first machine that asks waits for a thread; the next request does not."""
        self.write("groups/g/x.ks", b"# answer: member machine-1\ngroup\n")
        self.write("machine-1/x.ks", b"on {{ mac }}\n")
        self.ask("/ks/nobody")
        for mac, asked in (("52:54:00:00:00:01", 2), ("52:54:00:00:00:02", 2)):
            reply = self.ask(f"/ks/machine-1?mac={mac}")
            self.assertEqual(reply.body, f"group\non {mac}\n".encode())
            self.assertEqual(self.workers.asked, asked)
        event = self.log_of(reply)
        self.assertEqual((event["machine"], event["group"]), ("machine-1", "g"))

    def test_what_is_asked_again_is_answered_again(self) -> None:
        """By the very same reply, until the set changes; another address gets its own."""
        self.write("default/x.ks", b"{{ peer }} 1")
        self.ask("/ks")
        first = self.ask("/ks")
        self.assertIs(self.ask("/ks"), first)
        self.assertEqual(first.body, b"192.0.2.7 1")
        other = Request("GET", "/ks", ("192.0.2.8", 1), self.request.headers)
        reply = self.successResultOf(Deferred.fromCoroutine(answer(self.answers, other)))
        assert isinstance(reply, Reply)
        self.assertEqual(reply.body, b"192.0.2.8 1")
        self.write("default/x.ks", b"{{ peer }} 22")
        self.clock.advance(1.01)
        self.assertEqual(self.ask("/ks").body, b"192.0.2.7 22")

    def test_the_part_of_a_seed_that_is_made_up(self) -> None:
        """At once: nothing is composed for it."""
        self.write("machine-1/x.yaml", b"#cloud-config\n")
        self.ask("/nobody")
        reply = self.ask("/ubuntu/machine-1/meta-data")
        self.assertEqual(reply.body, b'instance-id: "machine-1"\n')
        self.assertEqual(self.workers.asked, 1)

    def test_a_client_that_never_asked(self) -> None:
        """One that hangs up is not logged; one whose time ran out is."""

        def events(outcome: Outcome) -> list[LogEvent]:
            with capturedLogs() as caught:
                self.answers.finished(
                    Finished(None, PEER, 0, 0, 0, 10.0, outcome, None, "connection timed out")
                )
            return list(caught)

        self.assertEqual(events(Outcome.STOPPED), [])
        [event] = events(Outcome.TIMED_OUT)
        self.assertEqual(formatEvent(event), "- - body=0 0 connection timed out")
        self.assertEqual(event["peer"], PEER)


class TokenTests(AnswersTests):
    """``RESCRIPTUM_ANSWER_TOKEN``: nobody gets anything without it."""

    TOKEN = (("authorization", "Bearer pve:0123456789abcdef"),)

    def setUp(self) -> None:
        super().setUp()
        self.answers = Answers(self.store, self.workers, token=Secret("pve:0123456789abcdef"))

    def ask(
        self,
        target: str,
        method: str = "GET",
        body: bytes = b"",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Reply:
        """Everything that is answered without a token is answered with it."""
        return super().ask(target, method, body, (*headers, *self.TOKEN))

    def test_without_it(self) -> None:
        """None, another, another scheme: 401, and the reason is no secret of anybody's."""
        self.write("default/x.ks", b"1")
        for headers in ((), (("authorization", "Bearer x"),), (("authorization", "Basic eA=="),)):
            reply = super().ask("/ks", headers=headers)
            self.assertEqual((reply.status, reply.body), (401, b"401 Unauthorized\n"))
            self.assertIn(("WWW-Authenticate", "Bearer"), reply.headers)
            self.assertNotIn("0123456789abcdef", formatEvent(self.log_of(reply)))


class InstalledTests(Asking):
    """``POST /installed``: what makes a machine install itself is taken out of use."""

    def setUp(self) -> None:
        super().setUp()
        self.answers = Answers(self.store, self.workers, installed=Secret("token-of-the-installer"))
        self.write("52-54-00-00-00-01/boot.ipxe", b"#!ipxe\ninstall\n")
        self.write("52-54-00-00-00-01/x.ks", b"k")
        self.write("groups/g/boot.ipxe", b"# answer: member 52-54-00-00-00-01\n#!ipxe\ngroup\n")
        self.write("default/boot.ipxe", b"#!ipxe\nlocal\n")

    BEARER = (("authorization", "bearer token-of-the-installer"),)

    def boots(self) -> bytes:
        return self.ask("/ipxe/boot?mac=52:54:00:00:00:01").body

    def test_both_credentials(self) -> None:
        """S46: in the header, or in the body as Proxmox's webhook has it; and again."""
        body = {
            "token": "token-of-the-installer",
            "fqdn": "a.example.com",
            "network_interfaces": [{"name": "eno1", "mac": "52:54:00:00:00:01"}],
        }
        (self.path / "groups/g/boot.ipxe").unlink()
        for data, query, headers in (
            (json.dumps(body).encode(), "", JSON),
            (b"", "?mac=52:54:00:00:00:01", self.BEARER),
        ):
            self.write("52-54-00-00-00-01/boot.ipxe", b"#!ipxe\ninstall\n")
            self.clock.advance(2)
            self.assertEqual(self.boots(), b"#!ipxe\ninstall\n")
            for _ in range(2):
                reply = self.ask(f"/installed{query}", "POST", data, headers)
                self.assertEqual(reply.status, 200)
                self.assertEqual(self.boots(), b"#!ipxe\nlocal\n")
        self.assertEqual(self.ask("/ks/52-54-00-00-00-01").body, b"k")

    def test_a_group_is_never_touched(self) -> None:
        """What arms the machine then is the group; ``check`` says so."""
        self.ask("/installed?mac=52:54:00:00:00:01", "POST", b"", self.BEARER)
        self.assertIn(b"group", self.boots())
        self.assertTrue((self.path / "groups/g/boot.ipxe").exists())
        self.assertEqual(
            (self.path / "installed-52-54-00-00-00-01/boot.ipxe").read_bytes(),
            b"#!ipxe\ninstall\n",
        )

    def test_a_wrong_token_moves_nothing(self) -> None:
        """Nor does a token in the query, nor one that is no text."""
        for body, headers in (
            (b"", ()),
            (b"", (("authorization", "Bearer x"),)),
            (b'{"token": "x"}', JSON),
            (b'{"token": ["token-of-the-installer"]}', JSON),
            (b'{"a": {"token": "token-of-the-installer"}}', JSON),
        ):
            reply = self.ask("/installed?mac=52:54:00:00:00:01", "POST", body, headers)
            self.assertEqual(reply.status, 401, body)
            self.assertIn("still armed", self.log_of(reply)["reason"])
        self.ask("/installed?token=token-of-the-installer&mac=525400000001", "POST")
        self.assertTrue((self.path / "52-54-00-00-00-01/boot.ipxe").exists())

    def test_the_token_names_no_machine(self) -> None:
        self.write("token-of-the-installer/boot.ipxe", b"x")
        self.write("installed/boot.ipxe", b"x")
        body = b'{"token": "token-of-the-installer"}'
        self.assertEqual(self.ask("/installed", "POST", body, JSON).status, 200)
        self.assertTrue((self.path / "token-of-the-installer/boot.ipxe").exists())
        self.assertTrue((self.path / "installed/boot.ipxe").exists())

    def test_what_is_recorded(self) -> None:
        reply = self.ask("/installed?mac=52:54:00:00:00:01", "POST", b"", self.BEARER)
        event = self.log_of(reply)
        self.assertEqual(event["event"], "machine.installed")
        self.assertEqual(event["mac"], MAC("525400000001"))
        self.assertIn("52-54-00-00-00-01", event["disarmed"])
        again = self.log_of(self.ask("/installed?mac=525400000001", "POST", b"", self.BEARER))
        self.assertEqual(
            formatEvent(again), "POST /installed: nothing of 52:54:00:00:00:01 was armed"
        )
        nobody = self.log_of(self.ask("/installed", "POST", b"x", self.BEARER))
        self.assertEqual(formatEvent(nobody), "POST /installed: nothing was armed")

    def test_a_large_report_is_looked_through_elsewhere(self) -> None:
        """Before anybody knows whether its token is right."""
        body = {"network_interfaces": [{"mac": "52:54:00:00:00:01"}], "keys": "x" * LARGE}
        asked = self.workers.asked
        reply = self.ask("/installed", "POST", json.dumps({**body, "token": "x"}).encode(), JSON)
        self.assertEqual((reply.status, self.workers.asked), (401, asked + 1))
        body["token"] = "token-of-the-installer"
        reply = self.ask("/installed", "POST", json.dumps(body).encode(), JSON)
        self.assertIn(b"installed-52-54-00-00-00-01", reply.body)
        malformed = self.ask("/installed", "POST", b"{".ljust(LARGE + 1), JSON)
        self.assertEqual(malformed.status, 400)

    def test_without_a_token_in_the_settings_it_is_a_path_like_any_other(self) -> None:
        self.answers = Answers(self.store, self.workers)
        self.write("default/x.cfg", b"d")
        self.clock.advance(2)
        self.assertEqual(self.ask("/installed", "POST", b"", self.BEARER).body, b"d")

    def test_asking_for_the_path_is_no_report(self) -> None:
        """GET is an answer request, whatever it presents."""
        self.ask("/installed?mac=52:54:00:00:00:01", "GET", b"", self.BEARER)
        self.assertTrue((self.path / "52-54-00-00-00-01/boot.ipxe").exists())

    def test_an_answer_token_is_another(self) -> None:
        """An installer that has one header presents one token: the one for /installed is enough."""
        self.answers = Answers(
            self.store,
            self.workers,
            token=Secret("answer-token-0123"),
            installed=Secret("token-of-the-installer"),
        )
        reply = self.ask("/installed?mac=52:54:00:00:00:01", "POST", b"", self.BEARER)
        self.assertEqual(reply.status, 200)


class CaptureTests(Asking):
    def test_requests_are_kept(self) -> None:
        """With what the log says of their answer; what reports an installation is not."""
        captures = Path(self.mktemp())
        captures.mkdir()
        self.answers = Answers(
            self.store,
            self.workers,
            installed=Secret("token-of-the-installer"),
            captures=Captures(captures, self.workers, self.clock.seconds),
        )
        self.write("machine-1/x.ks", b"k")
        self.log_of(self.ask("/ks/machine-1", "POST", b"body"))
        self.log_of(self.ask("/pve/machine-1"))
        self.log_of(self.ask("/installed", "POST", b'{"token": "token-of-the-installer"}', JSON))
        texts = [each.read_text() for each in sorted(captures.glob("*.meta"))]
        self.assertEqual(len(texts), 2)
        self.assertIn("outcome: 200 format=text machine=machine-1 group=\n", texts[0])
        self.assertIn("outcome: 404 ", texts[1])
        self.assertEqual(min(captures.glob("*.body")).read_bytes(), b"body")
