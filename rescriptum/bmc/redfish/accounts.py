"""A BMC's accounts: changing a password, and finding out which one holds afterwards."""

import re
from collections.abc import Sequence
from typing import Final

from attrs import evolve

from ...contract.bmc import BmcRefusal
from ..driver import Asked, Credential
from .changing import change
from .documents import Document, joined, link, members, path_of, text
from .replies import Declined, Message
from .session import Session
from .systems import manager_of, system_of

#: Accounts that are looked at.
_ACCOUNTS: Final = 64
#: Seconds between tries to reach a BMC that has just dropped a connection.
_WAITS: Final = (2.0, 5.0, 10.0)
#: Characters that may follow a path in a sentence.
_PATH: Final = re.compile(r"/redfish/[^\s'\"<>,;]+")


async def rotate(session: Session, system: str, asked: Asked) -> dict[str, object]:
    """
    ``management.rotateCredential``: two logins at the most tell which password holds, since the
    third wrong one may lock the account (W246).

    :returns: ``verified``: false when neither does: then the BMC said yes, and the account may not
        log in this way (W243).
    :raises BmcRefusal: ``failed`` when the old one still holds, ``timeout`` when nobody knows.
    """
    old, new = asked.credential, asked.replacement
    if old is None or new is None or not len(new.password):
        raise BmcRefusal("invalid-config", "a rotation needs a credential, and the one after it")
    new = evolve(new, username=new.username or old.username)
    path = await _account(session, system, new.username)
    told = ""
    try:
        await change(session, path, {"Password": new.password.reveal()})
    except BmcRefusal as e:
        if isinstance(e, Declined) or e.code not in ("timeout", "bad-response"):
            raise
        told = e.detail  # it may have been done all the same
    if await _accepted(session, new):
        return {"verified": True}
    if await _accepted(session, old) and old.username == new.username:
        raise BmcRefusal("failed", "verified: false: the old password still holds")
    if told:
        raise BmcRefusal("timeout", f"neither password is accepted: {told}")
    return {"verified": False}


def account_in(said: Sequence[Message]) -> str:
    """:returns: the path of the account that must be changed, as its messages have it (W244)."""
    for each in said:
        for part in (*each.args, each.said):
            found = _PATH.search(part)
            if found:
                return path_of(found.group().rstrip(".)"))
    return ""


async def find_accounts(session: Session, system: str) -> str:
    """:returns: the path of the collection; older iDRACs have it elsewhere (W245)."""
    if session.profile.accounts:
        return session.profile.accounts
    service = await session.find(link(await session.root(), "AccountService"))
    path = link(service, "Accounts")
    if not path:
        _, document = await system_of(session, system)
        manager = await manager_of(session, document)
        path = joined(manager, "Accounts") if manager else ""
        path = path if members(await session.find(path)) else ""
    if not path:
        raise BmcRefusal("unsupported-operation", "it shows no accounts")
    session.profile = evolve(session.profile, accounts=path)
    return path


async def _account(session: Session, system: str, username: str) -> str:
    named = account_in(session.must_change)
    if named:
        return named
    try:
        listed = await session.get(await find_accounts(session, system))
        for member in members(listed)[:_ACCOUNTS]:
            whole = "UserName" in member.document
            found: Document = member.document if whole else await session.find(member.path)
            if text(found, "UserName") == username:
                return member.path
    except Declined as e:
        named = account_in(e.messages) if e.change_first else ""
        if named:
            return named
        raise
    raise BmcRefusal("not-found", f"it has no account {username}")


async def _accepted(session: Session, credential: Credential) -> bool:
    """
    :returns: whether the BMC lets in whoever has it.
    :raises BmcRefusal: ``timeout`` when it cannot be asked.
    """
    for wait in (*_WAITS, None):
        try:
            await session.renew(credential)
            if not session.proven and not session.must_change:
                await session.get(joined(session.base, "Systems"))
            return True
        except BmcRefusal as e:
            # It knows who asks, and forbids only this (W243).
            if isinstance(e, Declined) and e.reply.status == 403 and e.code == "refused":
                return True
            if e.code == "auth-failed":
                return isinstance(e, Declined) and e.change_first
            if wait is None or not await session.waited(wait):
                raise BmcRefusal(
                    "timeout", f"nobody knows which password holds: {e.detail}"
                ) from None
    raise AssertionError("the last try raises or returns")
