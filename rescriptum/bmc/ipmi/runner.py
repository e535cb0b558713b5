"""``bcx-ipmi``: the hosted driver, one operation a process. It imports no reactor: it is quick."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Coroutine
from enum import Enum
from shutil import which
from typing import Any, Final

from attrs import fields, frozen

from ...contract.bmc import OPERATIONS, BmcRefusal, Operation
from ...values import Secret
from ..driver import Asked, Credential
from .arguments import Call
from .driver import CONCERNS, IpmiDriver

NAME: Final = "bcx-ipmi"
#: What stands in ``bcx-ipmi.json``.
MANIFEST: Final[dict[str, object]] = {
    "id": "ipmi",
    "version": "1.0",
    "concerns": list(CONCERNS),
    "protocol": 1,
}
#: Seconds, should whoever hosts it not end it: the longest that an operation may take.
_LONGEST: Final = 3600
#: Bytes on stdin.
_MOST: Final = 256 * 1024


@frozen
class _Finished:
    status: int
    stdout: str
    stderr: str


class _Subprocesses:
    """
    Satisfies :class:`rescriptum.bmc.ipmi.driver.Tool`: a process blocks, and nobody else waits.

    What it runs is of its own process group, which whoever hosts the driver ends as one.
    """

    async def run(self, made: Call, seconds: float) -> _Finished:
        path = os.environ.get("PATH", os.defpath)
        program = which("ipmitool", path=path)
        if program is None:
            raise BmcRefusal("invalid-config", "there is no ipmitool on this host: install it")
        try:
            ended = subprocess.run(
                [program, *made.args],
                env={"PATH": path, **made.environ},
                input=made.stdin,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BmcRefusal("timeout") from None
        except OSError as e:
            raise BmcRefusal("failed", f"ipmitool cannot be run: {e.strerror}") from None
        out, err = (each.decode("utf-8", "replace") for each in (ended.stdout, ended.stderr))
        return _Finished(ended.returncode, out, err)

    async def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def monotonic(self) -> float:
        return time.monotonic()


def answered(told: object) -> dict[str, object]:
    """
    :param told: the document on stdin.
    :returns: the one on stdout.
    """
    try:
        driver, asked = _asked(told)
        return {"ok": True, "data": _at_once(driver.run(asked))}
    except BmcRefusal as e:
        return {"ok": False, "code": e.code, "detail": e.detail}


def _asked(told: object) -> tuple[IpmiDriver, Asked]:
    document = _object(told, "the request")
    config = _object(document.get("config"), "config")
    secrets = _object(document.get("secrets"), "secrets")
    operation = OPERATIONS.get(str(document.get("operation")))
    if operation is None:
        raise BmcRefusal("unsupported-operation")
    driver = IpmiDriver(
        str(config.get("address", "")),
        _Subprocesses(),
        str(config.get("pin", "")),
        _object(config.get("options", {}), "options"),
    )
    args = _args(operation, _object(document.get("args", {}), "args"))
    return driver, Asked(
        operation,
        args,
        _credential(secrets, ""),
        _credential(secrets, "new_"),
        seconds=_LONGEST,
    )


def _object(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BmcRefusal("invalid-config", f"{name}: not an object")
    return value


def _credential(secrets: dict[str, object], prefix: str) -> Credential | None:
    password = secrets.get(f"{prefix}password")
    if not isinstance(password, str):
        return None
    return Credential(str(secrets.get(f"{prefix}username", "")), Secret(password))


def _args(operation: Operation, given: dict[str, object]) -> object:
    """:returns: of the operation's class: whoever hosts the driver has checked their types."""
    made = dict(given)
    try:
        for each in fields(operation.args):
            kind = each.type
            if each.name in made and isinstance(kind, type) and issubclass(kind, Enum):
                made[each.name] = kind(made[each.name])
        result: object = operation.args(**made)
    except (TypeError, ValueError) as e:
        raise BmcRefusal("invalid-config", f"args: {e}"[:200]) from None
    return result


def _at_once(work: Coroutine[Any, Any, dict[str, object]]) -> dict[str, object]:
    """:returns: of what never waits for anybody: each of its runs blocks."""
    try:
        work.send(None)
    except StopIteration as ended:
        made: dict[str, object] = ended.value
        return made
    raise AssertionError("it waits for somebody")


def run() -> None:
    """The console script."""
    try:
        told: object = json.loads(sys.stdin.buffer.read(_MOST))
    except ValueError:
        told = None
    sys.stdout.write(json.dumps(answered(told)) + "\n")
