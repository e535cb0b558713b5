"""Tests for ``rescriptum.media.resource``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import Unavailable
from rescriptum.media.catalogue import Part
from rescriptum.media.resource import MediaTree
from rescriptum.media.store import MediaStore
from rescriptum.media.tally import Served
from rescriptum.values import MAC
from rescriptum.web.reply import FileReply, Finished, Outcome, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import Answer, dispatch

from . import isos

_T = TypeVar("_T")
PEER = ("192.0.2.7", 2070)
KERNEL = Served("x", Part.KERNEL, "kernel")
INITRD = Served("x", Part.INITRD, "initrd")
ISO = Served("x", Part.IMAGE, "iso")


class Inline:
    """
    Workers that work at once.

    :ivar work_left: how many pieces are done before they get stuck; None: they never do.
    :ivar busy: they refuse work rather than getting stuck.
    """

    work_left: int | None = None
    busy = False

    def __init__(self) -> None:
        self._stuck: list[Deferred[None]] = []

    async def run(self, work: Callable[[], _T]) -> _T:
        if self.work_left is not None:
            self.work_left -= 1
            if self.work_left < 0 and self.busy:
                raise Unavailable("too much to do")
            if self.work_left < 0:
                self._stuck.append(Deferred())
                await self._stuck[-1]
        return work()

    def go_on(self) -> None:
        self.work_left = None
        for each in self._stuck:
            each.callback(None)


class MediaTreeTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        self.root.mkdir()
        isos.build(self.root / "rocky-9.iso", isos.ROCKY_DVD)
        isos.build(self.root / "debian.iso", isos.DEBIAN_NETINST)
        isos.plant(self.root / "netboot", isos.DEBIAN_NETBOOT)
        (self.root / "disk.img").write_bytes(b"disk")
        self.workers = Inline()
        self.clock = Clock()
        store = MediaStore(self.root, self.workers, self.clock.seconds)
        self.tree = MediaTree(store)

    def asked(self, target: str, *headers: tuple[str, str], method: str = "GET") -> Answer:
        answer = dispatch(self.tree, Request(method, target, PEER, headers))
        return self.successResultOf(answer) if isinstance(answer, Deferred) else answer

    def file(self, target: str) -> FileReply:
        answer = self.asked(target)
        assert isinstance(answer, FileReply), answer
        return answer

    def refused(self, target: str) -> tuple[int, str]:
        answer = self.asked(target)
        assert isinstance(answer, Reply)
        self.assertEqual(answer.body.decode(), f"{answer.status} Not Found\n")
        return answer.status, answer.reason

    def test_whole_images(self) -> None:
        """By every name that clients need: casper and firmware look at the ending (C2, W152)."""
        expected = (self.root / "rocky-9.iso").stat().st_size
        for target in ("/rocky-9/iso", "/rocky-9/img", "/rocky-9/rocky-9.iso", "//rocky-9/./iso"):
            found = self.file(target).content
            self.assertEqual((found.size, found.media_type), (expected, "application/vnd.efi-iso"))
        disk = self.file("/disk/disk.img").content
        self.assertEqual((disk.size, disk.media_type), (4, "application/vnd.efi-img"))
        self.assertEqual(self.file("/disk/disk.iso").content, disk)

    def test_kernels_and_initrds(self) -> None:
        """Out of the image, and out of a tree; exactly octets."""
        for name in ("rocky-9", "netboot"):
            kernel = self.file(f"/{name}/kernel").content
            self.assertEqual((kernel.size, kernel.media_type), (4096, "application/octet-stream"))
            self.assertGreater(self.file(f"/{name}/initrd").content.size, 65536)

    def test_files(self) -> None:
        """Any case, ``//``, percent-encoded names; remembered ones without waiting."""
        for _ in range(2):
            for target in (
                "/rocky-9/file/images/install.img",
                "/rocky-9/file//IMAGES/./Install.img",
                "/rocky-9/file/images%2Finstall.img",
            ):
                self.assertEqual(self.file(target).content.size, 5004)
        name = "/rocky-9/file/BaseOS/Packages/l/libstdc%2B%2B-11.4.1-3.el9.x86_64.rpm"
        self.assertEqual(self.file(name).content.size, 4)
        self.assertEqual(self.file("/netboot/file/pxelinux.0").content.size, 42430)
        self.assertEqual(
            self.file("/rocky-9/file/EFI/BOOT/BOOTX64.EFI").content.media_type, "application/efi"
        )
        self.workers.work_left = 0
        self.assertEqual(self.file("/rocky-9/file/images/install.img").content.size, 5004)

    def test_names_in_the_log(self) -> None:
        """An image's names do not write lines of their own there."""
        isos.plant(self.root / "netboot", {"a\nb": b"x"})
        about = self.file("/netboot/file/a%0Ab").about
        assert isinstance(about, Served)
        self.assertEqual(about.path, "file/a\\nb")

    def test_what_is_not_there(self) -> None:
        """404 with a bare sentence, the reason for the log alone."""
        for target, reason in (
            ("/nothing/iso", "no image 'nothing'"),
            ("/rocky-9/nothing", "no part"),
            ("/rocky-9/other.iso", "no part"),
            ("/debian/kernel", "netboot.tar.gz"),
            ("/disk/kernel", "unknown"),
            ("/netboot/iso", "netboot has no iso"),
            ("/disk/file/x", "not an ISO 9660 image"),
            ("/rocky-9/file/nothing", "nothing"),
            ("/rocky-9/file/../rocky-9.iso", "no '../rocky-9.iso'"),
            ("/rocky-9/file/%2e%2e/rocky-9.iso", "no '../rocky-9.iso'"),
            ("/rocky-9/file/", "no ''"),
            ("/rocky-9", "no such path"),
        ):
            status, why = self.refused(target)
            self.assertEqual(status, 404)
            self.assertIn(reason, why, target)

    def test_new_images(self) -> None:
        """A client that asks for one waits until it was looked into; others do not."""
        self.asked("/")
        isos.build(self.root / "alma.iso", isos.ALMA_BOOT)
        self.clock.advance(5)
        self.workers.work_left = 1  # the listing, and not the look into the image
        answer = dispatch(self.tree, Request("GET", "/alma/kernel", PEER))
        assert isinstance(answer, Deferred)
        self.assertNoResult(answer)
        self.assertIsInstance(self.asked("/rocky-9/kernel"), FileReply)
        self.workers.go_on()
        self.assertIsInstance(self.successResultOf(answer), FileReply)

    def test_images_that_cannot_be_looked_into(self) -> None:
        """While the workers have too much to do, clients are told to come again (W166)."""
        self.asked("/")
        isos.build(self.root / "alma.iso", isos.ALMA_BOOT)
        for work in (1, 0):
            self.clock.advance(5)
            self.workers.work_left, self.workers.busy = work, True
            answer = self.asked("/alma/iso")
            assert isinstance(answer, Reply)
            self.assertEqual(answer.status, 503)
            self.assertEqual(answer.headers[0][0], "Retry-After")

    def test_the_catalogue(self) -> None:
        """A table, or JSON for whoever accepts it."""
        answer = self.asked("/")
        assert isinstance(answer, Reply)
        self.assertIn("rocky-9", answer.body.decode())
        self.assertTrue(answer.media_type.startswith("text/plain"))
        answer = self.asked("/", ("accept", "application/json, */*;q=0.1"))
        assert isinstance(answer, Reply)
        self.assertEqual(answer.media_type, "application/json")
        told = json.loads(answer.body)
        ids = [each["id"] for each in told["media"]]
        self.assertEqual(ids, ["debian", "disk", "netboot", "rocky-9"])

    def test_fresh_catalogues_are_not_waited_for(self) -> None:
        """The reply is there at once: that is the fast path."""
        self.asked("/")
        self.workers.work_left = 0
        for _ in range(2):
            answer = dispatch(self.tree, Request("GET", "/rocky-9/iso", PEER))
            self.assertIsInstance(answer, FileReply)
            self.clock.advance(1.5)

    def test_who_asked(self) -> None:
        """The MAC is known only where the request names one."""
        for target, expected in (
            ("/rocky-9/kernel", None),
            ("/rocky-9/kernel?mac=52-54-00-00-00-01", MAC("525400000001")),
            ("/rocky-9/kernel?mac=nonsense", None),
            ("/rocky-9/kernel?x=1&mac=525400000001", MAC("525400000001")),
        ):
            about = self.file(target).about
            assert isinstance(about, Served)
            self.assertEqual(about.mac, expected, target)


