"""Tests for ``rescriptum.answers.resource``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogEvent, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.resource import LARGE, Answers
from rescriptum.answers.store import AnswerStore
from rescriptum.values import MAC
from rescriptum.web.reply import FileReply, Finished, Outcome, Reply
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


class AnswersTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.workers, self.clock = Here(), Clock()
        store = AnswerStore(self.path, self.workers, self.clock)
        self.answers = Answers(store, self.workers)

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
        assert not isinstance(reply, FileReply)
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

    def test_a_default_is_said_to_be_one(self) -> None:
        self.write("default/x.ks", b"")
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
        self.write("machine-1/a.toml", b"")
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
            ("/pve/machine-1", "machine-1/a.toml: not TOML"),
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
