"""Machines that boot at a site and are nobody's yet: what strangers can make grow, so bounded."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from ...contract.reports import Discovered
from ...values import MAC
from ..records import DiscoveredMachine, Page
from .rows import LIMIT, by_name, columns, put_all
from .tables import discovered, machine_macs, sites

#: Machines of one site: the oldest are forgotten; and seconds until one that is silent is.
MOST, KEPT = 256, 86_400


def report(connection: Connection, site: str, machines: Sequence[Discovered], now: int) -> None:
    """Keep those that are no machine of ours; what has no address that is one is passed over."""
    seen: dict[str, DiscoveredMachine] = {}
    for each in machines:
        try:
            mac = str(MAC.parse(each.mac))
        except ValueError:
            continue
        at = now - min(max(each.seen_ms_ago // 1000, 0), KEPT)
        seen[mac] = DiscoveredMachine(site, mac, each.uuid, each.arch, each.ip, at, at)
    known = select(machine_macs.c.mac).where(machine_macs.c.mac.in_(sorted(seen)))
    for mac in connection.execute(known).scalars().all():
        del seen[mac]
    # Reports of one site come one after the other: the bound holds whoever else reports.
    connection.execute(select(sites.c.name).where(sites.c.name == site).with_for_update())
    rows = [columns(each) for each in sorted(seen.values(), key=lambda each: each.mac)]
    put_all(connection, discovered, ["site", "mac"], rows, kept=["first_seen_at"])
    _bound(connection, site, now)


def listing(
    connection: Connection, site: str, now: int, after: str = "", limit: int = LIMIT
) -> Page[DiscoveredMachine]:
    """:returns: by address, those that were seen within a day."""
    fresh = (discovered.c.site == site) & (discovered.c.seen_at >= now - KEPT)
    statement = select(discovered).where(fresh)
    return by_name(connection, DiscoveredMachine, statement, discovered.c.mac, after, limit)


def forget(connection: Connection, site: str, mac: str) -> None:
    """Whether it is there or not. :param mac: with colons."""
    mine = (discovered.c.site == site) & (discovered.c.mac == mac)
    connection.execute(delete(discovered).where(mine))


def prune(connection: Connection, now: int) -> int:
    """:returns: how many were forgotten that are silent."""
    silent = discovered.c.seen_at < now - KEPT
    return connection.execute(delete(discovered).where(silent)).rowcount


def _bound(connection: Connection, site: str, now: int) -> None:
    mine = discovered.c.site == site
    connection.execute(delete(discovered).where(mine & (discovered.c.seen_at < now - KEPT)))
    order = (discovered.c.seen_at.desc(), discovered.c.mac)
    excess = select(discovered.c.mac).where(mine).order_by(*order).offset(MOST)
    over = connection.execute(excess).scalars().all()
    connection.execute(delete(discovered).where(mine & discovered.c.mac.in_(over)))
