"""Tests for ``rescriptum.boot.resource``."""

from pathlib import Path
from typing import cast

from twisted.internet.defer import Deferred
from twisted.logger import LogEvent, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.resource import LoaderTree
from rescriptum.boot.store import BootDirectory
from rescriptum.values import Generated
from rescriptum.web.decision import decide
from rescriptum.web.reply import FileReply, Finished, Outcome, Reply, StreamReply
from rescriptum.web.request import Request
from rescriptum.web.routing import answer

PEER = ("192.0.2.7", 40000)


class LoaderTreeTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        (self.root / "x64").mkdir(parents=True)
        (self.root / "ipxe-x86_64.efi").write_bytes(b"MZ" * 512)
        (self.root / "x64" / "a b.efi").write_bytes(b"blank")
        self.files = LoaderTree(
            BootDirectory(self.root, {"autoexec.ipxe": Generated(b"#!ipxe\n", "text/plain")})
        )
        self.events = cast(list[LogEvent], self.enterContext(capturedLogs()))

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: tuple[tuple[str, str], ...] = (),
        outcome: Outcome = Outcome.SENT,
        sent: int | None = None,
    ) -> Reply | FileReply:
        """Ask, and tell the application how it ended, as the listener does."""
        request = Request(method, path, PEER, headers)
        reply = self.successResultOf(Deferred.fromCoroutine(answer(self.files, request)))
        assert not isinstance(reply, StreamReply)
        decided = decide(request, reply)
        self.files.finished(
            Finished(
                request,
                PEER,
                decided.status,
                decided.length if sent is None else sent,
                decided.size,
                0.5,
                outcome,
                reply.about,
                reply.reason if isinstance(reply, Reply) else "",
            )
        )
        self.status = decided.status
        return reply

    def recorded(self) -> list[tuple[object, ...]]:
        return [
            (each["event"], each["loader"], each.get("sent"))
            for each in self.events
            if "event" in each
        ]

    def test_a_loader(self) -> None:
        """A file of the directory, exactly typed (W152); asked and sent are two events."""
        reply = self.ask("/boot/ipxe-x86_64.efi")
        assert isinstance(reply, FileReply)
        self.assertEqual(reply.content.media_type, "application/efi")
        self.assertEqual(
            self.recorded(),
            [
                ("loader.asked", "ipxe-x86_64.efi", None),
                ("loader.sent", "ipxe-x86_64.efi", 1024),
            ],
        )
        self.assertEqual({each["via"] for each in self.events}, {"http"})

    def test_names_as_tftp_finds_them(self) -> None:
        """Another case, backslashes, doubled slashes, percent signs: one jail for both ways."""
        for path in (
            "/boot//IPXE-x86_64.EFI",
            "/boot/x64%5Ca%20b.efi",
            "/boot/./x64/a%20b.efi",
            "/boot/x64/a%20b.efi%FF",
        ):
            self.ask(path)
            self.assertEqual(self.status, 200, path)

    def test_head_is_a_probe(self) -> None:
        """Firmware asks for the size first (W150): that is no failure and no transfer."""
        self.ask("/boot/ipxe-x86_64.efi", "HEAD")
        self.assertEqual(self.recorded(), [("loader.probed", "ipxe-x86_64.efi", 0)])
        self.assertEqual(self.events[0]["size"], 1024)

    def test_generated(self) -> None:
        """The script is answered beside any loader."""
        reply = self.ask("/boot/x64/autoexec.ipxe")
        assert isinstance(reply, Reply)
        self.assertEqual((reply.body, reply.media_type), (b"#!ipxe\n", "text/plain"))
        self.assertEqual(self.recorded()[-1], ("loader.sent", "x64/autoexec.ipxe", 7))

    def test_what_is_not_there(self) -> None:
        """A bare 404 and one event, whatever the name holds."""
        for path in ("/boot/none.efi", "/boot/", "/boot", "/boot/x64", "/boot/%FF%00", "/boot/%1B"):
            self.events.clear()
            reply = self.ask(path)
            assert isinstance(reply, Reply)
            self.assertEqual((self.status, reply.body), (404, b"404 Not Found\n"), path)
            [event] = self.events
            self.assertEqual((event["event"], event["code"]), ("loader.refused", "not-found"))
            self.assertTrue(str(event["loader"]).isprintable())

    def test_leaving_the_directory(self) -> None:
        """``..`` in any spelling is forbidden."""
        for path in ("/boot/../secret", "/boot/x64/%2e%2e/..%5csecret", "/boot/a%00b"):
            self.events.clear()
            self.ask(path)
            self.assertEqual(self.status, 403, path)
            [event] = self.events
            self.assertEqual(event["code"], "forbidden")

    def test_long_names_are_cut_in_the_log(self) -> None:
        """A stranger's kilobytes do not become a log line of kilobytes."""
        self.ask("/boot/" + "a" * 4000)
        [event] = self.events
        self.assertLess(len(str(event["loader"])), 200)

    def test_pieces_are_one_event(self) -> None:
        """A thousand ranges of one file on one connection are asked once and sent once (W163)."""
        for at in range(0, 1000, 10):
            self.ask("/boot/ipxe-x86_64.efi", headers=(("range", f"bytes={at}-{at + 9}"),))
            self.assertEqual(self.status, 206)
        self.files.closed(PEER)
        self.assertEqual(
            self.recorded(),
            [
                ("loader.asked", "ipxe-x86_64.efi", None),
                ("loader.sent", "ipxe-x86_64.efi", 1000),
            ],
        )
        self.files.closed(PEER)
        self.assertEqual(len(self.events), 2)

    def test_pieces_of_two_files(self) -> None:
        """Another file on the same connection ends the first one's event."""
        part = (("range", "bytes=0-1"),)
        self.ask("/boot/ipxe-x86_64.efi", headers=part)
        self.ask("/boot/x64/a%20b.efi", headers=part)
        self.files.closed(PEER)
        self.assertEqual(
            [each[:2] for each in self.recorded() if each[0] == "loader.sent"],
            [("loader.sent", "ipxe-x86_64.efi"), ("loader.sent", "x64/a b.efi")],
        )

    def test_how_it_can_end(self) -> None:
        """A machine that left, a disk that failed and a time-out are told apart."""
        for outcome, event in {
            Outcome.STOPPED: "loader.stopped",
            Outcome.FAILED: "loader.failed",
            Outcome.TIMED_OUT: "loader.failed",
        }.items():
            self.ask("/boot/ipxe-x86_64.efi", outcome=outcome, sent=100)
            self.assertEqual(self.recorded()[-1], (event, "ipxe-x86_64.efi", 100))
            self.assertTrue(self.events[-1]["reason"])

    def test_a_client_that_has_it_already(self) -> None:
        """304 sends nothing and is a probe."""
        reply = self.ask("/boot/ipxe-x86_64.efi")
        assert isinstance(reply, FileReply)
        self.ask("/boot/ipxe-x86_64.efi", headers=(("if-none-match", reply.content.etag),))
        self.assertEqual(self.status, 304)
        self.assertEqual(self.recorded()[-1], ("loader.probed", "ipxe-x86_64.efi", 0))

    def test_writing(self) -> None:
        """Nothing can be put there."""
        self.ask("/boot/ipxe-x86_64.efi", "PUT")
        self.assertEqual(self.status, 405)
        self.assertEqual(self.events[-1]["code"], "method")

    def test_no_request(self) -> None:
        """What was no request at all is not a loader's event."""
        self.files.finished(Finished(None, PEER, 400, 0, 0, 0.0, Outcome.SENT))
        self.assertEqual(self.events, [])
