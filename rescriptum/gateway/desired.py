"""What each node is to have: the desired state, by what the operators have said of its site."""

from collections.abc import Collection

from attrs import evolve, frozen
from sqlalchemy import Connection

from ..contract.specs import CacheImage, LeaseSection, NodeSpec, SiteSpec
from .stores import images, machines, nodes


@frozen
class Known:
    """
    A session, and what it was told.

    :ivar of_site: whether it is a site agent's: the others are to have nothing.
    :ivar lease: as it is to have it now.
    :ivar told: None: nothing yet.
    """

    node: str
    site: str
    of_site: bool
    lease: LeaseSection
    told: NodeSpec | None


def specs(connection: Connection, sessions: Collection[Known]) -> dict[str, NodeSpec]:
    """
    :returns: by node, what has to be told: what has changed, and all where nothing was told.
    """
    sites = _sites(connection, {each.site for each in sessions if each.of_site})
    changed = {}
    for each in sessions:
        wanted = evolve(sites[each.site], lease=each.lease) if each.of_site else None
        if each.told is None or each.told.site != wanted:
            changed[each.node] = NodeSpec(nodes.bump(connection, each.node), wanted)
    return changed


def _sites(connection: Connection, names: set[str]) -> dict[str, SiteSpec]:
    if not names:
        return {}
    targets = machines.targets(connection, names)
    return {
        site: SiteSpec(
            cache_images=tuple(CacheImage(each.sha256, each.url, each.format) for each in cached),
            proxy_targets=targets[site],
        )
        for site, cached in images.of_sites(connection, names).items()
    }
