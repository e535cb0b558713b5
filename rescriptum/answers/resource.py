"""The answer listener: any path, GET, HEAD or POST, is a machine that asks what to do."""

from collections.abc import Awaitable

from attrs import frozen
from twisted.logger import Logger

from ..boot.events import AnswerRefused, AnswerSent, record
from ..errors import MalformedRequest
from ..interfaces import Workers
from ..values import MAC
from ..web.reply import Finished, Outcome, Reply
from ..web.request import Request
from ..web.routing import Routes
from .documents import AnswerSet
from .facts import Facts
from .resolution import resolve
from .store import AnswerStore

#: Bodies above so many bytes are looked through in a thread.
LARGE = 4096


@frozen
class About:
    """What the log says of an answer."""

    family: str
    machine: str
    group: str
    mac: MAC | None


def _declares_json(request: Request) -> bool:
    media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")


def _facts(request: Request) -> Facts:
    return Facts.of(request.segments, request.query, request.body, _declares_json(request))


def _reply(answers: AnswerSet, request: Request) -> Reply:
    facts = _facts(request)
    answer = resolve(answers, facts)
    about = About(answer.format.family, answer.machine, answer.group, facts.mac)
    return Reply(answer.body, answer.format.media_type, about=about)


class Answers:
    """Satisfies :class:`rescriptum.web.routing.Application`."""

    routes = Routes()
    _log = Logger()

    def __init__(self, store: AnswerStore, workers: Workers) -> None:
        self._store = store
        self._workers = workers

    @routes.get("<path...>")
    @routes.post("<path...>")
    def answer(self, request: Request, path: str) -> Reply | Awaitable[Reply]:
        """
        The document that claims the request, filled.

        :raises RescriptumError: as resolving it does; a body that is not the JSON it
            says it is is malformed.
        """
        answers = self._store.fresh()
        if answers is None or len(request.body) > LARGE:
            return self._answer_later(request)
        return _reply(answers, request)

    async def _answer_later(self, request: Request) -> Reply:
        answers = self._store.fresh() or await self._store.latest()
        if len(request.body) > LARGE:
            return await self._workers.run(lambda: _reply(answers, request))
        return _reply(answers, request)

    def finished(self, done: Finished) -> None:
        """Record what became of a request."""
        request, about = done.request, done.about
        if request is None and done.outcome is Outcome.STOPPED:
            return  # a client that left in the middle of asking
        if isinstance(about, About) and request is not None:
            sent = AnswerSent(
                peer=done.peer,
                method=request.method,
                target=request.target,
                body=len(request.body),
                mac=about.mac,
                status=done.status,
                seconds=done.seconds,
                family=about.family,
                machine=about.machine,
                group=about.group,
                size=done.size,
                outcome=done.outcome.value,
            )
            record(self._log, sent)
        elif done.status != 200:
            refused = AnswerRefused(
                peer=done.peer,
                method=request.method if request else "-",
                target=request.target if request else "-",
                body=len(request.body) if request else 0,
                mac=_mac(request) if request else None,
                status=done.status,
                seconds=done.seconds,
                reason=done.reason,
            )
            record(self._log, refused)

    def closed(self, peer: tuple[str, int]) -> None:
        """Nothing is counted for a connection."""


def _mac(request: Request) -> MAC | None:
    """Of a request that got no answer, perhaps because its body is none."""
    try:
        return _facts(request).mac
    except MalformedRequest:
        return Facts.of(request.segments, request.query).mac
