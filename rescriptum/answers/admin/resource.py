"""The admin listener: the answer set over HTTP, for editors and scripts that have its token."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import cast

from twisted.internet.defer import Deferred
from twisted.logger import Logger, LogLevel
from twisted.python.failure import Failure

from ...boot.events import record
from ...errors import (
    MalformedDocument,
    MalformedRequest,
    NotFound,
    RescriptumError,
    Unavailable,
    Unfillable,
)
from ...interfaces import Workers
from ...values import Problem, Secret
from ...web.bursts import Burst
from ...web.conditions import condition_of, etag, selected
from ...web.gate import Gate
from ...web.reply import PHRASES, Finished, Reply
from ...web.request import Request
from ...web.routing import Routes, status_of
from ..documents import Document
from ..events import AdminChanged, AdminRefused
from ..resolution import resolve
from ..store import AnswerStore
from .guard import Change, Conflict, perform
from .keys import LISTS, facts_of, key_of
from .told import composition, documents, shown

JSON = "application/json"


class Admin:
    """
    Satisfies :class:`rescriptum.web.routing.Application`. ``/health`` is every listener's own.

    Every reply is JSON, but for documents and what the listener itself refuses.
    """

    routes = Routes()
    _inside = Routes()
    _log = Logger()

    def __init__(
        self,
        store: AnswerStore,
        workers: Workers,
        token: Secret,
        monotonic: Callable[[], float],
    ) -> None:
        """:param monotonic: seconds of a clock that is never set back."""
        self._store = store
        self._workers = workers
        self._gate = Gate(token, monotonic)
        self._monotonic = monotonic
        self._noise = Burst("Requests that no route saw", LogLevel.info)

    @routes.get("<path...>")
    @routes.post("<path...>")
    @routes.put("<path...>")
    @routes.delete("<path...>")
    async def enter(self, request: Request, path: str) -> Reply:
        """Whoever has no token is told the same of every path, and nothing else."""
        denied = self._gate.denied(request)
        if denied is not None:
            if denied.told:
                self._refused(request, denied.status, denied.reason)
            return _told(denied.status, {"error": PHRASES[denied.status]}, denied.headers)
        found = self._inside.find(request.method, request.segments)
        if isinstance(found, frozenset):
            if not found:
                return _told(404, {"error": f"no such path: {request.path}"})
            text = f"{request.path} does not take {request.method}"
            return _told(405, {"error": text}, (("Allow", ", ".join(sorted(found))),))
        route, captures = found
        try:
            return await cast(Awaitable[Reply], route(self, request, *captures))
        except RescriptumError as e:
            reply = _refusal(e)
            if request.method in ("PUT", "DELETE"):
                self._refused(request, reply.status, str(e))
            return reply

    @_inside.get("machines")
    @_inside.get("groups")
    @_inside.get("defaults")
    async def listed(self, request: Request) -> Reply:
        """Which documents there are."""
        kind = LISTS[request.segments[0]]
        answers = await self._store.latest()
        return await self._workers.run(lambda: _told(200, {kind.value: documents(answers, kind)}))

    @_inside.get("machines/<name>")
    @_inside.get("groups/<name>")
    @_inside.get("default")
    async def document(self, request: Request, name: str = "") -> Reply:
        """One of them, byte for byte as it is stored."""
        key = key_of(request.segments[0], name, request.query)
        answers = await self._store.latest()
        folder = answers.listing.folders.get(key.place)
        document = folder.documents.get(key.extension) if folder is not None else None
        if document is None:
            raise NotFound(f"there is no {key}")
        if document.error and not document.data:
            return _told(409, {"error": f"{document.source}: {document.error}"})
        headers = (("ETag", etag(document.data)),)
        status = selected(request, document.data)
        if status == 412:
            return _told(412, {"error": f"{key}: not what If-Match names"}, headers)
        body = document.data if status == 200 else b""
        return Reply(body, key.format.media_type, status, headers)

    @_inside.put("machines/<name>")
    @_inside.put("groups/<name>")
    @_inside.put("default")
    async def put(self, request: Request, name: str = "") -> Reply:
        """Store a document: whole, and only where it breaks nothing."""
        key = key_of(request.segments[0], name, request.query)
        data = request.body
        if not data.strip():
            raise MalformedRequest("want a document: DELETE removes one")
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as e:
            raise MalformedRequest(f"want UTF-8: {e}") from None
        document = await self._workers.run(partial(Document.of, str(key), key.format, data))
        if document.error:
            text = f"refused: {key}: {document.error} (nothing was changed)"
            self._refused(request, 400, text)
            problems = shown([Problem(document.source, document.error)])
            return _told(400, {"error": text, "problems": problems})
        return await self._changed(request, Change(key, document))

    @_inside.delete("machines/<name>")
    @_inside.delete("groups/<name>")
    @_inside.delete("default")
    async def delete(self, request: Request, name: str = "") -> Reply:
        """Remove a document, where nothing stands on it."""
        key = key_of(request.segments[0], name, request.query)
        return await self._changed(request, Change(key, None))

    @_inside.get("resolve/<identity>")
    async def resolve(self, request: Request, identity: str) -> Reply:
        """The whole answer; or, as the server's log would have it, why there is none."""
        answers = await self._store.latest()
        facts = facts_of(identity, request.query)
        try:
            answer = await self._workers.run(lambda: resolve(answers, facts))
        except (MalformedDocument, Unfillable) as e:
            return _told(409, {"error": str(e)})
        source = (("X-Answer-Source", composition(answer)),)
        return Reply(answer.body, answer.format.media_type, headers=source)

    @_inside.get("check")
    async def check(self, request: Request) -> Reply:
        """What is wrong with the set as it is now."""
        answers = await self._store.latest()
        return await self._workers.run(lambda: _told(200, {"problems": shown(answers.problems)}))

    async def _changed(self, request: Request, change: Change) -> Reply:
        """What is begun is finished and told, whether or not whoever asked still listens."""
        reply: Deferred[Reply] = Deferred()
        changing = Deferred.fromCoroutine(self._change(request, change))
        changing.addErrback(self._broken).chainDeferred(reply)
        return await reply

    def _broken(self, failure: Failure) -> Reply:
        self._log.failure("A change went wrong", failure)
        return _told(500, {"error": "see the log"})

    async def _change(self, request: Request, change: Change) -> Reply:
        try:
            known = await self._store.latest()
            work = partial(perform, known=known, change=change, condition=condition_of(request))
            await self._store.change(work)
        except RescriptumError as e:
            reply = _refusal(e)
            self._refused(request, reply.status, str(e))
            return reply
        data = change.document.data if change.document is not None else b""
        outcome = "stored" if change.document is not None else "deleted"
        changed = AdminChanged(
            peer=request.peer, document=str(change.key), outcome=outcome, size=len(data)
        )
        record(self._log, changed)
        headers = (("ETag", etag(data)),) if change.document is not None else ()
        problems = shown(await self._problems())
        return _told(200, {"status": outcome, "problems": problems}, headers)

    async def _problems(self) -> Sequence[Problem]:
        """Of the set as it is after a change: that has been made, whatever comes of this."""
        try:
            answers = self._store.fresh() or await self._store.latest()
        except Unavailable as e:
            return [Problem("answers", str(e))]
        return answers.problems

    def _refused(self, request: Request, status: int, reason: str) -> None:
        refused = AdminRefused(
            peer=request.peer,
            method=request.method,
            path=request.path,
            status=status,
            reason=reason,
        )
        record(self._log, refused)

    def finished(self, done: Finished) -> None:
        """Changes are told when they are made; here only what the listener refused by itself."""
        now = self._monotonic()
        self._noise.look(now)
        if done.request is not None and done.reason and self._noise.add(now):
            self._refused(done.request, done.status, done.reason)

    def closed(self, peer: tuple[str, int]) -> None:
        """Nothing is counted for a connection."""


def _told(
    status: int, value: Mapping[str, object], headers: tuple[tuple[str, str], ...] = ()
) -> Reply:
    return Reply(f"{json.dumps(value, indent=2)}\n".encode("ascii"), JSON, status, headers)


def _refusal(error: RescriptumError) -> Reply:
    value: dict[str, object] = {"error": str(error)}
    headers: tuple[tuple[str, str], ...] = ()
    if isinstance(error, Conflict):
        value["problems"] = shown(error.problems)
    if isinstance(error, Unavailable):
        headers = (("Retry-After", str(error.retry_after)),)
    return _told(status_of(error), value, headers)
