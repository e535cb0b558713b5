"""Tests for ``rescriptum.cache.resource``."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cache.grants import FIRMWARE, Grants
from rescriptum.cache.images import Sidecar
from rescriptum.cache.resource import MAX_COUNTED, MAX_IMAGES, CacheTree, Served
from rescriptum.cache.service import USE
from rescriptum.testing import MemoryWorkers
from rescriptum.values import MAC
from rescriptum.web.reply import FileReply, Finished, Outcome, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import dispatch
from rescriptum.web.site import Limits, Site

from .cachecase import START, CacheHouse, digest, plant
from .test_cache_grants import SetFence
from .webclient import PEER, Told, ask

MACHINE = MAC("525400000001")
DATA, OTHER = bytes(range(250)) * 4, b"other"


class TreeCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.image, self.other = plant(self.path, DATA), plant(self.path, OTHER)
        self.house = CacheHouse(self.path)
        self.successResultOf(Deferred.fromCoroutine(self.house.service.converge(())))
        self.fence = SetFence()
        numbers = count(1)
        self.grants = Grants(
            self.fence, lambda: next(numbers).to_bytes(16, "big"), self.house.clock.seconds
        )
        self.tree = CacheTree(self.house.service, self.grants, self.fence)
        self.boot = self.grants.boot(MACHINE).token

    def ask(self, target: str, method: str = "GET", **headers: str) -> Told:
        given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return ask(self.tree, target, method=method, headers=given)


class BootPathTests(TreeCase):
    def test_an_image(self) -> None:
        told = self.ask(f"/cache/t/{self.boot}/{self.image}")
        self.assertEqual((told.status, told.body), (200, DATA))
        self.assertEqual(told.header("ETag"), f'"{self.image}"')
        self.assertEqual(told.header("Accept-Ranges"), "bytes")
        self.assertEqual(told.header("Content-Type"), "application/octet-stream")

    def test_any_image(self) -> None:
        self.assertEqual(self.ask(f"/cache/t/{self.boot}/{self.other}").body, OTHER)

    def test_its_size(self) -> None:
        """HEAD says what GET would (W150)."""
        told = self.ask(f"/cache/t/{self.boot}/{self.image}", "HEAD")
        self.assertEqual((told.status, told.body), (200, b""))
        self.assertEqual(told.header("Content-Length"), "1000")

    def test_ranges(self) -> None:
        """As sanboot reads; a firmware's resume too (W157, W163)."""
        path = f"/cache/t/{self.boot}/{self.image}"
        told = self.ask(path, range="bytes=512-1023", if_match=f'"{self.image}"')
        self.assertEqual((told.status, told.body), (206, DATA[512:]))
        self.assertEqual(told.header("Content-Range"), "bytes 512-999/1000")
        self.assertEqual(self.ask(path, range="bytes=1000-").status, 416)
        self.assertEqual(self.ask(path, if_none_match=f'"{self.image}"').status, 304)

    def test_what_is_not_here(self) -> None:
        """Whatever it is called: the machine has another source."""
        (self.path / "secret").write_bytes(b"")
        for name in (digest(b"none"), "secret", "..%2Fsecret", f"{self.image}.json", "%00"):
            self.assertEqual(self.ask(f"/cache/t/{self.boot}/{name}").status, 404)
        self.assertEqual(self.ask(f"/cache/t/{self.boot}/").status, 404)
        self.assertEqual(self.ask(f"/cache/t/{self.boot}/{self.image}", "POST").status, 405)

    def test_without_a_grant(self) -> None:
        """Wrong, lapsed, of another sort, or of another epoch."""
        firmware = self.grants.firmware(self.image).token
        lapsing = self.grants.boot(MAC("525400000009"), 60).token
        self.house.clock.advance(60)
        for token in ("0" * 32, lapsing, firmware, "x" * 5000, "%ff"):
            told = self.ask(f"/cache/t/{token}/{self.image}")
            self.assertEqual((told.status, told.body), (403, b"403 Forbidden\n"))
        self.fence.epoch = 8
        self.assertEqual(self.ask(f"/cache/t/{self.boot}/{self.image}").status, 403)

    def test_the_fence(self) -> None:
        """Closed, every new reply is put off, further ranges too; iPXE waits and asks (W166)."""
        path = f"/cache/t/{self.boot}/{self.image}"
        self.assertEqual(self.ask(path, range="bytes=0-99").status, 206)
        self.fence.opened = False
        for method, range_ in (("GET", "bytes=100-199"), ("GET", "bytes=0-"), ("HEAD", "")):
            told = self.ask(path, method, range=range_)
            self.assertEqual(told.status, 503)
            self.assertEqual(told.header("Retry-After"), "5")
        self.fence.opened = True
        self.assertEqual(self.ask(path).status, 200)

    def test_its_last_use(self) -> None:
        """Is that of a GET."""

        def used() -> int:
            return Sidecar.parse((self.path / f"{self.image}.json").read_bytes()).used

        self.house.clock.advance(USE)
        path = f"/cache/t/{self.grants.boot(MACHINE).token}/{self.image}"
        self.ask(path, "HEAD")
        self.assertEqual(used(), START)
        self.ask(path, range="bytes=0-0")
        self.assertEqual(used(), START + USE)


