"""Tests for ``rescriptum.answers.captured`` and ``rescriptum.answers.stores.capture``."""

import os
from pathlib import Path
from typing import NoReturn

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.logger import LogEvent, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.captured import Captured, number_of
from rescriptum.answers.stores import capture
from rescriptum.answers.stores.capture import MOST, OVERHEAD, WAITING, Captures, replayed
from rescriptum.errors import MalformedRequest
from rescriptum.testing import MemoryWorkers
from rescriptum.web.reply import Finished, Outcome
from rescriptum.web.request import Request

PEER = ("192.0.2.7", 2070)
#: 2026-11-30T13:40:02Z
NOW = 1796046002
POSTED = Captured(
    NOW,
    PEER,
    "POST",
    "/proxmox/answer?rack=4",
    "application/json; charset=utf-8",
    5,
    "200 format=toml machine=pve-07 group=rack-4",
)
META = """\
time: 2026-11-30T13:40:02Z
peer: 192.0.2.7:2070
request: POST /proxmox/answer?rack=4
content-type: application/json; charset=utf-8
body-bytes: 5
outcome: 200 format=toml machine=pve-07 group=rack-4
"""
#: What a header's value can be once it is read: blanks around it are gone.
_HEADER = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=200).map(str.strip)


class CapturedTests(SynchronousTestCase):
    def test_says_what_was_asked_and_what_became_of_it(self) -> None:
        self.assertEqual(POSTED.meta(), META)
        self.assertEqual(Captured.parse(META), POSTED)
        self.assertEqual(evolve(POSTED, media_type="").meta().count("content-type"), 0)

    def test_its_name_sorts_by_time_and_is_a_files(self) -> None:
        """Whatever the peer's address is spelt like."""
        for host, shown in (
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8::7", "2001-db8-7"),
            ("../../etc", "..-..-etc"),
            ("-", "-"),
            ("", "-"),
        ):
            name = evolve(POSTED, peer=(host, 1)).name(7)
            self.assertEqual(name, f"20261130T134002Z-{shown}-0007")
            self.assertEqual(number_of(f"{name}.body"), 7)
        self.assertEqual(POSTED.name(1000), "20261130T134002Z-192.0.2.7-1000")

    def test_only_bodies_of_captures_count(self) -> None:
        for name in (f"{POSTED.name(1)}.meta", "notes.body", ".body", "README", ""):
            self.assertIsNone(number_of(name))

    def test_a_machine_of_any_name_is_one_line(self) -> None:
        """Directories can be called anything that is no slash."""
        odd = evolve(POSTED, outcome="200 machine=a\nbody-bytes: 9\x85\u2028\udcff é")
        self.assertEqual(len(odd.meta().encode("utf-8").splitlines()), 6)
        parsed = Captured.parse(odd.meta())
        self.assertEqual(parsed.size, 5)
        self.assertEqual(parsed.outcome, r"200 machine=a\nbody-bytes: 9\x85\u2028\udcff é")

    def test_says_what_would_be_right(self) -> None:
        """People edit them to try something else."""
        for line, instead, words in (
            ("request: POST /proxmox/answer?rack=4\n", "", "request: missing"),
            ("POST /proxmox/answer?rack=4", "POST", "want METHOD /PATH?QUERY, not 'POST'"),
            ("POST /proxmox/answer?rack=4", "POST a b", "want METHOD /PATH?QUERY"),
            ("peer: 192.0.2.7:2070\n", "", "peer: missing; want ADDRESS:PORT"),
            ("192.0.2.7:2070", "192.0.2.7", "peer: want ADDRESS:PORT"),
            ("192.0.2.7:2070", "192.0.2.7:x", "peer: want ADDRESS:PORT"),
            ("body-bytes: 5", "body-bytes: five", "body-bytes: want a number, not 'five'"),
            ("2026-11-30T13:40:02Z", "yesterday", "time: want a time as 2026-11-30T13:40:02Z"),
        ):
            self.assertEqual(META.count(line), 1)
            error = self.assertRaises(MalformedRequest, Captured.parse, META.replace(line, instead))
            self.assertIn(words, str(error))

    def test_needs_no_more_than_the_request_and_who_asked(self) -> None:
        """One that somebody writes by hand."""
        parsed = Captured.parse("peer: [2001:db8::7]:1\n\nrequest: GET /ks\nnote: mine\n")
        self.assertEqual(parsed, Captured(0, ("2001:db8::7", 1), "GET", "/ks", "", 0, ""))

    def test_can_be_asked_again(self) -> None:
        """The same path, query, body and peer; the body's kind, and no other header."""
        request = replayed(META, b"{}\n\n\n")
        self.assertEqual((request.method, request.segments), ("POST", ("proxmox", "answer")))
        self.assertEqual((request.query, request.body), ((("rack", "4"),), b"{}\n\n\n"))
        self.assertEqual((request.peer, len(request.headers)), (PEER, 1))
        self.assertEqual(request.header("content-type"), POSTED.media_type)
        self.assertEqual(replayed("peer: -:0\nrequest: GET /ks", b"").headers, ())

    @settings(max_examples=300, deadline=None)
    @given(
        st.integers(0, 2**32),
        st.sampled_from(["192.0.2.7", "2001:db8::1", "-"]),
        st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=100),
        _HEADER,
        st.text(),
    )
    def test_whatever_it_says_can_be_read(
        self, time: int, host: str, target: str, media_type: str, outcome: str
    ) -> None:
        said = Captured(time, (host, 1), "GET", f"/{target}", media_type, 0, outcome)
        parsed = Captured.parse(said.meta())
        kept = media_type if len(media_type) <= 128 else ""
        self.assertEqual(evolve(parsed, outcome=""), evolve(said, outcome="", media_type=kept))

    @settings(max_examples=300, deadline=None)
    @given(st.text() | st.text().map(lambda text: META.replace("pve", text)))
    def test_any_text_is_a_capture_or_a_mistake(self, text: str) -> None:
        try:
            self.assertIsInstance(Captured.parse(text), Captured)
        except MalformedRequest as e:
            self.assertIn("want", str(e))


class CaptureTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.mkdir()
        self.now = float(NOW)
        self.workers = MemoryWorkers()
        self.capture = self.made()

    def made(self) -> Captures:
        return Captures(self.path, self.workers, lambda: self.now)

    def keep(
        self, target: str = "/ks", body: bytes = b"", method: str = "GET", composition: str = ""
    ) -> list[LogEvent]:
        """:returns: what is logged."""
        request = Request(method, target, PEER, (("content-type", "text/plain"),), body)
        done = Finished(request, PEER, 404, 0, 0, 0.1, Outcome.SENT)
        with capturedLogs() as events:
            self.capture.keep(done, composition)
        return list(events)

    @property
    def names(self) -> list[str]:
        return sorted(each.name for each in self.path.iterdir())

    def test_two_files_that_their_owner_can_read(self) -> None:
        """The body byte for byte, whatever it is."""
        mask = os.umask(0)
        self.addCleanup(os.umask, mask)
        self.keep("/proxmox/answer?a=b", b"\xff\0\r\n", "POST", "machine=x")
        body, meta = sorted(self.path.iterdir())
        self.assertEqual(body.name, "20261130T134002Z-192.0.2.7-0001.body")
        self.assertEqual(body.read_bytes(), b"\xff\0\r\n")
        parsed = Captured.parse(meta.read_text())
        self.assertEqual(
            parsed,
            Captured(NOW, PEER, "POST", "/proxmox/answer?a=b", "text/plain", 4, "404 machine=x"),
        )
        self.assertEqual({each.stat().st_mode & 0o777 for each in (body, meta)}, {0o600})

    def test_what_reports_an_installation_is_not_kept(self) -> None:
        """Its body may hold the token; however the path is spelt."""
        for target in ("/installed", "//installed/?mac=x", "/%69nstalled", "/Installed"):
            self.keep(target, b'{"token": "0123456789abcdef"}', "POST")
        self.assertEqual(self.names, [])

    def test_what_was_no_request_is_not_kept(self) -> None:
        done = Finished(None, PEER, 400, 0, 0, 0.1, Outcome.SENT)
        self.capture.keep(done)
        self.keep("*", method="OPTIONS")
        self.assertEqual(self.names, [])

    def test_so_many_and_no_more(self) -> None:
        """One line says so; what is there stays, and counts when the server starts again."""
        self.patch(capture, "MOST", 3)
        self.assertEqual([len(self.keep()) for _ in range(5)], [0, 0, 1, 0, 0])
        names = self.names
        self.assertEqual(len(names), 6)
        (self.path / "notes.txt").touch()
        self.capture = self.made()
        [event] = self.keep()
        self.assertEqual(
            formatEvent(event), f"Capture: 3 requests in {self.path}, no more are kept"
        )
        self.assertEqual((self.keep(), len(self.names)), ([], len(names) + 1))
        (self.path / names[0]).unlink()
        self.capture = self.made()
        self.keep()
        self.assertEqual(len(self.names), len(names) + 2)

    def test_a_thousand(self) -> None:
        for at in range(1, MOST):
            (self.path / f"20260101T000000Z-192.0.2.7-{at:04}.body").touch()
        self.assertEqual(len(self.keep()), 1)
        self.assertEqual(len(self.names), MOST + 1)
        self.assertEqual(self.names[-1], "20261130T134002Z-192.0.2.7-1000.meta")

    def test_a_failure_is_one_line_and_leaves_nothing_half(self) -> None:
        """The disk is full after the body: neither file is there, and the next one is kept."""
        real = os.open

        def full(path: str, flags: int, mode: int = 0) -> int:
            if str(path).endswith(".meta"):
                raise OSError(28, "No space left on device")
            return real(path, flags, mode)

        patched = self.patch(os, "open", full)
        [event] = self.keep()
        self.assertEqual(
            formatEvent(event),
            f"Capture: a request is not kept in {self.path}: No space left on device",
        )
        self.assertEqual((self.keep(), self.names), ([], []))
        patched.restore()
        self.assertEqual(self.keep(), [])
        self.assertEqual(len(self.names), 2)
        self.now += 60
        [event] = self.keep()
        self.assertEqual(formatEvent(event), "Requests that could not be kept: 1 more")

    def test_a_directory_that_is_gone_is_a_line(self) -> None:
        self.path.rmdir()
        [event] = self.keep()
        self.assertIn("No such file or directory", formatEvent(event))

    def test_our_own_mistake_is_told_with_its_traceback(self) -> None:
        def broken(path: object) -> NoReturn:
            raise ZeroDivisionError

        patched = self.patch(os, "listdir", broken)
        self.keep()
        patched.restore()
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(self.names, [])

    def test_what_waits_while_the_last_is_written_is_not_kept(self) -> None:
        """Of all that waited, one line."""
        self.patch(capture, "MOST", 2)
        self.workers.held = True
        for _ in range(5):
            self.keep()
        with capturedLogs() as events:
            self.workers.proceed()
        self.assertEqual((len(events), len(self.names)), (1, 4))

    def test_what_waits_behind_a_failure_is_kept(self) -> None:
        real = os.open

        def full(path: str, flags: int, mode: int = 0) -> int:
            patched.restore()
            raise OSError(28, "No space left on device")

        patched = self.patch(os, "open", full)
        self.workers.held = True
        for _ in range(2):
            self.keep()
        self.workers.proceed()
        self.assertEqual((os.open, len(self.names)), (real, 2))

    def test_what_waits_for_the_disk_is_bounded(self) -> None:
        """And written in order by one thread once the disk answers."""
        self.workers.held = True
        body = bytes(1 << 20)
        fit = WAITING // (len(body) + OVERHEAD)
        for at in range(fit):
            self.assertEqual(self.keep(f"/{at}", body, "POST"), [])
        [event] = self.keep("/more", body, "POST")
        self.assertIn("too many are waiting", formatEvent(event))
        small = (WAITING - fit * (len(body) + OVERHEAD)) // OVERHEAD
        for _ in range(small + 1):
            self.keep("/small")
        self.workers.proceed()
        self.assertEqual(len(self.names), 2 * (fit + small))
        self.keep("/later", body, "POST")
        self.assertEqual(len(self.names), 2 * (fit + small + 1))
