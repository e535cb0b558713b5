"""Tests for ``rescriptum.cache.service`` and ``rescriptum.cache.runner``."""

import os
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cache.backoff import WRONG
from rescriptum.cache.images import Sidecar
from rescriptum.cache.runner import ABREAST
from rescriptum.cache.service import LISTED, TOLD, USE, CacheStatus
from rescriptum.cache.store import DiskFull
from rescriptum.contract.reports import State
from rescriptum.contract.specs import CacheImage
from rescriptum.errors import Refused, Unavailable, Unverified

from .cachecase import START, CacheHouse, MemoryPull, digest, image, plant

A, B, C, D = (letter * 1000 for letter in (b"a", b"b", b"c", b"d"))
MIB = 1 << 20


class CacheCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.start()

    def start(self, budget: int = 0) -> None:
        self.house = CacheHouse(self.path, budget)
        self.client, self.service = self.house.client, self.house.service

    def want(self, *images: CacheImage) -> CacheStatus:
        converging = Deferred.fromCoroutine(self.service.converge(images))
        return self.successResultOf(converging)

    def plant(self, *datas: bytes) -> list[str]:
        """The first one was used longest ago."""
        used = START - len(datas)
        return [plant(self.path, data, used + at) for at, data in enumerate(datas)]

    def running(self) -> MemoryPull:
        [pull] = self.client.running
        return pull

    def stop(self) -> None:
        self.successResultOf(self.service.stopService())


class BringTests(CacheCase):
    """An image that somebody waits for, and that the site need not have."""

    def bring(self, wanted: CacheImage) -> Deferred[None]:
        return Deferred.fromCoroutine(self.service.bring(wanted))

    def test_it_is_pulled(self) -> None:
        """With the next look, and whoever waits knows in the very turn in which it is there."""
        self.want()
        waiting, other = self.bring(image(A)), self.bring(image(A))
        self.assertEqual(self.house.changes, 2)
        self.assertNoResult(waiting)
        self.want(image(B))
        self.assertEqual(len(self.client.running), 2)
        self.client.running[1].bring(A)
        self.client.running[1].end()
        self.successResultOf(waiting)
        self.successResultOf(other)
        self.assertIsNotNone(self.service.find(digest(A)))

    def test_it_is_there(self) -> None:
        """Nothing is pulled."""
        self.plant(A)
        self.want()
        self.successResultOf(self.bring(image(A)))
        self.assertEqual(self.client.pulls, [])

    def test_it_stays_while_somebody_waits(self) -> None:
        """Whoever holds it before the turn is over keeps it; then it goes, where room is short."""
        self.start(budget=1500)
        self.want()
        waiting = self.bring(image(A))
        waiting.addCallback(lambda _: self.house.held.add(digest(A)))
        self.want(image(B))
        for pull, data in zip(tuple(self.client.running), (B, A), strict=True):
            pull.bring(data)
            pull.end()
        self.successResultOf(waiting)
        self.want(image(B))
        self.assertIsNotNone(self.service.find(digest(A)))
        self.house.held.clear()
        self.want(image(B))
        self.assertIsNone(self.service.find(digest(A)))

    def test_it_cannot_be_had(self) -> None:
        """Wrong bytes, a server that has it not, or no URL: the first trouble is told."""
        self.want()
        waiting = self.bring(image(A))
        self.want()
        self.running().bring(B)
        self.running().end()
        self.assertIn("image-unverified", str(self.failureResultOf(waiting, Unverified).value))
        gone = self.bring(image(C))
        self.want()
        self.client.running[-1].fail(Refused("404"))
        self.failureResultOf(gone, Unverified)
        bad = self.bring(CacheImage(digest(D), "file:///x"))
        self.want()
        self.failureResultOf(bad, Unverified)
        self.assertEqual(self.client.running, [])

    def test_nobody_waits_any_more(self) -> None:
        """The pull ends with the next look."""
        self.want()
        waiting = self.bring(image(A))
        self.want()
        pull = self.running()
        waiting.cancel()
        self.failureResultOf(waiting)
        self.want()
        self.assertTrue(pull.stopped)


