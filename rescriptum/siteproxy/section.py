"""Which machines requests may be made to: as the desired state of the site has it."""

from ..contract.reports import SectionStatus, State
from ..contract.specs import NodeSpec, ProxyTarget


class ProxySection:
    """
    Keeps what is desired; there is nothing to converge.

    :ivar targets: as the gateway said last; none before it has said anything since the start.
    """

    name = "proxy"

    def __init__(self) -> None:
        self.targets: tuple[ProxyTarget, ...] = ()

    async def converge(self, desired: NodeSpec) -> SectionStatus:
        """:returns: always ready."""
        self.targets = () if desired.site is None else desired.site.proxy_targets
        return SectionStatus(self.name, State.READY, "", {"targets": len(self.targets)})
