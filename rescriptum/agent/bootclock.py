"""
What time it is on a machine whose clock nobody has set since its battery died (W211).

The site agent has said so in its assertion, a minute or two before: near enough to join by.
"""

from typing import Final

from ..contract.jose import unverified
from ..contract.refusals import Rejected

#: Seconds that the clock may be behind the assertion, and ahead of the boot that followed it.
_BEHIND: Final = 60
_AHEAD: Final = 3600
#: In Unix seconds, the year 2242: not every kernel's clock can show what comes much later.
LATEST: Final = (1 << 33) - 1


def said(assertion: str) -> int | None:
    """
    :param assertion: as the kernel was told it: whoever told it is believed the rest of it, too.
    :returns: when it was made, in Unix seconds; None: it does not say.
    """
    try:
        made = unverified("discovery", assertion).get("issued_at")
    except Rejected:
        return None
    # JSON's true is a number to Python: a second of 1970.
    return made if type(made) is int and 0 < made <= LATEST else None


def corrected(wall: float, made: int | None, uptime: float) -> int | None:
    """
    :param wall: what the clock shows. :param made: when the assertion was.
    :param uptime: seconds since the kernel began.
    :returns: what it should be set to; None: it is right as far as anybody can tell.
    """
    if made is None or made - _BEHIND <= wall <= made + uptime + _AHEAD:
        return None
    return int(made + uptime)
