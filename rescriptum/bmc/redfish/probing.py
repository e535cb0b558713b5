"""Everything that is worth knowing of a BMC before it matters, read and nothing written."""

from ...contract.bmc import BmcRefusal
from .accounts import find_accounts
from .boot import learn
from .firmware import find_service
from .media import find_slot
from .power import allowed
from .session import Session
from .systems import manager_of, system_of


async def probe(session: Session, system: str) -> None:
    """Fill the session's profile: what a BMC does not have stays empty there."""
    path, document = await system_of(session, system)
    await allowed(session, document)
    await manager_of(session, document)
    await learn(session, path, document)
    await find_slot(session, document)
    for find in (lambda: find_accounts(session, system), lambda: find_service(session)):
        try:
            await find()
        except BmcRefusal as e:
            if e.code != "unsupported-operation":
                raise
