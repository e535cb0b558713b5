"""Which machine an operation is about, and which BMC it hangs on."""

from attrs import evolve

from ...contract.bmc import BmcRefusal
from .documents import Document, Member, joined, link, members, text
from .session import Session

#: Systems that a refusal lists.
_SHOWN = 8


def chosen(found: tuple[Member, ...], system: str) -> Member:
    """
    :param system: the id or path of one; empty: the only one.
    :raises BmcRefusal: rather than guess (W200).
    """
    if not found:
        raise BmcRefusal("not-found", "it has no system")
    if not system:
        if len(found) > 1:
            raise BmcRefusal("invalid-config", f"several systems, name one of {_listed(found)}")
        return found[0]
    for each in found:
        if system.rstrip("/") in (each.name, each.path.rstrip("/")):
            return each
    raise BmcRefusal("not-found", f"it has no system {system}, but {_listed(found)}")


def _listed(found: tuple[Member, ...]) -> str:
    more = ", …" if len(found) > _SHOWN else ""
    return ", ".join(each.name for each in found[:_SHOWN]) + more


async def system_of(session: Session, system: str) -> tuple[str, Document]:
    """
    :param system: as the operator named it. :returns: its path and what it says now.
    :raises BmcRefusal: ``invalid-config`` when there are several.
    """
    document = await session.known(session.profile.system)
    if document:
        return session.profile.system, document
    root = await session.root()
    listed = link(root, "Systems") or joined(session.base, "Systems")
    path = chosen(members(await session.get(listed)), system).path
    session.profile = evolve(
        session.profile,
        system=path,
        vendor=text(root, "Vendor") or text(root, "Product"),
        version=text(root, "RedfishVersion"),
    )
    return path, await session.get(path)


async def manager_of(session: Session, system: Document) -> str:
    """:returns: the path of the BMC that a machine hangs on; empty when that cannot be told."""
    if session.profile.manager:
        return session.profile.manager
    found = members(system, "ManagedBy")
    if not found:
        listed = link(await session.root(), "Managers")
        found = members(await session.find(listed))
        found = found if len(found) == 1 else ()
    path = found[0].path if found else ""
    session.profile = evolve(session.profile, manager=path)
    return path
