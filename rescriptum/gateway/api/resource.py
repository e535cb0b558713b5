"""``/api/v1``: every row of the table of operations becomes a route."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from twisted.logger import Logger, LogLevel

from ...web.bursts import Burst
from ...web.reply import Finished, Reply, StreamReply
from ...web.request import Request
from ...web.routing import Routes
from ..records import Operator
from ..replies import JSONRoutes, ok, refused
from ..stores import operators
from ..stores.database import Database
from . import call, openapi
from .call import Means
from .door import Door, LockedOut, digest
from .feed import Feed
from .operations import OPERATIONS, ROOT, Operation
from .performed import PERFORMED
from .shown import shown

_READING: Final = frozenset({"GET"})


class Operators:
    """Satisfies :class:`rescriptum.web.routing.Application`, for paths that begin with ``api``."""

    _log = Logger()

    def __init__(self, database: Database, feed: Feed, means: Means) -> None:
        self._database = database
        self._feed = feed
        self._means = means
        self._door = Door(means.monotonic)
        self._noise = Burst("Requests that no route saw", LogLevel.info)
        self._document = ok(openapi.document(means.version))
        self.routes: Routes = JSONRoutes()
        for operation in OPERATIONS:
            add = getattr(self.routes, operation.method.lower())
            add("/".join((*ROOT, operation.path)))(self._route(operation))

    def _route(self, operation: Operation) -> Callable[..., Awaitable[Reply | StreamReply]]:
        async def answer(_: object, request: Request, *captures: str) -> Reply | StreamReply:
            if operation.scope is None:
                return self._document
            try:
                return await self._answer(operation, request, captures)
            except LockedOut as e:
                return refused(e, e.seconds)

        return answer

    async def _answer(
        self, operation: Operation, request: Request, captures: tuple[str, ...]
    ) -> Reply | StreamReply:
        operator = await self._let_in(operation, request)
        asked = call.read(operation, request, captures, operator, self._means)
        if operation.name == "events":
            return self._feed.reply(asked.filters, request.header("last-event-id"))
        perform = PERFORMED[operation.name]
        value = await self._database.run(lambda connection: perform(connection, asked))
        if operation.method not in _READING:
            self._log.info(
                "Operator {operator}: {operation} {subject}",
                operator=operator.name,
                operation=operation.name,
                subject="/".join(captures) or _name(value),
            )
        return _reply(operation, value)

    async def _let_in(self, operation: Operation, request: Request) -> Operator:
        token = self._door.token(request)
        found = await self._database.run(partial(operators.by_token, token_digest=digest(token)))
        if found is None:
            raise self._door.wrong(request)
        assert operation.scope is not None
        self._door.right(request, found, operation.scope)
        return found

    def finished(self, done: Finished) -> None:
        """Changes are told when they are made; here only what the listener refused by itself."""
        now = self._means.monotonic()
        self._noise.look(now)
        if done.request is None and done.reason and self._noise.add(now):
            self._log.info("{peer}: {reason}", peer=done.peer[0], reason=done.reason)

    def closed(self, peer: tuple[str, int]) -> None:
        """Nothing is counted for a connection."""


def _name(made: object) -> str:
    """:returns: of what was made, for the log."""
    return str(getattr(made, "name", None) or getattr(made, "id", None) or "")


def _reply(operation: Operation, value: object) -> Reply:
    if operation.status == 204:
        return Reply(b"", status=204)
    reply = ok(shown(value), operation.status)
    revision = getattr(value, "revision", None)
    if revision is None:
        return reply
    headers = (*reply.headers, ("ETag", call.etag(revision)))
    return Reply(reply.body, reply.media_type, reply.status, headers)
