"""The event stream: each event once and in order, to everybody who follows (text/event-stream)."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Protocol

from attrs import define, field
from sqlalchemy import Connection
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ...contract.refusals import Rejected
from ...errors import RescriptumError
from ...web.reply import StreamReply
from ...web.stream import SLOW_READER, Stream
from ..records import Event
from ..stores import events
from ..stores.database import Database
from ..stores.telling import Topic
from .call import at
from .shapes.gateway import Event as Shown
from .shown import shown

MEDIA_TYPE: Final = "text/event-stream"
#: Who may follow at once, of one gateway process.
FOLLOWERS: Final = 256
#: Seconds between two looks, should a notice have been lost; and how many of them make a comment.
LOOK, COMMENT = 5.0, 3
#: Events of one look, and those that wait for somebody who catches up.
PIECE: Final = 500
WAITING: Final = 2000
#: Bytes that may wait for one follower.
ROOM: Final = 1 << 20
_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_TOPICS: Final[tuple[Topic, ...]] = ("lease", "commands", "spec", "sessions", "workflows")


class Notices(Protocol):
    """What tells that something has changed; a notice may be lost."""

    def subscribe(self, topic: Topic, callback: Callable[[str], None]) -> Callable[[], None]:
        """
        :param callback: called in the reactor's thread with the key of what has changed.
        :returns: how to stop that.
        """


@define(eq=False)
class Follower:
    """
    Somebody who follows.

    :ivar seq: the last event that was looked at for it.
    :ivar waiting: what happened while it catches up; None: it has caught up.
    """

    stream: Stream
    site: str | None
    subject: str | None
    seq: int
    waiting: list[Event] | None = field(factory=list)

    def wants(self, event: Event) -> bool:
        return self.site in (None, event.site) and self.subject in (None, event.subject)

    def tell(self, found: list[Event]) -> None:
        """Events that come a second time are passed over."""
        said = []
        for event in found:
            if event.seq > self.seq:
                self.seq = event.seq
                if self.wants(event):
                    said.append(_message(event.kind, shown(of(event)), event.seq))
        if said:
            self.stream.write("".join(said).encode("utf-8"))


class Feed:
    """All who follow at this process."""

    _log = Logger()

    def __init__(
        self,
        database: Database,
        notices: Notices,
        clock: IReactorTime,
        now: Callable[[], float],
        version: str,
    ) -> None:
        """:param now: Unix time. :param version: of rescriptum, for those who follow."""
        self._version = version
        self._database = database
        self._notices = notices
        self._now = now
        self._followers: list[Follower] = []
        self._seq: int | None = None  # what was looked at for all that have caught up
        self._looking: Deferred[None] | None = None
        self._again = False
        self._ticks = 0
        self._timer = LoopingCall(self._tick)
        self._timer.clock = clock
        self._unsubscribe: list[Callable[[], None]] = []

    def __len__(self) -> int:
        """How many follow."""
        return len(self._followers)

    def start(self) -> None:
        self._unsubscribe = [self._notices.subscribe("events", lambda _: self._look())]
        for topic in _TOPICS:
            told = self._notices.subscribe(topic, partial(self._changed, topic))
            self._unsubscribe.append(told)
        self._timer.start(LOOK, now=False)

    def stop(self) -> None:
        """Nobody is told anything any more; the listener ends the streams."""
        for each in self._unsubscribe:
            each()
        self._unsubscribe = []
        if self._timer.running:
            self._timer.stop()
        if self._looking is not None:
            self._looking.cancel()

    def reply(self, filters: Mapping[str, str], last: str | None) -> StreamReply:
        """
        :param last: ``Last-Event-ID``; None: only what happens from now on.
        :raises Rejected: for an id that is none, and when too many follow.
        """
        if last is not None and not _NUMBER.fullmatch(last):
            raise Rejected("invalid-message", "Last-Event-ID: not the seq of an event")
        if len(self._followers) >= FOLLOWERS:
            raise Rejected("over-capacity", f"{FOLLOWERS} follow already")
        since = None if last is None else int(last)
        return StreamReply(
            MEDIA_TYPE,
            lambda stream: self._opened(stream, filters, since),
            (("X-Accel-Buffering", "no"),),
            room=ROOM,
        )

    def _opened(self, stream: Stream, filters: Mapping[str, str], since: int | None) -> None:
        if len(self._followers) >= FOLLOWERS:  # several heads were on their way
            stream.abort("over-capacity")
            return
        follower = Follower(stream, filters.get("site"), filters.get("subject"), since or 0)
        self._followers.append(follower)
        stream.ended = lambda _: self._left(follower)
        catching = Deferred.fromCoroutine(self._catch_up(follower, since))
        catching.addErrback(self._failed, follower)

    def _left(self, follower: Follower) -> None:
        self._followers.remove(follower)
        if not self._followers:
            self._seq = None

    async def _catch_up(self, follower: Follower, since: int | None) -> None:
        """From here on what happens is kept for it; what happened before is read."""
        oldest, newest = await self._database.run(_bounds)
        if self._seq is None:
            self._seq = newest
        if since is None:
            follower.seq = newest
        hello = {"server_time": at(int(self._now())), "version": self._version, "event": newest}
        follower.stream.write(("retry: 2000\n" + _message("hello", hello, None)).encode())
        if since is not None and (since < oldest - 1 or since > newest):
            # What lies between is forgotten, or this is another gateway's database.
            follower.stream.write(_message("reset", {}, newest).encode())
            follower.seq = newest
        while follower in self._followers:
            found = await self._database.run(partial(_after, seq=follower.seq))
            follower.tell(found)
            if len(found) < PIECE:
                break
        waiting, follower.waiting = follower.waiting or [], None
        follower.tell(waiting)
        self._look()

    def _failed(self, failure: Failure, follower: Follower) -> None:
        if not failure.check(RescriptumError):
            self._log.failure("A follower could not be told", failure)
        follower.stream.abort("store-unavailable")

    def _look(self) -> None:
        """See what has happened since; once more after that, where asked meanwhile."""
        if self._looking is not None:
            self._again = True
            return
        if self._seq is not None:
            self._looking = Deferred.fromCoroutine(self._read(self._seq))
            self._looking.addBoth(self._looked)

    async def _read(self, seq: int) -> None:
        found = await self._database.run(partial(_after, seq=seq))
        if not found:
            return
        self._seq = found[-1].seq
        self._again = self._again or len(found) == PIECE
        for each in tuple(self._followers):
            if each.waiting is None:
                each.tell(found)
            elif len(each.waiting) + len(found) > WAITING:
                each.stream.abort(SLOW_READER)
            else:
                each.waiting += found

    def _looked(self, result: object) -> None:
        self._looking = None
        if isinstance(result, Failure):
            if not result.check(RescriptumError, CancelledError):
                self._log.failure("Events could not be told", result)
        elif self._again:
            self._again = False
            self._look()

    def _changed(self, topic: Topic, key: str) -> None:
        """No event of its own, but worth reading again what it names: progress, a session."""
        text = _message("changed", {"topic": topic, "key": key}, None).encode()
        for each in tuple(self._followers):
            if key in (each.subject, each.site) or (each.subject is None and each.site is None):
                each.stream.write(text)

    def _tick(self) -> None:
        self._look()
        self._ticks += 1
        if self._ticks % COMMENT == 0:
            for each in tuple(self._followers):
                each.stream.write(b":\n\n")


def of(event: Event) -> Shown:
    """:returns: as operators see it."""
    return Shown(event.seq, at(event.at), event.kind, event.subject, event.data, event.site)


def _bounds(connection: Connection) -> tuple[int, int]:
    return events.oldest(connection), events.newest(connection)


def _after(connection: Connection, seq: int) -> list[Event]:
    return events.after(connection, seq, limit=PIECE)


def _message(kind: str, data: object, seq: int | None) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return ("" if seq is None else f"id: {seq}\n") + f"event: {kind}\ndata: {text}\n\n"
