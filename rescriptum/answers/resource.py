"""The answer listener: any path, GET, HEAD or POST, is a machine that asks what to do."""

from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from typing import Self

from attrs import field, frozen
from twisted.logger import Logger

from ..boot.events import record
from ..errors import MalformedRequest
from ..interfaces import Workers
from ..values import MAC, Secret
from ..web.bearer import CHALLENGE, bears
from ..web.reply import Finished, Outcome, Reply
from ..web.request import Request
from ..web.routing import Routes, bare
from .answerset import AnswerSet
from .composer import Body, Composer
from .disarm import Moved, disarm
from .events import AnswerRefused, AnswerSent, MachineInstalled
from .facts import Facts
from .replies import Replies, Words
from .resolution import Chosen, choose, filled
from .store import AnswerStore
from .stores.capture import Captures
from .stores.store import Store

_log = Logger()  # looked up once: as a class's own each look makes another

#: Bodies above so many bytes are looked through in a thread.
LARGE = 4096
#: In larger ones that got no answer nobody looks for an address for the log.
LOGGED = 65536
#: Where an installer says that it is done; its own credential is in the body or the header.
INSTALLED = "installed"


@frozen
class About:
    """What the log says of an answer."""

    family: str
    machine: str
    group: str
    facts: Facts

    @property
    def mac(self) -> MAC | None:
        return self.facts.mac

    def __str__(self) -> str:
        return f"format={self.family} machine={self.machine} group={self.group}"


@frozen
class Disarmed:
    """What the log says of a machine that is installed."""

    moved: tuple[Moved, ...]
    mac: MAC | None

    @property
    def nothing(self) -> str:
        return f"nothing of {self.mac} was armed" if self.mac else "nothing was armed"


@frozen
class Report:
    """
    What an installer that is done says.

    :ivar token: the credential in its body, or empty.
    :ivar facts: without that, and without the path: neither is the name of a machine.
    """

    token: str = field(repr=False)
    facts: Facts

    @classmethod
    def of(cls, request: Request) -> Self:
        """:raises MalformedRequest: for a body that is not the JSON it says it is."""
        facts = Facts.of((), request.query, request.body, _declares_json(request))
        told = (each.text for each in facts.body if each.label == "token")
        return cls(next(told, ""), facts.without("token"))


def _declares_json(request: Request) -> bool:
    if not request.body:
        return False
    media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")


def _words(request: Request) -> Words:
    if not request.body:
        return Words(request.target, request.peer[0])
    kind = request.header("content-type") or ""
    return Words(request.target, request.peer[0], request.body, kind)


def _facts(request: Request) -> Facts:
    return Facts.of(
        request.segments, request.query, request.body, _declares_json(request), request.peer[0]
    )


def _reply(chosen: Chosen, body: Body, facts: Facts) -> Reply:
    answer = filled(chosen, body, facts)
    about = About(answer.format.family.name, answer.machine, answer.group, facts)
    return Reply(answer.body, answer.format.media_type, about=about)


