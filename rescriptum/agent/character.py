"""What one agent is, and others of the same core are not."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import field, frozen

from ..boot.lease import LeaseStatus
from ..contract.joining import Role
from .desired import Converger
from .kinds import AnyKind

#: Makes the convergers of an agent, which may look at the boot lease.
Convergers: TypeAlias = Callable[[Callable[[], LeaseStatus]], Sequence[Converger]]


@frozen
class Character:
    """
    :ivar kinds: of commands; those of other roles are refused as such.
    :ivar boots: whether it has a boot server, and so may hold the boot lease.
    :ivar labels: that its Hello carries.
    """

    role: Role
    kinds: Sequence[AnyKind]
    convergers: Convergers
    boots: bool = False
    labels: Mapping[str, str] = field(factory=dict)