class FirmwarePathTests(TreeCase):
    def test_one_image_whatever_the_lease(self) -> None:
        token = self.grants.firmware(self.image).token
        self.fence.epoch, self.fence.opened = 0, False
        self.assertEqual(self.ask(f"/cache/f/{token}/{self.image}").body, DATA)
        self.assertEqual(self.ask(f"/cache/f/{token}/{self.other}").status, 403)
        self.house.clock.advance(FIRMWARE)
        self.assertEqual(self.ask(f"/cache/f/{token}/{self.image}").status, 403)

    def test_a_boot_grant_is_none(self) -> None:
        self.assertEqual(self.ask(f"/cache/f/{self.boot}/{self.image}").status, 403)


class ConnectionTests(TreeCase):
    """Through a listener's connection."""

    def connect(self, workers: MemoryWorkers) -> tuple[Site, StringTransport]:
        site = Site(self.tree, reactor=self.house.clock, limits=Limits.media(), workers=workers)
        self.transport = StringTransport()
        connection = site.buildProtocol(IPv4Address("TCP", "192.0.2.7", 50000))
        assert connection is not None
        connection.makeConnection(self.transport)
        head = f"GET /cache/t/{self.boot}/{self.image} HTTP/1.1\r\nHost: x\r\n\r\n"
        connection.dataReceived(head.encode("ascii"))
        return site, self.transport

    def test_a_lease_that_goes_while_the_disk_is_waited_for(self) -> None:
        """Closed, or another's epoch: nothing of the image goes out."""
        for epoch, opened in ((7, False), (8, True)):
            self.setUp()
            workers = MemoryWorkers(held=True)
            _, transport = self.connect(workers)
            self.fence.epoch, self.fence.opened = epoch, opened
            workers.proceed()
            self.assertTrue(transport.value().startswith(b"HTTP/1.1 503 "))
            self.assertNotIn(DATA[:250], transport.value())
            self.assertEqual(self.fence.told, 0)

    def test_the_fence_hears_of_each_reply(self) -> None:
        _, transport = self.connect(MemoryWorkers())
        self.assertTrue(transport.value().startswith(b"HTTP/1.1 200 "))
        self.assertEqual(self.fence.told, 1)


class LogTests(TreeCase):
    def events(self, *finished: Finished, gone: bool = True) -> list[Mapping[str, object]]:
        with capturedLogs() as events:
            for each in finished:
                self.tree.finished(each)
            if gone:
                self.tree.closed(PEER)
        return list(events)

    def done(
        self,
        status: int,
        sent: int = 100,
        image: str = "",
        reason: str = "",
        method: str = "GET",
        peer: tuple[str, int] = PEER,
    ) -> Finished:
        about = Served(image or self.image, "0badcafe", MACHINE) if status < 400 else None
        request = Request(method, f"/cache/t/{self.boot}/{self.image}", peer)
        return Finished(request, peer, status, sent, 1000, 0.5, Outcome.SENT, about, reason)

    def test_a_whole_image(self) -> None:
        """At once, with what ties it to a machine's way."""
        [event] = self.events(self.done(200, 1000), gone=False)
        self.assertEqual((event["image"], event["mac"]), (self.image, MACHINE))
        self.assertEqual((event["sent"], event["outcome"]), (1000, "sent"))
        self.assertIn("0badcafe", str(event["path"]))

    def test_many_ranges(self) -> None:
        """Are one event, when the connection ends."""
        self.assertEqual(self.events(*[self.done(206)] * 5000, gone=False), [])
        [event] = self.events()
        self.assertEqual((event["requests"], event["sent"]), (5000, 500_000))
        self.assertEqual(self.events(), [])

    def test_what_brings_nothing(self) -> None:
        """HEAD and 304 are no part of anybody's way."""
        self.assertEqual(self.events(self.done(200, 0, method="HEAD")), [])

    def test_refusals(self) -> None:
        """With their reason, once for a client that insists; and never with the grant."""
        why = "no such grant"
        events = self.events(
            *[self.done(403, reason=why)] * 5, self.done(404, reason="no image"), gone=False
        )
        self.assertEqual([each["reason"] for each in events], [why, "no image"])
        self.assertNotIn(self.boot, repr(events))

    def test_no_token_is_logged(self) -> None:
        """By what routes say of themselves."""
        with capturedLogs() as events:
            for target in (
                f"/cache/t/{self.boot}/{self.image}",
                f"/cache/t/{self.boot}/none",
                f"/cache/f/{self.boot}/{self.image}",
            ):
                request = Request("GET", target, PEER)
                reply = dispatch(self.tree, request)
                assert isinstance(reply, FileReply | Reply)
                about, reason, status = reply.about, "", 200
                if isinstance(reply, Reply):
                    reason, status = reply.reason, reply.status
                done = Finished(request, PEER, status, 0, 0, 0.0, Outcome.SENT, about, reason)
                self.tree.finished(done)
        self.assertEqual(len(events), 3)
        self.assertNotIn(self.boot, repr(events))

    def test_so_much_is_counted(self) -> None:
        """Of connections, and of images on one: with one more, the first is told."""
        peers = [("192.0.2.9", port) for port in range(MAX_COUNTED)]
        self.assertEqual(self.events(*(self.done(206, peer=each) for each in peers)), [])
        [event] = self.events(self.done(206), gone=False)
        self.assertEqual(event["peer"], peers[0])
        images = [f"{number:064x}" for number in range(MAX_IMAGES)]
        [event] = self.events(*(self.done(206, image=each) for each in images), gone=False)
        self.assertEqual(event["image"], self.image)
        self.assertEqual(len(self.events()), MAX_IMAGES)
