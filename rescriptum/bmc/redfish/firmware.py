"""Firmware: what is installed, and an update followed to its end, whatever the BMC says of it."""

from typing import Final

from attrs import evolve

from ...contract.bmc import BmcRefusal, UpdateFirmware
from ..driver import Asked
from .documents import Document, inner, joined, link, members, path_of, text, texts
from .patience import patient
from .replies import Declined
from .session import Session
from .tasks import Phase, Progress, begun, progress

_ACTION: Final = "#UpdateService.SimpleUpdate"
#: Parts of a machine whose firmware is listed.
_PARTS: Final = 128
#: Seconds between looks at a task, and for which one may not be found after it was begun (W239).
_LOOK, _YOUNG = 5.0, 20.0
#: Seconds between looks at the installed versions, and that must be left for another.
_COMPARE, _SPARE = 15.0, 5.0
#: What passes while a BMC restarts into its new firmware.
_AWAY: Final = ("unreachable", "timeout", "bad-response", "conflict", "tls-error")


async def list_firmware(session: Session) -> dict[str, object]:
    """``firmware.list``."""
    _, service = await find_service(session)
    found = await _parts(session, service)
    return {
        "firmware": [
            {
                "id": path.rstrip("/").rpartition("/")[2],
                "name": text(part, "Name"),
                "version": text(part, "Version"),
                "updateable": part.get("Updateable") is True,
            }
            for path, part in found.items()
        ]
    }


async def update(session: Session, asked: Asked, args: UpdateFirmware) -> dict[str, object]:
    """``firmware.update``: of an image that was verified, where the BMC may fetch it."""
    if not asked.image_url:
        raise BmcRefusal("image-unverified")
    path, service = await find_service(session)
    action = inner(service, "Actions", _ACTION)
    target = path_of(action.get("target"))
    if not target:
        raise BmcRefusal("unsupported-operation", "it fetches no firmware by itself")
    before = _versions(await _parts(session, service))
    body = _body(action, asked.image_url, args.targets)
    task = begun(await patient(session, lambda: session.post(target, body)))
    # Without a task, the versions are all there is to tell (W236).
    ended = await _followed(session, task, asked) if task else Progress(Phase.GONE)
    if ended.phase is Phase.FAILED:
        raise BmcRefusal("failed", ended.said)
    if ended.phase is Phase.DONE:
        return {"confirmed": "task", "changed": _changed(before, await _now(session, path))}
    return {"confirmed": "version", "changed": await _compared(session, path, before)}


def _body(action: Document, url: str, targets: tuple[str, ...]) -> dict[str, object]:
    protocol = url.partition(":")[0].upper()
    allowed = texts(action, "TransferProtocol@Redfish.AllowableValues")
    if allowed is not None and protocol not in allowed:
        raise BmcRefusal("unsupported-operation", f"it fetches by {', '.join(allowed)} only")
    made: dict[str, object] = {"ImageURI": url, "TransferProtocol": protocol}
    if targets:
        made["Targets"] = list(targets)
    return made


async def find_service(session: Session) -> tuple[str, Document]:
    """:returns: its path, and what it says now."""
    service = await session.known(session.profile.updates)
    if service:
        return session.profile.updates, service
    root = await session.root()
    path = link(root, "UpdateService") or joined(session.base, "UpdateService")
    try:
        service = await session.get(path)
    except Declined as e:
        if e.code != "not-found":
            raise
        raise BmcRefusal("unsupported-operation", "it has no update service") from None
    session.profile = evolve(session.profile, updates=path)
    return path, service


async def _parts(session: Session, service: Document) -> dict[str, Document]:
    """:returns: by path."""
    inventory = await session.find(link(service, "FirmwareInventory"))
    made: dict[str, Document] = {}
    for member in members(inventory)[:_PARTS]:
        whole = "Version" in member.document
        made[member.path] = member.document if whole else await session.find(member.path)
    return made


def _versions(parts: dict[str, Document]) -> dict[str, str]:
    return {path: text(part, "Version") for path, part in parts.items()}


def _changed(before: dict[str, str], now: dict[str, str]) -> dict[str, object]:
    """:returns: by id: from which version to which."""
    return {
        path.rstrip("/").rpartition("/")[2]: [before.get(path, ""), version]
        for path, version in now.items()
        if version and version != before.get(path, "")
    }


async def _now(session: Session, path: str) -> dict[str, str]:
    try:
        return _versions(await _parts(session, await session.get(path)))
    except BmcRefusal as e:
        if e.code not in _AWAY:
            raise
        return {}  # on its way into the new firmware


async def _followed(session: Session, task: str, asked: Asked) -> Progress:
    """:raises BmcRefusal: ``timeout`` for one that does not end (W240)."""
    begun_at, seen, last = session.transport.now(), False, Progress(Phase.RUNNING)
    while True:
        now = await _look(session, task)
        young = not seen and session.transport.now() - begun_at < _YOUNG
        if now.phase is not Phase.RUNNING and not (now.phase is Phase.GONE and young):
            return now
        if now.said:
            seen = True
            if now != last:
                asked.progress({"state": session.mask(now.said), "percent": now.percent})
            last = now
        if session.left < _LOOK + _SPARE or not await session.waited(_LOOK):
            raise BmcRefusal("timeout", f"its task has not ended: {last.said or 'nothing known'}")


async def _look(session: Session, task: str) -> Progress:
    try:
        reply = await session.reply("GET", task)
        try:
            document = reply.document()
        except BmcRefusal:
            document = {}
        return progress(reply, document)
    except BmcRefusal as e:
        if e.code not in _AWAY:
            raise
        return Progress(Phase.RUNNING)


async def _compared(session: Session, path: str, before: dict[str, str]) -> dict[str, object]:
    """:raises BmcRefusal: ``timeout`` when no version changes: it may have been the same one."""
    while True:
        changed = _changed(before, await _now(session, path))
        if changed:
            return changed
        if session.left < _COMPARE + _SPARE or not await session.waited(_COMPARE):
            raise BmcRefusal("timeout", "nobody knows how it ended: no version has changed")