class PullTests(CacheCase):
    def test_an_image_is_pulled(self) -> None:
        """In the background; there is nothing of it before it is whole."""
        status = self.want(image(A))
        self.assertEqual(status, CacheStatus(0, 0, 0, 1, 0))
        self.assertIs(status.state, State.CONVERGING)
        self.running().bring(A)
        self.assertIsNone(self.service.find(digest(A)))
        self.running().end()
        self.assertEqual(self.house.changes, 1)
        status = self.want(image(A))
        self.assertEqual(status, CacheStatus(1000, 0, 1, 0, 0))
        self.assertIs(status.state, State.READY)
        content = self.service.find(digest(A))
        assert content is not None
        self.assertEqual(content.path.read_bytes(), A)
        self.assertEqual(len(self.client.pulls), 1)

    def test_wrong_bytes(self) -> None:
        """Are never served nor renamed, told, and not asked for again at once."""
        self.want(image(A))
        self.running().bring(B)
        self.running().end()
        self.assertEqual(self.house.names(), [])
        self.assertIsNone(self.service.find(digest(A)))
        self.assertIsNone(self.service.find(digest(B)))
        status = self.want(image(A))
        self.assertIs(status.state, State.FAILED)
        self.assertEqual(status.troubles[0].code, "image-unverified")
        self.assertIn(digest(B), status.reason)
        self.house.clock.advance(WRONG - 1)
        self.assertEqual(self.client.running, [])
        self.house.clock.advance(1)
        self.running().bring(A)
        self.running().end()
        self.assertEqual(self.house.names(), [digest(A)])

    def test_two_at_once(self) -> None:
        """The others wait for their turn; who fails goes to the end of it."""
        self.want(image(A), image(B), image(C))
        self.assertEqual(len(self.client.running), ABREAST)
        self.client.pulls[0].fail(Unavailable("gone"))
        self.assertEqual(self.client.running, self.client.pulls[1:])
        self.house.clock.advance(60)
        self.assertEqual(self.client.running, self.client.pulls[1:])
        self.client.pulls[1].bring(B)
        self.client.pulls[1].end()
        self.assertEqual(self.client.running, [self.client.pulls[0], self.client.pulls[2]])
        self.assertEqual(ABREAST, 2)

    def test_it_is_tried_again(self) -> None:
        """Ever more rarely, and told once for each reason."""
        self.want(image(A))
        with capturedLogs() as events:
            for seconds in (0.5, 1.0, 2.0, 4.0):
                self.running().fail(Unavailable("the server answers 503"))
                self.house.clock.advance(seconds - 0.25)
                self.assertEqual(self.client.running, [])
                self.house.clock.advance(0.25)
            self.running().fail(Refused("the server answers 404"))
        self.assertEqual(len(events), 2)
        self.assertEqual(self.house.changes, 2)
        status = self.want(image(A))
        self.assertEqual((status.pulling, status.failed), (0, 1))
        self.assertEqual(status.reason, f"image {digest(A)[:12]}: the server answers 404")

    def test_a_pull_that_gets_on(self) -> None:
        """Has not failed, however often it breaks off."""
        data = bytes(5 * MIB)
        self.want(image(data))
        for _ in range(4):
            self.running().bring(bytes(MIB), len(data))
            self.running().fail(Unavailable("broke off"))
            self.assertEqual(self.want(image(data)).failed, 0)
            self.house.clock.advance(0.5)
        self.running().bring(bytes(MIB), len(data))
        self.running().end()
        self.assertEqual(self.want(image(data)).ready, 1)

    def test_trouble_is_over_when_bytes_come(self) -> None:
        data = bytes(3 * MIB)
        self.want(image(data))
        self.running().fail(DiskFull("the disk is full"))
        self.assertEqual(self.want(image(data)).failed, 1)
        self.house.clock.advance(0.5)
        self.assertEqual(self.want(image(data)).failed, 1)
        self.running().bring(bytes(MIB), len(data))
        self.assertEqual(self.want(image(data)).failed, 0)

    def test_a_server_that_is_not_trusted(self) -> None:
        """Costs no image, so it is not waited for as long."""
        self.want(image(A))
        self.running().fail(Unverified("the certificate has expired"))
        self.house.clock.advance(0.5)
        self.assertEqual(len(self.client.running), 1)

    def test_a_full_disk(self) -> None:
        """Is a state that is told, by a code; what is there is served on."""
        self.plant(B)
        self.want(image(A))
        self.running().bring(bytes(2 * MIB), 3 * MIB)
        self.running().fail(DiskFull("9 bytes more are needed, and there is room for 0"))
        status = self.want(image(A))
        self.assertEqual((status.ready, status.failed), (1, 1))
        self.assertEqual(self.house.names(), [digest(B)])
        self.assertEqual(status.troubles[0].code, "disk-full")
        self.assertIsNotNone(self.service.find(digest(B)))

    def test_a_mistake_of_ours(self) -> None:
        """Is logged with its place, and stops no other image."""
        self.want(image(A), image(B))
        self.client.pulls[0].fail(KeyError("oops"))
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)
        self.assertEqual(self.want(image(A), image(B)).troubles[0].reason, "KeyError")
        self.client.pulls[1].bring(B)
        self.client.pulls[1].end()
        self.assertIsNotNone(self.service.find(digest(B)))

    def test_what_is_not_wanted_any_more(self) -> None:
        """Ends, whether it runs or waits, and nothing is left of it."""
        self.want(image(A), image(B), image(C), image(D))
        first, second, *_ = self.client.pulls
        first.bring(A[:10], 1000)
        second.fail(Unavailable("gone"))
        status = self.want(image(D))
        self.assertEqual((status.pulling, self.house.names()), (1, []))
        self.assertEqual(self.running(), self.client.pulls[3])
        self.assertEqual(self.house.clock.getDelayedCalls(), [])
        self.assertGreaterEqual(self.house.changes, 3)

    def test_another_url(self) -> None:
        """The old pull ends, and then the new one begins."""
        self.want(image(A))
        self.client.workers.held = True
        self.want(image(A, "http://other/x"))
        self.assertEqual(len(self.client.pulls), 1)
        self.client.workers.proceed()
        self.want(image(A, "http://other/x"))
        self.assertEqual(self.running().url.to_text(), "http://other/x")

    def test_what_nobody_can_pull(self) -> None:
        """Only HTTP and HTTPS; and a digest is what files are called, so it is one."""
        status = self.want(
            CacheImage("../../etc/passwd", "http://images/x"),
            CacheImage("A" * 64, "http://images/x"),
            image(A, "file:///etc/shadow"),
            image(B, "ftp://images/x"),
        )
        codes = [each.code for each in status.troubles]
        self.assertEqual(codes, ["invalid-digest"] * 2 + ["invalid-url"] * 2)
        self.assertNotIn("/", status.reason.removeprefix("image "))
        self.assertEqual((self.client.pulls, status.failed), ([], 4))
        self.assertIn("and 3 more", status.reason)

    def test_so_many_troubles_are_told(self) -> None:
        status = self.want(*(CacheImage(f"{each}", "x") for each in range(TOLD + 10)))
        self.assertEqual((status.failed, len(status.troubles)), (TOLD + 10, TOLD))

    def test_one_image_twice(self) -> None:
        self.want(image(A), image(A, "http://other/x"))
        self.assertEqual(self.running().url.to_text(), "http://images/x")

    def test_stopped(self) -> None:
        """Nothing is left that runs, and no half image."""
        self.want(image(A), image(B), image(C))
        self.client.pulls[0].bring(A[:10], 1000)
        self.client.pulls[1].fail(Unavailable("gone"))
        self.stop()
        self.assertEqual(self.house.names(), [])
        self.assertEqual(self.house.clock.getDelayedCalls(), [])
        self.want(image(A))
        self.assertEqual(self.client.running, [])


