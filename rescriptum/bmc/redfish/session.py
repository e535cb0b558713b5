"""One login at a BMC, and every request of an operation within it."""

import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from attrs import evolve

from ...contract.bmc import UNCHANGED, BmcRefusal
from ..driver import Credential
from .documents import Document, joined, link, unpacked
from .quirks import BASIC, QuirkProfile
from .replies import (
    CHANGE_FIRST,
    Ask,
    Declined,
    Dropped,
    Mask,
    Message,
    Reply,
    Transport,
    declined,
    explained,
    location,
    retry_after,
    same_with_slash,
)

_T = TypeVar("_T")

#: Seconds that one answer may take, and that are kept for the last one, which ends the session: of
#: few of them a quarter.
ANSWER: Final = 30.0
_CLOSING: Final = 5.0
#: Seconds between tries while a BMC says that it has no room (W204).
_BACK_OFF: Final = (2.0, 5.0, 10.0)
#: Statuses of a BMC that has no sessions to open.
_NO_SESSIONS: Final = (404, 405, 410, 501)
_UNKNOWN: Final = "nobody knows whether it was done"
_REDIRECTS: Final = (301, 302, 303, 307, 308)


class Session:
    """
    What an operation asks its BMC through. Open at most one login at a time (W204).

    :ivar profile: what is known of the BMC, and grows.
    :ivar wrote: whether it was asked to change anything; a login changes nothing.
    :ivar must_change: messages of a login that was let in only to change its password (W244).
    """

    def __init__(
        self,
        transport: Transport,
        origin: str,
        base: str,
        credential: Credential | None,
        profile: QuirkProfile,
        seconds: float,
        secrets: tuple[str, ...] = (),
    ) -> None:
        """
        :param origin: scheme, host and port of the BMC. :param base: path of its service root.
        :param seconds: from now, for everything, logging out included.
        :param secrets: which no error repeats, beside the credential's.
        """
        self.transport = transport
        self.profile = profile
        self.must_change: tuple[Message, ...] = ()
        self._origin = origin
        self.base = base
        self._credential = credential
        closing = min(_CLOSING, seconds / 4)
        self._until = transport.now() + seconds - closing
        self._closing = closing * 0.45  # twice, and over before somebody ends it
        self._secrets = secrets
        self._token = ""
        self._own = ""
        self._basic = False
        self._again = True
        self._root: Document | None = None
        self.wrote = False
        self.mask = self._masked()

    @property
    def left(self) -> float:
        """Seconds until the operation's end."""
        return self._until - self.transport.now()

    def _masked(self) -> Mask:
        held = list(self._secrets)
        if self._credential is not None:
            password = self._credential.password.reveal()
            held += [password, json.dumps(password)[1:-1], _basic(self._credential)]
        return Mask.of(*held, self._token)

    # Logging in and out

    async def open(self) -> None:
        """
        Log in: by a session where the BMC has them, else with every request.

        :raises BmcRefusal: ``auth-failed`` among others.
        """
        if self._credential is None:
            return
        sessions = self.profile.sessions or await self._sessions()
        if sessions != BASIC:
            sessions = await self._log_in(self._credential, sessions)
        self._basic = not self._token
        self.profile = evolve(self.profile, sessions=sessions)

    async def _sessions(self) -> str:
        # The root needs no login, by the book; some ask for one nevertheless.
        reply = await self._exchange(Ask("GET", joined(self.base, "")), login=False)
        if reply.status == 401:
            return BASIC
        root = self._document(reply)
        self._root = root
        named = link(root, "Links", "Sessions")  # (W205)
        if not named and link(root, "SessionService"):
            named = joined(link(root, "SessionService"), "Sessions")
        return named or BASIC

    async def _log_in(self, credential: Credential, sessions: str) -> str:
        """:returns: where sessions are opened; :data:`BASIC` when there are none."""
        names = {"UserName": credential.username, "Password": credential.password.reveal()}
        ask = Ask("POST", sessions, body=json.dumps(names).encode())
        for wait in (*_BACK_OFF, None):
            reply = await self._exchange(ask, login=False)
            if reply.status != 503 or wait is None or not await self._waited(wait, reply):
                break
        if reply.fine:
            # A cookie alone would do for browsers, not for us.
            self._token = reply.headers.get("x-auth-token", "")
            self._own = location(reply) or link(reply.document())
            self.mask = self._masked()
            said = explained(reply)
            self.must_change = tuple(each for each in said if each.name in CHANGE_FIRST)
            return sessions if self._token else BASIC
        if reply.status in _NO_SESSIONS:
            return BASIC
        refusal = declined(reply, self.mask)
        if refusal.change_first:
            self.must_change = refusal.messages
        elif reply.status in (400, 403):
            raise Declined("auth-failed", refusal.detail, reply, refusal.messages)
        elif reply.status != 503:  # no slot free: every request by itself, then (W204)
            raise refusal
        return sessions

    @property
    def proven(self) -> bool:
        """Whether the BMC has taken the credential already."""
        return bool(self._token)

    async def close(self, by_password: bool = True) -> None:
        """
        Log out, whatever became of the operation: slots for sessions are few (W204).

        :param by_password: also where the BMC knows the session's token no more.
        """
        token, own = self._token, self._own
        self._token = self._own = ""
        if not token or not own:
            return
        ways = [("X-Auth-Token", token)]
        if by_password and self._credential is not None:
            ways.append(("Authorization", f"Basic {_basic(self._credential)}"))
        try:
            for header in ways:
                reply = await self.transport.ask(
                    Ask("DELETE", own, (*_headers("identity"), header)), self._closing
                )
                if reply.status != 401:
                    break
        except BmcRefusal:
            pass  # it is gone, or the BMC ends it some day (W206)

    async def renew(self, credential: Credential) -> None:
        """
        Log out, and in by ``credential``: what was open keeps working after a change of passwords
        and proves nothing (W247).
        """
        await self.close(by_password=False)  # a wrong one by now, which may lock the account (W246)
        held = self._credential.password.reveal() if self._credential else ""
        self._secrets = (*self._secrets, held)
        self._credential = credential
        self._basic, self._again = False, False
        self.must_change = ()
        self.mask = self._masked()
        await self.open()

    # Asking

    async def root(self) -> Document:
        """:returns: the service root."""
        if self._root is None:
            self._root = await self.get(joined(self.base, ""))
        return self._root

    async def get(self, path: str) -> Document:
        """:raises BmcRefusal: for anything but a document."""
        return self._document(await self.reply("GET", path))

    async def find(self, path: str) -> Document:
        """:returns: an empty one when there is none, or none that the BMC can put together."""
        if not path:
            return {}
        try:
            return await self.get(path)
        except Declined as e:
            if e.code == "auth-failed" or e.reply.status == 503:
                raise
            return {}

    async def known(self, path: str) -> Document:
        """
        :param path: out of the profile, or empty. :returns: an empty document when it leads
            nowhere any more: then the whole profile is forgotten.
        """
        if not path:
            return {}
        try:
            return await self.get(path)
        except Declined as e:
            if e.code != "not-found":
                raise
        self.profile = QuirkProfile(sessions=self.profile.sessions)
        return {}

    async def post(self, path: str, body: Document) -> Reply:
        """:raises Declined: unless it succeeds."""
        return self._fine(await self.reply("POST", path, body))

    async def delete(self, path: str) -> Reply:
        """:raises Declined: unless it succeeds."""
        return self._fine(await self.reply("DELETE", path))

    async def reply(
        self,
        method: str,
        path: str,
        body: Document | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Reply:
        """:returns: also one that says no; 401 only after a second login (W206)."""
        data = None if body is None else json.dumps(body).encode()
        ask = Ask(method, path, headers, data)
        reply = await self._exchange(ask)
        if reply.status == 401 and self._token and self._again:
            self._again = False
            await self.close()
            await self.open()
            reply = await self._exchange(ask)
        return reply

    def _document(self, reply: Reply) -> Document:
        return self._fine(reply).document()

    def _fine(self, reply: Reply) -> Reply:
        if not reply.fine:
            raise declined(reply, self.mask)
        return reply

    async def _exchange(self, ask: Ask, login: bool = True) -> Reply:
        if not ask.path:
            raise BmcRefusal("bad-response", "it names no path where one is needed")
        packing = "identity"
        again = not ask.writes
        while True:
            try:
                reply = await self._asked(ask, packing, login)
            except BmcRefusal as e:
                if ask.writes and (isinstance(e, Dropped) or e.code == "timeout"):
                    raise BmcRefusal("timeout", f"{e.detail}: {_UNKNOWN}") from None
                if not again or not isinstance(e, Dropped):
                    raise
                again = False
                continue
            if again and reply.status in (500, 502, 504):  # on a new connection (W208)
                again = False
                continue
            if reply.status == 406 and packing == "identity":  # HPE's registries (W207)
                packing = "gzip"
                continue
            if reply.status in _REDIRECTS:
                there = reply.headers.get("location", "")
                path = same_with_slash(ask.path, there, self._origin)
                if path:
                    ask = Ask("GET", path) if reply.status == 303 else evolve(ask, path=path)
                    continue
            if reply.status == 303 and ask.writes and location(reply):
                # It is taken, and its task is there: on this BMC, whatever host it names (W203).
                reply = evolve(reply, status=202)
            return evolve(
                reply, body=unpacked(reply.body, reply.headers.get("content-encoding", ""))
            )

    async def _asked(self, ask: Ask, packing: str, login: bool) -> Reply:
        if self.left <= 0:
            raise BmcRefusal("timeout", "the time for the operation is over")
        self.wrote = self.wrote or (ask.writes and login)
        headers = [*_headers(packing), *ask.headers]
        if ask.body is not None:
            headers.append(("Content-Type", "application/json"))
        if login and self._token:
            headers.append(("X-Auth-Token", self._token))
        elif login and self._basic and self._credential is not None:
            headers.append(("Authorization", f"Basic {_basic(self._credential)}"))
        return await self.transport.ask(evolve(ask, headers=tuple(headers)), min(ANSWER, self.left))

    async def _waited(self, seconds: float, reply: Reply) -> bool:
        """:returns: whether there was the time for it."""
        return await self.waited(max(seconds, min(retry_after(reply), 60)))

    async def waited(self, seconds: float) -> bool:
        """:returns: whether there was the time to wait so long; if not, it did not."""
        if seconds >= self.left:
            return False
        await self.transport.pause(seconds)
        return True


async def talk(session: Session, work: Callable[[Session], Awaitable[_T]]) -> _T:
    """
    :param work: within a login.
    :returns: what it gives, without a secret. :raises BmcRefusal: without one either.
    """
    try:
        await session.open()
        made = await work(session)
    except BmcRefusal as e:
        detail = e.detail
        if e.code == "timeout" and not session.wrote:
            detail += f"; {UNCHANGED}"
        raise BmcRefusal(e.code, session.mask(detail)) from None
    finally:
        await session.close()
    return made


def _headers(packing: str) -> tuple[tuple[str, str], ...]:
    """:returns: those of every request; some insist on the version of OData (W208)."""
    return (
        ("Accept", "application/json"),
        ("Accept-Encoding", packing),
        ("OData-Version", "4.0"),
    )


def _basic(credential: Credential) -> str:
    both = f"{credential.username}:{credential.password.reveal()}"
    return b64encode(both.encode("utf-8", "surrogatepass")).decode("ascii")