def done(target: str, status: int = 200, **more: object) -> Finished:
    about = more.pop("about", None)
    headers = more.pop("headers", ())
    method = str(more.pop("method", "GET"))
    reason = str(more.pop("reason", ""))
    peer = more.pop("peer", PEER)
    assert isinstance(headers, tuple) and isinstance(peer, tuple) and not more
    request = Request(method, target, peer, headers)
    return Finished(request, peer, status, 512, 4096, 0.25, Outcome.SENT, about, reason)


class EventsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.tree = MediaTree(MediaStore(Path("/nonexistent"), Inline(), Clock().seconds))

    def told(self, *exchanges: Finished, closing: bool = False) -> list[dict[str, object]]:
        with capturedLogs() as events:
            for each in exchanges:
                self.tree.finished(each)
            if closing:
                self.tree.closed(PEER)
        return [event for event in events if "event" in event]

    def test_kernel_and_initrd(self) -> None:
        """One event each, by its own name."""
        events = self.told(done("/x/kernel", about=KERNEL), done("/x/initrd", about=INITRD))
        self.assertEqual([each["event"] for each in events], ["kernel.sent", "initrd.sent"])
        self.assertEqual((events[0]["sent"], events[0]["size"]), (512, 4096))

    def test_ranges(self) -> None:
        """A thousand of them are one event, when the connection ends."""
        exchanges = [done("/x/iso", 206, about=ISO) for _ in range(1000)]
        self.assertEqual(self.told(*exchanges), [])
        [event] = self.told(closing=True)
        self.assertEqual((event["event"], event["requests"]), ("image.sent", 1000))

    def test_sizes_that_were_asked_for(self) -> None:
        """HEAD sends nothing: firmware asks for sizes before it begins (W150)."""
        self.assertEqual(self.told(done("/x/kernel", about=KERNEL, method="HEAD")), [])

    def test_refusals(self) -> None:
        """One line with the reason; a client that insists on the same connection adds none."""
        again = [done("/x/kernel", 404, reason="no image 'x'") for _ in range(100)]
        [event] = self.told(*again)
        self.assertEqual(
            (event["event"], event["target"], event["status"], event["reason"]),
            ("image.refused", "/x/kernel", 404, "no image 'x'"),
        )
        self.assertEqual(len(self.told(done("/y/kernel", 404))), 1)
        self.tree.closed(PEER)
        self.assertEqual(self.tree._refused, {})
        self.assertEqual(len(self.told(*again)), 1)

    def test_broken_ranges(self) -> None:
        """W164: a loader that writes ``bytes=u-u`` is called broken."""
        headers = (("range", "bytes=u-u"),)
        [event] = self.told(done("/x/iso", 416, about=ISO, headers=headers))
        self.assertIn("build", str(event["reason"]))
        self.tree.closed(PEER)
        headers = (("range", "bytes=9000-"),)
        [event] = self.told(done("/x/iso", 416, about=ISO, headers=headers))
        self.assertNotIn("build", str(event["reason"]))

    def test_what_was_no_request(self) -> None:
        """It is one line too."""
        nothing = Finished(None, PEER, 400, 0, 0, 0.0, Outcome.SENT, None, "no HTTP")
        [event] = self.told(nothing)
        self.assertEqual((event["method"], event["target"], event["status"]), ("-", "-", 400))

    def test_long_targets(self) -> None:
        """What a stranger writes is cut before it is logged, also where it is in the reason."""
        [event] = self.told(done("/" + "x" * 8000, 404, reason="x" * 8000))
        self.assertEqual((len(str(event["target"])), len(str(event["reason"]))), (256, 512))