class EvictionTests(CacheCase):
    def test_least_recently_used_first(self) -> None:
        """Until the rest fits."""
        self.plant(A, B, C)
        self.start(2500)
        status = self.want()
        self.assertEqual(status, CacheStatus(2000, 2500, 2, 0, 0))
        self.assertEqual(self.house.names(), sorted([digest(B), digest(C)]))
        self.assertFalse((self.path / f"{digest(A)}.json").exists())

    def test_never_what_is_named(self) -> None:
        """By the section, or by who else may: boot entries, and grants of BMCs."""
        self.plant(A, B, C)
        self.start(1)
        self.house.held = {digest(B)}
        status = self.want(image(A))
        self.assertEqual(self.house.names(), sorted([digest(A), digest(B)]))
        self.assertEqual((status.bytes, status.budget), (2000, 1))
        self.house.held = set()
        # A URL that is none takes no image away that is here.
        status = self.want(image(A, "nothing"))
        self.assertEqual((self.house.names(), status.failed), ([digest(A)], 0))

    def test_named_while_another_goes(self) -> None:
        """What is looked at is what is named when each one goes."""
        self.plant(A, B, C)
        self.start(1)
        self.want(image(A), image(B), image(C))
        self.client.workers.held = True
        converging = Deferred.fromCoroutine(self.service.converge(()))
        self.house.held = {digest(B), digest(C)}
        self.client.workers.proceed()
        self.successResultOf(converging)
        self.assertEqual(self.house.names(), sorted([digest(B), digest(C)]))

    def test_nobody_is_given_what_goes(self) -> None:
        self.plant(A)
        self.start(1)
        self.want(image(A))
        self.client.workers.held = True
        converging = Deferred.fromCoroutine(self.service.converge(()))
        self.assertIsNone(self.service.find(digest(A)))
        self.client.workers.proceed()
        self.successResultOf(converging)

    def test_named_again_while_it_goes(self) -> None:
        """It is pulled when it has gone, not while."""
        self.plant(A)
        self.start(1)
        self.want(image(A))
        self.client.workers.held = True
        converging = Deferred.fromCoroutine(self.service.converge(()))
        self.want(image(A))
        self.assertEqual(self.client.pulls, [])
        self.client.workers.proceed()
        self.successResultOf(converging)
        self.assertEqual(self.house.changes, 1)
        self.want(image(A))
        self.assertEqual(len(self.client.running), 1)

    def test_room_is_made_before_an_image_comes(self) -> None:
        """As soon as its length is known: what is there and what comes fit together."""
        self.plant(A, B)
        self.start(2500)
        self.want(image(C))
        self.running().bring(C)
        self.assertEqual(self.house.names(), sorted([digest(B), f".pull-{digest(C)}"]))

    def test_a_file_that_cannot_be_removed(self) -> None:
        """Is told, and counted as there."""
        self.plant(A)
        self.start(1)
        with patch.object(os, "unlink", side_effect=PermissionError(1, "not permitted")):
            failing = Deferred.fromCoroutine(self.service.converge(()))
            error = self.failureResultOf(failing, Unavailable).value
        self.assertIn("not permitted", str(error))
        self.assertEqual(self.service.status().bytes, 1000)
        self.assertEqual(self.want().bytes, 0)


