"""All that decides who is to hold the boot leases, read at once."""

from collections.abc import Collection

from attrs import frozen
from sqlalchemy import Connection, select

from ..lease import LeaseRow
from ..records import SessionRow, Site
from . import leases
from .rows import every
from .tables import sessions, sites


@frozen
class Contest:
    """
    One site's.

    :ivar site: who is wanted there, and the ttl of its next epoch.
    :ivar sessions: that go on, were heard of late, and have a boot server.
    """

    row: LeaseRow
    site: Site
    sessions: tuple[SessionRow, ...]


def contests(
    connection: Connection, names: Collection[str] | None, heard_since: int
) -> dict[str, Contest]:
    """:param names: of sites; None: every one. :returns: by site."""
    rows = leases.rows(connection, names)
    where = sessions.c.ended_at.is_(None) & sessions.c.boots & (sessions.c.heard_at >= heard_since)
    listed, running = select(sites), select(sessions).where(where)
    if names is not None:
        listed = listed.where(sites.c.name.in_(sorted(names)))
        running = running.where(sessions.c.site.in_(sorted(names)))
    candidates: dict[str, list[SessionRow]] = {}
    for each in every(connection, SessionRow, running.order_by(sessions.c.id)):
        candidates.setdefault(each.site, []).append(each)
    return {
        site.name: Contest(rows[site.name], site, tuple(candidates.get(site.name, ())))
        for site in every(connection, Site, listed)
        if site.name in rows
    }
