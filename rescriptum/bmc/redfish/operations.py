"""THE table of what a Redfish client can do, by the operations of the contract."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from ...contract.bmc import InsertMedia, SetOverride, SetPower, UpdateFirmware
from ..driver import Asked
from . import accounts, boot, firmware, inventory, media, power, upkeep
from .session import Session

Performing = Callable[[Session, str, Asked], Awaitable[dict[str, object]]]


async def _set_power(session: Session, system: str, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, SetPower)
    return await power.set_power(session, system, asked.args)


async def _set_override(session: Session, system: str, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, SetOverride)
    return await boot.set_override(session, system, asked.args)


async def _insert(session: Session, system: str, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, InsertMedia)
    return await media.insert(session, system, asked.args)


async def _update(session: Session, _: str, asked: Asked) -> dict[str, object]:
    assert isinstance(asked.args, UpdateFirmware)
    return await firmware.update(session, asked, asked.args)


#: By name of the operation: every one of the contract.
PERFORMING: Final[Mapping[str, Performing]] = {
    "power.getPower": lambda session, system, _: power.get_power(session, system),
    "power.setPower": _set_power,
    "boot.getOverride": lambda session, system, _: boot.get_override(session, system),
    "boot.setOverride": _set_override,
    "media.insert": _insert,
    "media.eject": lambda session, system, _: media.eject(session, system),
    "inventory.get": lambda session, system, _: inventory.get_inventory(session, system),
    "management.rotateCredential": accounts.rotate,
    "management.getSelLog": lambda session, system, _: upkeep.get_log(session, system),
    "management.reset": lambda session, system, _: upkeep.reset(session, system),
    "firmware.list": lambda session, _, __: firmware.list_firmware(session),
    "firmware.update": _update,
}


async def perform(session: Session, system: str, asked: Asked) -> dict[str, object]:
    """
    :param system: as the operator named it. :returns: the data of the outcome.
    :raises BmcRefusal: with the code of why not.
    """
    return await PERFORMING[asked.operation.name](session, system, asked)
