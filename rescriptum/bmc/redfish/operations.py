"""THE table of what a Redfish client can do, by the operations of the contract."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from ...contract.bmc import BmcRefusal, SetOverride, SetPower
from ..driver import Asked
from . import boot, power
from .session import Session

Performing = Callable[[Session, str, Asked], Awaitable[dict[str, object]]]


async def _get_power(session: Session, system: str, _: Asked) -> dict[str, object]:
    return await power.get_power(session, system)


async def _set_power(session: Session, system: str, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, SetPower)
    return await power.set_power(session, system, asked.args)


async def _get_override(session: Session, system: str, _: Asked) -> dict[str, object]:
    return await boot.get_override(session, system)


async def _set_override(session: Session, system: str, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, SetOverride)
    return await boot.set_override(session, system, asked.args)


#: By name of the operation.
PERFORMING: Final[Mapping[str, Performing]] = {
    "power.getPower": _get_power,
    "power.setPower": _set_power,
    "boot.getOverride": _get_override,
    "boot.setOverride": _set_override,
}


async def perform(session: Session, system: str, asked: Asked) -> dict[str, object]:
    """
    :returns: the data of the outcome, with no secret in it.
    :raises BmcRefusal: with none either.
    """
    performing = PERFORMING.get(asked.operation.name)
    if performing is None:
        raise BmcRefusal("unsupported-operation", f"no {asked.operation.name} by Redfish")
    return await performing(session, system, asked)
