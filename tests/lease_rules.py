"""The rules of the boot lease as the tests run them: the product's, or changed copies of it."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from rescriptum.boot import lease as boot_lease
from rescriptum.boot.lease import AgentLease
from rescriptum.contract.specs import LeaseSection
from rescriptum.gateway import lease as gateway_lease
from rescriptum.gateway.lease import Arbiter, Candidate, LeaseRow, Move


@frozen
class Rules:
    """
    The product's classes and functions, or those of copies that a test has changed.

    :ivar tell: gives a changed copy what no rule may use: how late it is when a frame arrives,
        when a query was sent, what a site has set since.
    """

    agent: type[AgentLease]
    arbiter: type[Arbiter]
    recorded: Callable[[LeaseRow, int, str], LeaseRow | None]
    released: Callable[[LeaseRow, int, str], LeaseRow | None]
    granted: Callable[[LeaseRow, int, str, str, int], LeaseRow | None]
    taken: Callable[[LeaseRow, int, int, str, str, int], LeaseRow | None]
    quarantined: Callable[[LeaseRow, int], LeaseRow]
    move: Callable[[LeaseRow, bool, list[Candidate], str | None], Move | None]
    section: Callable[[LeaseRow, str, bool], LeaseSection]
    tell: Callable[[str, float], None]

    @classmethod
    def of(cls, boot: Any, gateway: Any, tell: Callable[[str, float], None]) -> "Rules":
        """:param boot: the module of the agent's half, ``gateway`` that of the other."""
        return cls(
            boot.AgentLease,
            gateway.Arbiter,
            gateway.recorded,
            gateway.released,
            gateway.granted,
            gateway.taken,
            gateway.quarantined,
            gateway.move,
            gateway.section,
            tell,
        )


PRODUCT = Rules.of(boot_lease, gateway_lease, lambda what, value: None)
