"""JSON over HTTP, as agents and operators get it: a value, or a problem with code and advice."""

from collections.abc import Awaitable, Callable
from functools import wraps
from math import ceil
from typing import TypeVar

from attrs import evolve

from ..contract.bounds import SENTENCE
from ..contract.refusals import REFUSALS, Rejected
from ..contract.sessions import Problem
from ..contract.structure import LONGEST_DOCUMENT, parsed, rendered, structured
from ..errors import RescriptumError, Unavailable
from ..web.bearer import CHALLENGE
from ..web.reply import Reply
from ..web.request import Request
from ..web.routing import Answer, Found, Route, Routes

JSON_TYPE = "application/json"
#: Seconds after which it is worth asking again, where nobody knows better.
AGAIN = 5

_T = TypeVar("_T")
_R = TypeVar("_R", bound=Route)
#: Replies carry tokens and secrets: nothing between may keep one.
_UNKEPT = ("Cache-Control", "no-store")


def ok(value: object, status: int = 200) -> Reply:
    """:param value: an attrs value, or what JSON has."""
    return Reply(rendered(value), JSON_TYPE, status, (_UNKEPT,))


def refused(error: Rejected, retry_after: float | None = None) -> Reply:
    """
    :param retry_after: seconds; None: as long as the code's status suggests.
    :returns: a ``Problem`` of the contract, with the headers of its status.
    """
    row = error.refusal
    headers: tuple[tuple[str, str], ...] = (_UNKEPT,)
    if row.status == 401:
        headers += CHALLENGE
    if retry_after is not None or row.status == 503:
        headers += (("Retry-After", str(ceil(AGAIN if retry_after is None else retry_after))),)
    problem = Problem(row.code, (error.detail or row.meaning)[:SENTENCE], row.advice)
    return Reply(rendered(problem), JSON_TYPE, row.status, headers, reason=str(error))


def problem(error: RescriptumError) -> Reply:
    """:returns: the reply to a request that ended with ``error``, of whatever kind."""
    if isinstance(error, Rejected):
        return refused(error)
    if isinstance(error, Unavailable):
        return refused(Rejected("over-capacity", str(error)), error.retry_after)
    return refused(Rejected(error.code if error.code in REFUSALS else "failed", str(error)))


def message(kind: type[_T], request: Request, longest: int = LONGEST_DOCUMENT) -> _T:
    """
    :param kind: an attrs class.
    :param longest: bytes that are read.
    :returns: the body of ``request``.
    :raises Rejected: for a body that is none.
    """
    return structured(kind, parsed(request.body, longest))


class JSONRoutes(Routes):
    """
    Routes whose errors are problems in JSON: those of the routes, and of paths that lead nowhere.

    What is not an error of ours stays with the listener: it is logged, once, and a bare 500.
    """

    def get(self, pattern: str) -> Callable[[_R], _R]:
        return _telling(super().get(pattern))

    def post(self, pattern: str) -> Callable[[_R], _R]:
        return _telling(super().post(pattern))

    def put(self, pattern: str) -> Callable[[_R], _R]:
        return _telling(super().put(pattern))

    def patch(self, pattern: str) -> Callable[[_R], _R]:
        return _telling(super().patch(pattern))

    def delete(self, pattern: str) -> Callable[[_R], _R]:
        return _telling(super().delete(pattern))

    def find(self, method: str, segments: tuple[str, ...]) -> Found:
        found = super().find(method, segments)
        if isinstance(found, frozenset):
            return _Nowhere(tuple(sorted(found))), ()
        return found


def _telling(add: Callable[[Route], Route]) -> Callable[[_R], _R]:
    def register(function: _R) -> _R:
        @wraps(function)
        def answer(*arguments: object) -> Answer | Awaitable[Answer]:
            try:
                result = function(*arguments)
            except RescriptumError as e:
                return problem(e)
            return _awaited(result) if isinstance(result, Awaitable) else result

        add(answer)
        return function

    return register


async def _awaited(result: Awaitable[Answer]) -> Answer:
    try:
        return await result
    except RescriptumError as e:
        return problem(e)


class _Nowhere:
    """The answer to paths and methods that no route takes. :ivar allowed: methods that one does."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self._allowed = allowed

    def __call__(self, application: object, request: Request) -> Reply:
        if not self._allowed:
            return refused(Rejected("unknown-path", request.path[:200]))
        allowed = ", ".join(self._allowed)
        reply = refused(Rejected("wrong-method", f"{request.method}; want {allowed}"))
        return evolve(reply, headers=(*reply.headers, ("Allow", allowed)))
