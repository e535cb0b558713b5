"""Which function answers a request, and what its errors say to the client."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from attrs import frozen
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import RescriptumError, Unavailable
from .reply import PHRASES, FileReply, Finished, Reply, StreamReply
from .request import Request

Answer = Reply | FileReply | StreamReply
Route = Callable[..., Answer | Awaitable[Answer]]
_R = TypeVar("_R", bound=Route)

_log = Logger()

#: Paths of this many segments and more are told apart by their rests alone.
_LONGEST = 64

#: THE table of statuses. An error whose own code is not here has its parent class's.
STATUSES: Mapping[str, int] = {
    "error": 500,
    "malformed": 400,
    # What the operator wrote, not what the client sent.
    "malformed-document": 500,
    "malformed-image": 500,
    "refused": 403,
    "not-found": 404,
    "conflict": 409,
    "stale": 412,
    "unavailable": 503,
}


#: What a path takes: a function and its captures; or only the methods that it would take.
Found = tuple[Route, tuple[str, ...]] | frozenset[str]


class Application(Protocol):
    """What a listener serves: routes, and the access log's two hooks."""

    routes: "Routes"

    def finished(self, done: Finished) -> None:
        """One exchange is over; called once for each."""

    def closed(self, peer: tuple[str, int]) -> None:
        """A connection that had exchanges is gone: what was counted for it can be logged."""


@frozen
class Pattern:
    """
    The paths that a route takes.

    :ivar parts: one for each segment: a literal, or None for a capture.
    :ivar rest: whether any further segments follow, captured as one.
    """

    parts: tuple[str | None, ...]
    rest: bool

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        """:raises ValueError: for ``<name...>`` anywhere but at the end, or 64 parts and more."""
        words = [word for word in text.split("/") if word]
        rest = bool(words) and words[-1].startswith("<") and words[-1].endswith("...>")
        if rest:
            words.pop()
        if any(word.endswith("...>") for word in words):
            raise ValueError(f"a rest before the end: {text!r}")
        if len(words) >= _LONGEST:
            raise ValueError(f"too many parts: {text!r}")
        return cls(tuple(None if word.startswith("<") else word for word in words), rest)

    @property
    def rank(self) -> tuple[int, ...]:
        """Less is tried first: a literal before a capture before a rest."""
        kinds = tuple(0 if part is not None else 1 for part in self.parts)
        return (*kinds, 2) if self.rest else kinds

    def match(self, segments: tuple[str, ...]) -> tuple[str, ...] | None:
        """:returns: what was captured, or None where the path is another."""
        parts = self.parts
        if len(segments) != len(parts) and (not self.rest or len(segments) < len(parts)):
            return None
        captures = []
        for part, segment in zip(parts, segments, strict=False):
            if part is None:
                captures.append(segment)
            elif part != segment:
                return None
        if self.rest:
            captures.append("/".join(segments[len(parts) :]))
        return tuple(captures)


class Routes:
    """
    The table of an application's routes, filled by decorators in its class body.

    A route is ``def f(self, request, *captures)`` and returns a reply or an awaitable of one.
    """

    def __init__(self) -> None:
        self._methods: dict[Pattern, dict[str, Route]] = {}
        self._ordered: list[tuple[Pattern, dict[str, Route]]] = []
        # Paths without captures come first of all: they need no looking for. Of the others only
        # those of the right number of segments are tried.
        self._literal: dict[tuple[str | None, ...], dict[str, Route]] = {}
        self._by_length: dict[int, list[tuple[Pattern, dict[str, Route]]]] = {}

    def get(self, pattern: str) -> Callable[[_R], _R]:
        """The decorated function answers GET, and HEAD: the same without the body."""
        return self._on(pattern, "GET", "HEAD")

    def post(self, pattern: str) -> Callable[[_R], _R]:
        """The decorated function answers POST."""
        return self._on(pattern, "POST")

    def put(self, pattern: str) -> Callable[[_R], _R]:
        """The decorated function answers PUT."""
        return self._on(pattern, "PUT")

    def patch(self, pattern: str) -> Callable[[_R], _R]:
        """The decorated function answers PATCH."""
        return self._on(pattern, "PATCH")

    def delete(self, pattern: str) -> Callable[[_R], _R]:
        """The decorated function answers DELETE."""
        return self._on(pattern, "DELETE")

    def _on(self, text: str, *methods: str) -> Callable[[_R], _R]:
        pattern = Pattern.parse(text)

        def add(function: _R) -> _R:
            table = self._methods.setdefault(pattern, {})
            if not table.keys().isdisjoint(methods):
                raise ValueError(f"two routes for {methods[0]} {text!r}")
            table.update(dict.fromkeys(methods, function))
            if not pattern.rest and None not in pattern.parts:
                self._literal[pattern.parts] = table
            self._ordered = sorted(self._methods.items(), key=lambda item: item[0].rank)
            self._by_length.clear()
            return function

        return add

    def find(self, method: str, segments: tuple[str, ...]) -> Found:
        """
        :returns: the function and what it is called with; or, where there is none, the methods
            that the path does take: none at all for a path that is not there.
        """
        route = self._literal.get(segments, {}).get(method)
        if route is not None:
            return route, ()
        allowed: frozenset[str] = frozenset()
        length = min(len(segments), _LONGEST)
        candidates = self._by_length.get(length)
        if candidates is None:
            candidates = self._by_length[length] = [
                (pattern, methods)
                for pattern, methods in self._ordered
                if len(pattern.parts) == length or (pattern.rest and len(pattern.parts) < length)
            ]
        for pattern, methods in candidates:
            captures = pattern.match(segments)
            if captures is not None:
                route = methods.get(method)
                if route is not None:
                    return route, captures
                allowed = allowed.union(methods)
        return allowed


