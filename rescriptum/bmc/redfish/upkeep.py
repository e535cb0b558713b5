"""The BMC itself: what it has logged, and starting it anew."""

from typing import Final

from ...contract.bmc import BmcRefusal
from .documents import Document, Member, inner, joined, link, members, path_of, text, texts
from .patience import patient
from .session import Session
from .systems import manager_of, system_of

_RESET: Final = "#Manager.Reset"
_TYPES: Final = ("GracefulRestart", "ForceRestart")
#: What vendors call the log of events, the likeliest first.
_LOGS: Final = ("sel", "iel", "eventlog", "event", "log1", "standardlog", "log")
#: Entries of a log, and pages that they come on.
_ENTRIES, _PAGES = 500, 20


async def get_log(session: Session, system: str) -> dict[str, object]:
    """``management.getSelLog``: :data:`_ENTRIES` at the most."""
    _, document = await system_of(session, system)
    manager = await session.find(await manager_of(session, document))
    found: list[Member] = []
    for holder in (manager, document):
        found += members(await session.find(link(holder, "LogServices")))
    service = chosen_log(tuple(found))
    if service is None:
        raise BmcRefusal("unsupported-operation", "it shows no log")
    page = link(await session.get(service.path), "Entries") or joined(service.path, "Entries")
    made: list[dict[str, object]] = []
    for _ in range(_PAGES):
        document = await session.get(page)
        for each in members(document):
            whole = len(each.document) > 1
            made.append(entry(each.document if whole else await session.find(each.path)))
            if len(made) == _ENTRIES:
                return {"log": service.name, "entries": made, "more": True}
        page = path_of(document.get("Members@odata.nextLink"))
        if not page:
            break
    return {"log": service.name, "entries": made, "more": bool(page)}


def chosen_log(found: tuple[Member, ...]) -> Member | None:
    """:returns: the one of hardware events; else the first."""
    by_name = {each.name.lower(): each for each in reversed(found)}
    for name in _LOGS:
        if name in by_name:
            return by_name[name]
    return found[0] if found else None


def entry(document: Document) -> dict[str, object]:
    """:returns: one event."""
    return {
        "id": text(document, "Id"),
        "created": text(document, "Created"),
        "severity": text(document, "Severity"),
        "message": text(document, "Message"),
    }


async def reset(session: Session, system: str) -> dict[str, object]:
    """``management.reset``: the machine goes on meanwhile."""
    _, document = await system_of(session, system)
    path = await manager_of(session, document)
    if not path:
        raise BmcRefusal("unsupported-operation", "it does not say which manager it is")
    action = inner(await session.get(path), "Actions", _RESET)
    target = path_of(action.get("target"))
    if not target:
        raise BmcRefusal("unsupported-operation", "it cannot be reset")
    kind = reset_type(texts(action, "ResetType@Redfish.AllowableValues"))
    await patient(session, lambda: session.post(target, {"ResetType": kind}))
    return {"done": [kind]}


def reset_type(allowed: tuple[str, ...] | None) -> str:
    """:raises BmcRefusal: ``unsupported-operation``."""
    for each in _TYPES:
        if not allowed or each in allowed:
            return each
    raise BmcRefusal("unsupported-operation", f"it allows {', '.join(allowed or ())}")
