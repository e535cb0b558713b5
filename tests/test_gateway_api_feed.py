"""Tests for ``rescriptum.gateway.api.feed``: every event once, in order, to everybody."""

import json
from typing import Any, ClassVar

from attrs import frozen
from sqlalchemy import Connection, delete
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.gateway.api import feed
from rescriptum.gateway.api.feed import COMMENT, FOLLOWERS, LOOK, PIECE, WAITING
from rescriptum.gateway.api.operations import BY_NAME
from rescriptum.gateway.records import Scope
from rescriptum.gateway.stores import events, tables
from rescriptum.gateway.stores.database import Database
from rescriptum.testing import MemoryWorkers
from rescriptum.web.reply import Reply, StreamReply
from rescriptum.web.request import Request
from rescriptum.web.routing import answer
from tests.gateway_stores import NOW, done
from tests.operatorcases import TOKENS, OperatorCase, document, validator
from tests.webclient import PEER


@frozen
class Heard:
    """One message of a stream."""

    kind: str
    data: Any
    id: int | None = None


class MemoryStream:
    """A client that follows. :ivar why: with what it was aborted."""

    ROOM: ClassVar[int] = 0

    def __init__(self) -> None:
        self.ended: Any = None
        self.text = ""
        self.why = ""

    @property
    def waiting(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        if not self.why:
            self.text += data.decode("ascii")

    def finish(self, last: bytes = b"") -> None:
        self.abort("closed")

    def abort(self, reason: str) -> None:
        if not self.why:
            self.why = reason
            if self.ended is not None:
                self.ended(reason)

    def heard(self) -> list[Heard]:
        """:returns: what came since it was last asked, without comments."""
        text, self.text = self.text, ""
        assert text.endswith("\n\n") or not text
        found = []
        for each in text.split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in each.split("\n") if ": " in line)
            if "data" in fields:
                number = int(fields["id"]) if "id" in fields else None
                found.append(Heard(fields["event"], json.loads(fields["data"]), number))
        return found


class FeedCase(OperatorCase):
    def follow(self, query: str = "", last: str | None = None) -> MemoryStream:
        reply = self.reply(query, last)
        assert isinstance(reply, StreamReply), reply
        return self.begin(reply)

    def reply(self, query: str = "", last: str | None = None) -> object:
        headers = [("authorization", f"Bearer {TOKENS[Scope.READ]}")]
        headers += [("last-event-id", last)] if last is not None else []
        request = Request("GET", f"/api/v1/events{query}", PEER, tuple(headers))
        return self.successResultOf(Deferred.fromCoroutine(answer(self.operators, request)))

    def begin(self, reply: StreamReply) -> MemoryStream:
        stream = MemoryStream()
        reply.opened(stream)
        return stream

    def happen(self, *subjects: str, site: str = "ber") -> None:
        for each in subjects:
            self.do(events.append, "site.changed", site, each, {"a": 1}, NOW)
        self.notices.tell("events")

    def subjects(self, stream: MemoryStream) -> list[str]:
        return [each.data["subject"] for each in stream.heard() if each.id and each.data]


class FeedTests(FeedCase, SynchronousTestCase):
    def test_what_happens_from_now_on(self) -> None:
        self.happen("before")
        stream = self.follow()
        [hello] = stream.heard()
        self.assertEqual((hello.kind, hello.data["event"]), ("hello", 1))
        self.assertEqual(hello.data["version"], "1.2.3")
        self.happen("one", "two")
        first, second = stream.heard()
        self.assertEqual((first.kind, first.id, second.id), ("site.changed", 2, 3))
        self.assertEqual(second.data["subject"], "two")
        schema = document()["paths"]["/api/v1/events"]["get"]["responses"]["200"]  # type: ignore[index]
        validator(schema["content"]["text/event-stream"]["schema"]).validate(first.data)
        self.assertEqual(BY_NAME["events"].media_type, feed.MEDIA_TYPE)

    def test_what_happened_since(self) -> None:
        self.happen("one", "two", "three")
        stream = self.follow(last="1")
        self.assertEqual(self.subjects(stream), ["two", "three"])
        self.happen("four")
        self.assertEqual(self.subjects(stream), ["four"])

    def test_from_the_very_beginning(self) -> None:
        self.happen("one", "two")
        self.assertEqual(self.subjects(self.follow(last="0")), ["one", "two"])

    def test_filters(self) -> None:
        stream = self.follow("?site=ber&subject=one")
        self.happen("one", "two")
        self.happen("one", site="muc")
        self.assertEqual([each.id for each in stream.heard()[1:]], [1])

    def test_what_nobody_told_of_is_seen_all_the_same(self) -> None:
        stream = self.follow()
        stream.heard()
        self.do(events.append, "site.changed", "ber", "one", {}, NOW)
        self.assertEqual(self.subjects(stream), [])
        self.clock.advance(LOOK)
        self.assertEqual(self.subjects(stream), ["one"])

    def test_signs_of_life(self) -> None:
        stream = self.follow()
        stream.heard()
        for _ in range(COMMENT):
            self.assertEqual(stream.text, "")
            self.clock.advance(LOOK)
        self.assertEqual(stream.text, ":\n\n")

    def test_more_than_one_piece(self) -> None:
        """Nothing is left out where much has happened, before and while somebody follows."""
        many = [f"s{each}" for each in range(2 * PIECE + 3)]
        self.do(lambda c: [events.append(c, "k", None, each, {}, NOW) for each in many])
        first = self.follow(last="0")
        self.assertEqual(self.subjects(first), many)
        self.do(lambda c: [events.append(c, "k", None, each, {}, NOW) for each in many])
        self.notices.tell("events")
        self.assertEqual(self.subjects(first), many)

    def test_what_was_forgotten_meanwhile(self) -> None:
        """Whoever comes back too late is told to read everything again."""
        self.happen("one", "two", "three", "four")
        seq = tables.events.c.seq
        self.do(lambda c: c.execute(delete(tables.events).where(seq < 3)))
        stream = self.follow(last="1")
        self.assertEqual([each.kind for each in stream.heard()], ["hello", "reset"])
        self.happen("five")
        self.assertEqual(self.subjects(stream), ["five"])
        self.assertEqual(self.subjects(self.follow(last="2")), ["three", "four", "five"])
        future = self.follow(last="99")
        self.assertEqual([each.kind for each in future.heard()], ["hello", "reset"])

    def test_what_is_no_event(self) -> None:
        for bad in "x", "-1", "1.0", "", "9" * 40:
            reply = self.reply(last=bad)
            assert isinstance(reply, Reply)
            self.assertEqual(reply.status, 400)

    def test_whoever_leaves_is_forgotten(self) -> None:
        stream = self.follow()
        self.assertEqual(len(self.feed), 1)
        stream.abort("lost")
        self.assertEqual(len(self.feed), 0)
        self.happen("one")
        other = self.follow(last="0")
        self.assertEqual(self.subjects(other), ["one"])

    def test_the_bound_of_followers(self) -> None:
        """Also of those whose heads were on their way when the last place was taken."""
        replies = [self.reply() for _ in range(FOLLOWERS + 1)]
        streams = [self.begin(each) for each in replies]  # type: ignore[arg-type]
        self.assertEqual([each.why for each in streams[-2:]], ["", "over-capacity"])
        reply = self.reply()
        assert isinstance(reply, Reply)
        self.assertEqual(reply.status, 503)
        self.assertIn(b'"over-capacity"', reply.body)
        streams[0].abort("lost")
        self.assertIsInstance(self.reply(), StreamReply)

    def test_what_is_worth_reading_again(self) -> None:
        """What is no event of its own: progress, sessions, the lease."""
        everything, one = self.follow(), self.follow("?subject=wf-1")
        everything.heard(), one.heard()
        self.notices.tell("workflows", "wf-1")
        self.notices.tell("workflows", "wf-2")
        told = [Heard("changed", {"topic": "workflows", "key": key}) for key in ("wf-1", "wf-2")]
        self.assertEqual(everything.heard(), told)
        self.assertEqual(one.heard(), told[:1])

    def test_stopping(self) -> None:
        stream = self.follow()
        stream.heard()
        self.feed.stop()
        self.happen("one")
        self.clock.advance(LOOK)
        self.assertEqual(stream.heard(), [])