class OpeningTests(CacheCase):
    def test_after_a_restart(self) -> None:
        """What was verified is served; what a crash left is gone."""
        self.plant(A)
        (self.path / f".pull-{digest(B)}").write_bytes(b"half")
        self.start()
        self.assertIsNone(self.service.find(digest(A)))
        self.assertEqual(self.want(image(A)).ready, 1)
        self.assertEqual(self.house.names(), [digest(A)])
        self.assertIsNotNone(self.service.find(digest(A)))

    def test_what_has_to_be_verified(self) -> None:
        """Is not served until then, and not pulled meanwhile; the wrong one is, afterwards."""
        self.plant(A, B)
        (self.path / f"{digest(A)}.json").write_bytes(b"{")
        (self.path / digest(B)).write_bytes(C)
        self.start()
        workers = self.client.workers
        converging = Deferred.fromCoroutine(self.service.converge([image(A), image(B)]))
        self.assertIn(digest(A), self.names_ready(converging))
        self.assertGreaterEqual(workers.done, 3)
        self.assertEqual(self.house.names(), [digest(A)])
        self.want(image(A), image(B))
        self.assertEqual(len(self.client.running), 1)

    def names_ready(self, converging: Deferred[CacheStatus]) -> Sequence[str]:
        self.successResultOf(converging)
        return [each for each in (digest(A), digest(B)) if self.service.find(each) is not None]

    def test_while_it_is_being_verified(self) -> None:
        self.plant(A)
        (self.path / f"{digest(A)}.json").unlink()
        self.start()
        self.client.workers.held = True
        converging = Deferred.fromCoroutine(self.service.converge([image(A)]))
        self.assertNoResult(converging)  # it is being opened
        self.client.workers.proceed()
        self.client.workers.held = True
        status = self.successResultOf(converging)
        self.assertEqual((status.ready + status.pulling, self.client.pulls), (1, []))

    def test_a_directory_that_cannot_be_opened(self) -> None:
        """The next call tries again."""
        self.path.write_bytes(b"")
        self.start()
        failing = Deferred.fromCoroutine(self.service.converge(()))
        self.failureResultOf(failing, Unavailable)
        self.path.unlink()
        self.assertEqual(self.want().ready, 0)

    def test_an_image_that_the_disk_does_not_give(self) -> None:
        """Is not served; and pulled anew, where it is wanted."""
        self.plant(A)
        (self.path / f"{digest(A)}.json").unlink()
        self.start()
        with patch("builtins.open", side_effect=OSError(5, "Input/output error")):
            self.want(image(A))
        self.assertIsNone(self.service.find(digest(A)))
        self.want(image(A))
        self.running().bring(A)
        self.running().end()
        self.assertIsNotNone(self.service.find(digest(A)))


