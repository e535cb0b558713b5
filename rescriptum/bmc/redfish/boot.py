"""Boot override: set as a whole, then read back, since some accept and forget (W220, W221)."""

from typing import Final

from attrs import evolve

from ...contract.bmc import BmcRefusal, SetOverride
from .changing import change
from .documents import Document, texts
from .override import MODE, TARGET, boot_of, described, holds, mode_differs, settings_of, triple
from .patience import patient
from .replies import Declined
from .session import Session
from .systems import system_of

#: Looks at what reads back, and seconds between them.
_LOOKS, _LOOK = 5, 2.0
_FIXED: Final = "the machine's boot mode is fixed"


async def get_override(session: Session, system: str) -> dict[str, object]:
    """``boot.getOverride``."""
    _, document = await system_of(session, system)
    return described(boot_of(document))


async def set_override(session: Session, system: str, args: SetOverride) -> dict[str, object]:
    """``boot.setOverride``. :returns: as it reads back."""
    path, document = await system_of(session, system)
    for where in await learn(session, path, document):
        boot = await _set(session, path, where, document, args)
        if boot is not None:
            if mode_differs(boot, args):
                raise BmcRefusal("failed", f"the target is set, but {_FIXED}: {boot.get(MODE)}")
            return described(boot)
    now = described(boot_of(await session.get(path)))
    raise BmcRefusal("failed", f"it accepts the override, and reads back {now['reported']}")


async def learn(session: Session, path: str, document: Document) -> tuple[str, ...]:
    """:returns: where it may be set: on the settings first, where these have a boot (W221)."""
    boot = boot_of(document)
    known = session.profile.boot_settings
    settings = known or settings_of(document)
    takes = settings != "" and bool(boot_of(await session.find(settings)))
    session.profile = evolve(
        session.profile,
        boot_targets=texts(boot, f"{TARGET}@Redfish.AllowableValues") or (),
        boot_modes=texts(boot, f"{MODE}@Redfish.AllowableValues") or (),
        boot_settings=settings if takes else "",
    )
    return (settings, path) if takes else (path,)


async def _set(
    session: Session, path: str, where: str, document: Document, args: SetOverride
) -> Document | None:
    """:returns: what reads back; None when it does not hold."""
    tells = not session.profile.boot_mode_fixed
    wanted = triple(boot_of(document), args, tells)
    try:
        await patient(session, lambda: change(session, where, {"Boot": wanted}))
    except Declined as e:
        if MODE not in wanted or e.code == "auth-failed" or not e.names(MODE):
            raise
        session.profile = evolve(session.profile, boot_mode_fixed=True)  # HPE's (W219)
        bare = triple(boot_of(document), args, mode=False)
        await patient(session, lambda: change(session, where, {"Boot": bare}))
    for look in range(_LOOKS):
        for each in dict.fromkeys((path, where)):
            boot = boot_of(await session.get(each))
            if holds(boot, args):
                return boot
        if look + 1 < _LOOKS and not await session.waited(_LOOK):
            break
    return None
