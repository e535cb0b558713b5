"""Everything that is worth knowing of a BMC before it matters, read and nothing written."""

from .boot import learn
from .power import allowed
from .session import Session
from .systems import manager_of, system_of


async def probe(session: Session, system: str) -> None:
    """Fill the session's profile."""
    path, document = await system_of(session, system)
    await allowed(session, document)
    await manager_of(session, document)
    await learn(session, path, document)
