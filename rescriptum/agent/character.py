"""What one agent is, and others of the same core are not."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import field, frozen

from ..boot.lease import LeaseStatus
from ..contract.joining import Role
from ..contract.structure import JSON
from .desired import Converger
from .kinds import AnyKind

#: Makes the convergers of an agent, which may look at the boot lease.
Convergers: TypeAlias = Callable[[Callable[[], LeaseStatus]], Sequence[Converger]]
#: Finds out what the machine is made of; None: nobody can tell.
Inventory: TypeAlias = Callable[[], Awaitable[JSON | None]]


async def unknown() -> JSON | None:
    """Of an agent that says nothing of its machine."""
    return None


@frozen
class Character:
    """
    :ivar kinds: of commands; those of other roles are refused as such.
    :ivar boots: whether it has a boot server, and so may hold the boot lease.
    :ivar labels: that its Hello carries.
    :ivar attestation: a site agent's word for its machine; None: its token alone stands for it.
    :ivar inventory: asked when it joins, and reported once it has.
    :ivar drivers: asked for each Hello: manifests of the drivers of BMCs that it hosts.
    """

    role: Role
    kinds: Sequence[AnyKind]
    convergers: Convergers
    boots: bool = False
    labels: Mapping[str, str] = field(factory=dict)
    attestation: str | None = field(default=None, repr=False)
    inventory: Inventory = unknown
    drivers: Callable[[], Sequence[JSON]] = tuple
