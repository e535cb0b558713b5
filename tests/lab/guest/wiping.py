"""
Empties disks by ``disk.wipe`` as the ramdisk runs it: those cases that the kernel was told. What
became of each goes to stdout, as a line of JSON.
"""

import json
import re
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from twisted.internet import task
from twisted.internet.defer import Deferred

from rescriptum.contract.structure import JSON
from rescriptum.roles.machine import RamdiskReactor

from .cases import Cases
from .command import wiper


def _asked() -> list[str]:
    told = re.search(r"lab\.cases=(\S+)", Path("/proc/cmdline").read_text())
    return told[1].split(",") if told else []


async def _seen(reactor: RamdiskReactor) -> None:
    cases = Cases(wiper(reactor))
    for name in _asked():
        case: Callable[[], Awaitable[JSON]] = getattr(cases, name)
        began = time.monotonic()
        try:
            seen = await case()
        except Exception:
            seen = {"trouble": traceback.format_exc()}
        seconds = round(time.monotonic() - began, 1)
        sys.stdout.write(f"{json.dumps({'case': name, 'seconds': seconds, **seen})}\n")
        sys.stdout.flush()


def main(reactor: object) -> Deferred[None]:
    return Deferred.fromCoroutine(_seen(cast(RamdiskReactor, reactor)))


if __name__ == "__main__":
    task.react(main)
