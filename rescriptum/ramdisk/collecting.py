"""``inventory.collect``, and the inventory that a machine joins with."""

from collections.abc import Awaitable, Callable

from ..contract.ramdisk import NothingSaid
from ..contract.structure import JSON
from .command import MachineKind, Running


class CollectInventory(MachineKind):
    """
    Says what the machine is made of.

    Satisfies :class:`rescriptum.agent.kinds.Kind`.
    """

    name = "inventory.collect"
    payload = NothingSaid
    timeout_s = 300.0

    def __init__(self, collect: Callable[[], Awaitable[JSON]]) -> None:
        self._collect = collect

    async def run(self, context: Running, payload: NothingSaid) -> JSON:
        """:returns: the inventory, with what could not be found out."""
        return await self._collect()