class Mounted:
    """
    Several applications on one listener, told apart by the first segment of the path.

    Each sees the whole path, and hears of its own exchanges only.

    :ivar default: for every other path, and for what was no request at all.
    """

    def __init__(self, default: Application, mounts: Mapping[str, Application]) -> None:
        self.default = default
        self._mounts = dict(mounts)

    def at(self, segments: tuple[str, ...]) -> Application:
        return self._mounts.get(segments[0], self.default) if segments else self.default


Located = tuple[Application, Found]
#: Paths that a listener remembers the routes of, and how long they may be.
_REMEMBERED, _REMEMBERED_LENGTH = 512, 512


def status_of(error: RescriptumError) -> int:
    """The status that ``error`` has of its own, or the table has for it."""
    own = getattr(error, "status", None)
    if isinstance(own, int):
        return own
    for kind in type(error).__mro__:
        status = STATUSES.get(vars(kind).get("code", ""))
        if status is not None:
            return status
    return 500


def bare(status: int, reason: str = "", headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """A status sentence for the client, and the reason for the access log."""
    sentence = f"{status} {PHRASES[status]}\n".encode("ascii")
    return Reply(sentence, status=status, headers=headers, reason=reason)


def refusal(error: RescriptumError) -> Reply:
    """What a client is told of ``error``: a status, when to ask again, and nothing else."""
    headers: tuple[tuple[str, str], ...] = ()
    if isinstance(error, Unavailable):
        headers = (("Retry-After", str(error.retry_after)),)  # iPXE waits it out (W166)
    return bare(status_of(error), str(error) or error.code, headers)


def _failed(failure: Failure) -> Reply:
    if isinstance(failure.value, RescriptumError):
        return refusal(failure.value)
    if failure.check(CancelledError):  # nobody waits for the reply any more
        return bare(503, "cancelled")
    _log.failure("A route failed", failure)
    return bare(500, f"{type(failure.value).__name__}: see the log")


class Router:
    """
    Where requests go on one listener. What a path leads to never changes, so it is remembered:
    an image is read by thousands of requests for one path (W163).
    """

    def __init__(self, application: Application | Mounted) -> None:
        mounted = application if isinstance(application, Mounted) else Mounted(application, {})
        self._mounted = mounted
        #: Who hears of what was no request at all.
        self.default = mounted.default
        self._known: dict[tuple[str, str], Located] = {}

    def __len__(self) -> int:
        """How many paths are remembered."""
        return len(self._known)

    def locate(self, request: Request) -> Located:
        path = request.target.partition("?")[0]
        known = self._known.get((request.method, path))
        if known is not None:
            return known
        segments = request.segments
        application = self._mounted.at(segments)
        located = application, application.routes.find(request.method, segments)
        if len(path) <= _REMEMBERED_LENGTH:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[request.method, path] = located
        return located


def dispatch(application: Application | Mounted, request: Request) -> Answer | Deferred[Answer]:
    """Find the route of ``request``, and :func:`perform` it."""
    return perform(Router(application).locate(request), request)


def perform(located: Located, request: Request) -> Answer | Deferred[Answer]:
    """
    Call the route that ``request`` led to.

    Never raises: an error is the reply that the client gets for it. What is not one of ours is
    logged, once. A ``Deferred`` is returned only where the route has to wait; cancelling
    it cancels the route.
    """
    application, found = located
    if isinstance(found, frozenset):
        if not found:
            return bare(404, "no such path")
        return bare(405, f"method {request.method}", (("Allow", ", ".join(sorted(found))),))
    route, captures = found
    try:
        result = route(application, request, *captures)
    except Exception:  # noqa: BLE001 - the shell meets the network here
        return _failed(Failure())
    if isinstance(result, (Reply, FileReply, StreamReply)):
        return result
    deferred = Deferred.fromCoroutine(_awaited(result))
    deferred.addErrback(_failed)
    return deferred


async def _awaited(result: Awaitable[Answer]) -> Answer:
    reply = await result
    if not isinstance(reply, (Reply, FileReply, StreamReply)):
        raise TypeError(f"a route gave {type(reply).__name__}, not a reply")
    return reply


async def answer(application: Application | Mounted, request: Request) -> Answer:
    """
    What a listener with ``application`` would reply to ``request``: the way in without a socket.

    Never raises: see :func:`perform`. A long answer is not opened: that is the caller's to do.
    """
    result = dispatch(application, request)
    return await result if isinstance(result, Deferred) else result