class AlteredTests(CacheCase):
    def test_an_image_that_somebody_removed(self) -> None:
        """Is pulled anew where it is wanted."""
        self.plant(A, B)
        self.want(image(A))
        for each in (digest(A), digest(B)):
            (self.path / each).unlink()
        self.want(image(A))
        self.assertIsNone(self.service.find(digest(A)))
        self.assertEqual(self.house.changes, 2)
        status = self.want(image(A))
        self.assertEqual((status.bytes, status.ready, status.pulling), (0, 0, 1))

    def test_an_image_that_somebody_wrote_to(self) -> None:
        """Is not served before it is verified; and gone, if it is another one now."""
        self.plant(A, B)
        self.want(image(A), image(B))
        os.utime(self.path / digest(A), (1, 1))
        (self.path / digest(B)).write_bytes(C)
        self.client.workers.held = True
        converging = Deferred.fromCoroutine(self.service.converge([image(A), image(B)]))
        self.client.workers.proceed()
        self.successResultOf(converging)
        self.assertIsNotNone(self.service.find(digest(A)))
        self.assertIsNone(self.service.find(digest(B)))
        self.assertEqual(self.house.names(), [digest(A)])


class UseTests(CacheCase):
    def used(self) -> int:
        return Sidecar.parse((self.path / f"{digest(A)}.json").read_bytes()).used

    def test_it_is_written_down_once_an_hour(self) -> None:
        plant(self.path, A, START)
        self.want()
        for _ in range(4):
            self.house.clock.advance(USE / 4 - 1)
            self.service.used(digest(A))
        self.assertEqual(self.used(), START)
        self.house.clock.advance(4)
        self.service.used(digest(A))
        self.assertEqual(self.used(), START + USE)
        self.service.used("ab" * 32)

    def test_a_disk_that_does_not_take_it(self) -> None:
        """Costs a line, and no reply."""
        plant(self.path, A, START - USE)
        self.want()
        with patch("os.replace", side_effect=OSError(28, "full")), capturedLogs() as events:
            self.service.used(digest(A))
        self.assertEqual(len(events), 1)
        self.assertIsNotNone(self.service.find(digest(A)))


class InventoryTests(CacheCase):
    def test_what_there_is(self) -> None:
        """What is on its way first, then what was used last."""
        self.plant(A, B)
        self.start(5000)
        self.want(image(C))
        self.running().bring(C[:10], 1000)
        self.assertEqual(
            self.service.inventory(),
            {
                "images": [
                    {"sha256": digest(C), "state": "pulling", "bytes": 10},
                    {"sha256": digest(B), "state": "ready", "bytes": 1000},
                    {"sha256": digest(A), "state": "ready", "bytes": 1000},
                ],
                "bytes": 2000,
                "budget": 5000,
            },
        )

    def test_so_many_are_listed(self) -> None:
        """The most recently used."""
        self.plant(b"")
        for number in range(LISTED):
            file = self.path / f"{number:064x}"
            file.touch()
            sidecar = Sidecar("", START + number, 0, file.stat().st_mtime_ns)
            file.with_suffix(".json").write_bytes(sidecar.render())
        self.assertEqual(self.want().ready, LISTED + 1)
        listed = self.service.inventory()["images"]
        assert isinstance(listed, list)
        names = [int(each["sha256"], 16) for each in listed]
        self.assertEqual(names, list(range(LISTED))[::-1])
        self.assertEqual(LISTED, 1000)
