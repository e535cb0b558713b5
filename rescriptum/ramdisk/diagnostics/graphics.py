"""What tools of a GPU's vendor say of it."""

import re
from typing import Final

from ..tools import Ran
from .health import Health
from .outcome import Verdict

#: The vendor whose GPUs there is a test for.
NVIDIA: Final = "0x10de"
#: Displays of BMCs, which are no GPUs: ASPEED, Matrox, and what virtual machines have.
_DISPLAYS: Final = frozenset({"0x1a03", "0x102b", "0x1013", "0x1234", "0x1af4", "0x1b36"})
QUERY: Final = (
    "nvidia-smi",
    "--query-gpu=index,pci.bus_id,name,ecc.errors.uncorrected.volatile.total",
    "--format=csv,noheader",
)
#: Deployment checks: a few seconds.
DIAGNOSE: Final = ("dcgmi", "diag", "--run", "1")
_COUNT: Final = re.compile(r"[0-9]{1,18}")
_FAIL: Final = re.compile(r"\|\s*Fail\b", re.I)


def vendors(ids: list[str]) -> tuple[int, int]:
    """
    :param ids: ``vendor:device`` of each display.
    :returns: how many of them there is a test for, and how many GPUs of others.
    """
    found = [each.partition(":")[0].lower() for each in ids]
    able = sum(each == NVIDIA for each in found)
    return able, sum(each not in _DISPLAYS for each in found) - able


def listed(ran: Ran, wanted: int) -> Health:
    """:param ran: :data:`QUERY`. :param wanted: GPUs that are on the bus."""
    if not ran.ok:
        return Health(Verdict.FAILED, ran.said)
    rows = [line.split(",") for line in ran.stdout.decode("utf-8", "replace").splitlines()]
    rows = [[each.strip() for each in row] for row in rows if len(row) == 4]
    if len(rows) < wanted:
        return Health(Verdict.FAILED, f"{len(rows)} of {wanted} answer")
    wrong = [row for row in rows if _COUNT.fullmatch(row[3]) and int(row[3])]
    if wrong:
        named = ", ".join(f"{row[1]}: {row[3]}" for row in wrong)
        return Health(Verdict.FAILED, f"errors that could not be corrected: {named}")
    return Health(Verdict.PASSED, f"{len(rows)} answer")


def diagnosed(ran: Ran) -> Health:
    """:param ran: :data:`DIAGNOSE`; some releases end with 0 whatever they found."""
    if _FAIL.search(ran.stdout.decode("utf-8", "replace")):
        return Health(Verdict.FAILED, "a test of its vendor failed")
    if not ran.ok:
        return Health(Verdict.FAILED, ran.said)
    return Health(Verdict.PASSED, "the vendor's tests passed")
