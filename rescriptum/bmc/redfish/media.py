"""Virtual media: an image that the BMC fetches, and lends to its machine as a CD."""

from collections.abc import Callable
from functools import partial
from typing import Final

from attrs import evolve

from ...contract.bmc import BmcRefusal, InsertMedia
from .changing import change
from .documents import Document, link, members
from .patience import patient
from .replies import Declined, Reply
from .session import Session
from .slots import ejecting, forms, holds, inserted, inserting, insertion, is_disc
from .systems import manager_of, system_of

#: Looks at a slot after it was changed, and seconds between them.
_LOOKS, _LOOK = 5, 2.0
#: Answers that say that something was missing or too much, rather than no.
_MENDABLE: Final = (400, 415, 422, 500)
#: Slots that are looked at.
_SLOTS: Final = 16


async def insert(session: Session, system: str, args: InsertMedia) -> dict[str, object]:
    """``media.insert``: what is in the slot goes; the same image there already is done."""
    path, slot = await _slot(session, system)
    if holds(slot, args.url):
        return {"slot": path, "inserted": True}
    if inserted(slot):
        await _eject(session, path, slot)
    refusal: Declined | None = None
    for form in forms(session.profile.media_form):
        try:
            await patient(session, partial(_send, session, path, slot, form, args.url))
        except Declined as e:
            refusal = refusal or e  # the first, which is by the book
            if e.reply.status not in _MENDABLE or e.code not in ("refused", "failed"):
                raise
            continue
        session.profile = evolve(session.profile, media_form=form)
        if await _seen(session, path, lambda slot: holds(slot, args.url)):
            return {"slot": path, "inserted": True}
        raise BmcRefusal("failed", "it accepts the image, and shows none in the slot")
    assert refusal is not None
    hint = "; some take no URL with ? or = in it" if set(args.url) & set("?=") else ""  # (W234)
    raise BmcRefusal(refusal.code, refusal.detail + hint)


async def eject(session: Session, system: str) -> dict[str, object]:
    """``media.eject``: an empty slot is done."""
    path, slot = await _slot(session, system)
    if inserted(slot):
        await _eject(session, path, slot)
    return {"slot": path, "inserted": False}


async def find_slot(session: Session, document: Document) -> str:
    """
    :param document: the machine's. :returns: the path of the first slot for discs: on some
        BMCs no other boots (W231); empty when there is none.
    """
    places = [link(document, "VirtualMedia")]
    manager = await manager_of(session, document)
    if manager:
        places.append(link(await session.find(manager), "VirtualMedia"))
    for place in dict.fromkeys(filter(None, places)):
        for member in members(await session.find(place))[:_SLOTS]:
            if is_disc(await session.find(member.path)):
                session.profile = evolve(session.profile, media=member.path)
                return member.path
    return ""


async def _slot(session: Session, system: str) -> tuple[str, Document]:
    slot = await session.known(session.profile.media)
    if slot:
        return session.profile.media, slot
    _, document = await system_of(session, system)
    path = await find_slot(session, document)
    if not path:
        raise BmcRefusal("unsupported-operation", "it has no virtual CD: it may need a licence")
    return path, await session.get(path)


async def _send(session: Session, path: str, slot: Document, form: str, url: str) -> Reply:
    target, body = inserting(slot), insertion(form, url)
    if target:
        return await session.post(target, body)
    return await change(session, path, {"Inserted": True, **body})


async def _eject(session: Session, path: str, slot: Document) -> None:
    target = ejecting(slot)
    try:
        if target:
            await patient(session, lambda: session.post(target, {}))  # HPE wants a body (W233)
        else:
            await change(session, path, {"Image": None, "Inserted": False})
    except Declined as e:
        # Some fail, and have done it.
        if e.reply.status < 500 or not await _seen(session, path, lambda now: not inserted(now)):
            raise
        return
    await _seen(session, path, lambda now: not inserted(now))  # or the slot is stale


async def _seen(session: Session, path: str, there: Callable[[Document], bool]) -> bool:
    for look in range(_LOOKS):
        if there(await session.find(path)):
            return True
        if look + 1 < _LOOKS and not await session.waited(_LOOK):
            break
    return False
