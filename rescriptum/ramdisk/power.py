"""``power.off`` and ``power.reboot``: the result is told before there is nobody to tell it."""

from collections.abc import Callable
from typing import Literal

from ..contract.commands import Result
from ..contract.ramdisk import NothingSaid
from ..contract.structure import JSON
from ..interfaces import Anew
from .command import MachineKind, Running


class Leave(MachineKind):
    """
    Turns the machine off, or starts it anew.

    Satisfies :class:`rescriptum.agent.kinds.Kind`.
    """

    payload = NothingSaid

    def __init__(
        self, name: Literal["power.off", "power.reboot"], leave: Callable[[], None]
    ) -> None:
        """:param leave: does it when the gateway has this command's result."""
        self.name = name
        self._leave = leave

    async def run(self, context: Running, payload: NothingSaid) -> JSON:
        """:returns: nothing."""
        self._leave()
        return {}

    def resume(self, boot_id_then: str, boot_id_now: str) -> Result | Anew | None:
        """In another boot it is done; in the same one it is not."""
        return Result(True, "ok") if boot_id_then != boot_id_now else Anew()