class SlowStoreTests(FeedCase, SynchronousTestCase):
    """While the database takes its time, nothing is passed over and nothing told twice."""

    def setUp(self) -> None:
        super().setUp()
        self.slow = self.workers
        self.other = super().opened()

    def opened(self, url: str | None = None) -> Database:
        self.workers = MemoryWorkers()
        database = Database(url or self.url, self.workers)
        self.successResultOf(Deferred.fromCoroutine(database.start()))
        self.addCleanup(lambda: self.successResultOf(Deferred.fromCoroutine(database.close())))
        return database

    def aside(self, *subjects: str) -> None:
        """By another process, whose database is not slow."""

        def work(connection: Connection) -> None:
            for each in subjects:
                events.append(connection, "site.changed", "ber", each, {}, NOW)

        done(self.other, work)
        self.notices.tell("events")

    def test_what_happens_while_somebody_catches_up(self) -> None:
        self.happen("one")
        old = self.follow()
        old.heard()
        reply = self.reply(last="0")
        assert isinstance(reply, StreamReply)
        self.slow.held = True
        stream = self.begin(reply)
        self.aside("two")
        self.slow.proceed()
        self.assertEqual(self.subjects(stream), ["one", "two"])
        self.assertEqual(self.subjects(old), ["two"])

    def test_notices_while_it_looks(self) -> None:
        stream = self.follow()
        stream.heard()
        self.slow.held = True
        self.notices.tell("events")
        self.aside("one")
        self.aside("two")
        self.slow.proceed()
        self.assertEqual(self.subjects(stream), ["one", "two"])

    def test_the_bound_of_what_waits(self) -> None:
        """Somebody whose past takes too long to read is dropped."""
        quick = self.follow()
        reply = self.reply(last="0")
        assert isinstance(reply, StreamReply)
        self.slow.held = True
        stream = self.begin(reply)
        self.slow.held = False
        many = [f"s{each}" for each in range(WAITING)]
        self.aside(*many)
        self.assertEqual(stream.why, "")
        self.aside("last")
        self.assertEqual(stream.why, "slow-reader")
        self.assertEqual(self.subjects(quick), [*many, "last"])
        self.slow.proceed()
        self.assertEqual(len(self.feed), 1)

    def test_a_bound_that_is_not_passed(self) -> None:
        """And what waited comes in its order, each once."""
        self.aside("before")
        self.follow()
        reply = self.reply(last="0")
        assert isinstance(reply, StreamReply)
        self.slow.held = True
        stream = self.begin(reply)
        self.slow.held = False
        many = [f"s{each}" for each in range(WAITING)]
        self.aside(*many)
        self.slow.proceed()
        self.assertEqual(self.subjects(stream), ["before", *many])


class FailingStoreTests(FeedCase, SynchronousTestCase):
    def test_a_store_that_does_not_answer(self) -> None:
        """Who follows already waits; who begins is sent away."""
        stream = self.follow()
        reply = self.reply()
        self.successResultOf(Deferred.fromCoroutine(self.database.close()))
        self.notices.tell("events")
        self.assertEqual(stream.why, "")
        late = self.begin(reply)  # type: ignore[arg-type]
        self.assertEqual(late.why, "store-unavailable")