class Answers:
    """
    Satisfies :class:`rescriptum.web.routing.Application`.

    :param token: what every request but those for ``/installed`` has to present, if given.
    :param installed: what ``POST /installed`` has to present; None: it is a path like any other.
    :param captures: where requests are kept, if given.
    :param told: whether anybody hears of answers that were sent whole; of all else somebody does.
    """

    routes = Routes()

    def __init__(
        self,
        store: AnswerStore,
        workers: Workers,
        *,
        token: Secret | None = None,
        installed: Secret | None = None,
        captures: Captures | None = None,
        told: bool = True,
    ) -> None:
        self._store = store
        self._workers = workers
        self._composer = Composer()
        self._replies: Replies[Reply] = Replies()
        self._token = token
        self._installed = installed
        self._captures = captures
        self._told = told

    @routes.get("<path...>")
    @routes.post("<path...>")
    def answer(self, request: Request, path: str = "") -> Reply | Awaitable[Reply]:
        """
        The document that claims the request, filled.

        :raises RescriptumError: as resolving it does; a body that is not the JSON it
            says it is is malformed.
        """
        if self._token is not None and not bears(request, self._token):
            return bare(401, "no answer token, or another", CHALLENGE)
        answers = self._store.fresh()
        if answers is None or len(request.body) > LARGE:
            return self._answer_later(request)
        return self._answer(answers, request)

    def _answer(self, answers: AnswerSet, request: Request) -> Reply | Awaitable[Reply]:
        words = _words(request)
        reply = self._replies.get(answers, words)
        if reply is not None:
            return reply
        facts = _facts(request)
        chosen = choose(answers, facts)
        body = chosen.made_up
        known = self._composer.known(chosen.layers) if body is None else body
        if known is None:
            return self._compose_later(chosen, facts)
        reply = _reply(chosen, known, facts)
        self._replies.put(answers, words, reply, len(reply.body))
        return reply

    async def _compose_later(self, chosen: Chosen, facts: Facts) -> Reply:
        body = await self._workers.run(lambda: self._composer.body(chosen.layers))
        return _reply(chosen, body, facts)

    async def _answer_later(self, request: Request) -> Reply:
        answers = self._store.fresh() or await self._store.latest()
        if len(request.body) > LARGE:
            return await self._workers.run(lambda: self._answer_large(answers, request))
        answered = self._answer(answers, request)
        return answered if isinstance(answered, Reply) else await answered

    def _answer_large(self, answers: AnswerSet, request: Request) -> Reply:
        """In a thread, whatever there is to compose."""
        facts = _facts(request)
        chosen = choose(answers, facts)
        body = chosen.made_up
        return _reply(chosen, self._composer.body(chosen.layers) if body is None else body, facts)

    @routes.post(INSTALLED)
    def installed(self, request: Request) -> Reply | Awaitable[Reply]:
        """
        The machine is installed: what made it install itself is taken out of use.

        :raises MalformedRequest: for a body that is not the JSON it says it is.
        """
        if self._installed is None:
            return self.answer(request, INSTALLED)
        return self._disarm(request, self._installed)

    async def _disarm(self, request: Request, token: Secret) -> Reply:
        report = partial(Report.of, request)
        said = report() if len(request.body) <= LARGE else await self._workers.run(report)
        if not (bears(request, token) or token.matches(said.token)):
            return bare(401, "no token for /installed, or another: still armed", CHALLENGE)
        facts, answers = said.facts, await self._store.latest()

        def work(store: Store) -> tuple[Moved, ...]:
            return disarm(store, answers, facts)

        moved = await self._store.change(work)
        text = "".join(f"{each}\n" for each in moved) or "nothing was armed\n"
        return Reply(text.encode("utf-8", "replace"), about=Disarmed(moved, facts.mac))

    def finished(self, done: Finished) -> None:
        """Record what became of a request."""
        request, about = done.request, done.about
        if request is None and done.outcome is Outcome.STOPPED:
            return  # a client that left in the middle of asking
        if isinstance(about, About) and request is not None:
            if self._told or done.outcome is not Outcome.SENT:
                self._record(request, done, about)
        elif isinstance(about, Disarmed):
            moved = ", ".join(map(str, about.moved)) or about.nothing
            record(_log, MachineInstalled(peer=done.peer, mac=about.mac, disarmed=moved), done.at)
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
            record(_log, refused, done.at)
        if self._captures is not None and request is not None:
            self._captures.keep(done, str(about) if isinstance(about, About) else done.reason)

    def _record(self, request: Request, done: Finished, about: About) -> None:
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
        record(_log, sent, done.at)

    def closed(self, peer: tuple[str, int]) -> None:
        """Nothing is counted for a connection."""


def _mac(request: Request) -> MAC | None:
    """Of a request that got no answer, perhaps because its body is none."""
    if len(request.body) <= LOGGED:
        with suppress(MalformedRequest):
            return _facts(request).mac
    return Facts.of(request.segments, request.query).mac
