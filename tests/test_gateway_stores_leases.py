"""Tests for ``rescriptum.gateway.stores.leases``: what its statements do, and mean."""

from collections.abc import Callable
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, update
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.gateway import lease
from rescriptum.gateway.lease import LeaseRow
from rescriptum.gateway.stores import leases, sites, tables
from tests.gateway_stores import NOW, OverSQLite, Stores, settle

TTL = 15_000
SESSIONS = ("session-1", "session-2", "session-3")
NODES = ("node-1", "node-2", lease.QUARANTINE)

#: One operation: on the database, and on the row by the pure functions; None: nothing changes.
Operation = tuple[Callable[[Connection], object], Callable[[LeaseRow], LeaseRow | None]]


def operations(site: str, row: LeaseRow) -> st.SearchStrategy[Operation]:
    """:param row: whose epoch and beat are often, but not always, the ones that are named."""
    epochs = st.sampled_from(
        [row.epoch, row.epoch, row.epoch, max(row.epoch - 1, 0), row.epoch + 1]
    )
    beats = st.sampled_from([row.beat, row.beat, max(row.beat - 1, 0), row.beat + 1])
    holders = st.sampled_from([row.holder or SESSIONS[0], *SESSIONS, lease.QUARANTINE])
    nodes = st.sampled_from([row.holder_node or NODES[0], *NODES])
    ttls = st.sampled_from([3_000, TTL, 60_000])
    record = st.builds(
        lambda e, s: (
            lambda c: leases.record(c, site, e, s),
            lambda row: lease.recorded(row, e, s),
        ),
        epochs,
        holders,
    )
    release = st.builds(
        lambda e, n: (
            lambda c: leases.release(c, site, e, n),
            lambda row: lease.released(row, e, n),
        ),
        epochs,
        nodes,
    )
    grant = st.builds(
        lambda e, s, n, t: (
            lambda c: leases.grant(c, site, e, s, n, t, NOW),
            lambda row: lease.granted(row, e, s, n, t),
        ),
        epochs,
        holders,
        nodes,
        ttls,
    )
    take = st.builds(
        lambda e, b, s, n, t: (
            lambda c: leases.take(c, site, e, b, s, n, t, NOW),
            lambda row: lease.taken(row, e, b, s, n, t),
        ),
        epochs,
        beats,
        holders,
        nodes,
        ttls,
    )
    quarantine: st.SearchStrategy[Operation] = st.just(
        (
            lambda c: bool(leases.quarantine(c, site)),
            lambda row: lease.quarantined(row, max(row.ttl_ms, TTL)),
        )
    )
    return st.one_of(record, record, release, grant, take, quarantine)


class LeaseBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.numbers = count()
        self.do(settle)

    def row(self) -> LeaseRow:
        return self.do(leases.read, "ber")

    def begin(self, connection: Connection, site: str) -> None:
        """A site, and no trace of a longer ttl at others."""
        connection.execute(update(tables.lease).values(ttl_ms=TTL))
        sites.create(connection, site, NOW)

    def step(self, site: str, statement: Callable[[Connection], object]) -> tuple[object, LeaseRow]:
        return self.do(lambda c: (statement(c), leases.read(c, site)))

    @settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
    )
    @given(st.data())
    def test_statements_mean_what_the_pure_functions_say(self, data: st.DataObject) -> None:
        """
        Any sequence of operations gives the same rows, and tells the same of whether there was a
        change.
        """
        site = f"site-{next(self.numbers)}"
        self.do(self.begin, site)
        row = LeaseRow()
        for _ in range(data.draw(st.integers(1, 12))):
            statement, meaning = data.draw(operations(site, row))
            after = meaning(row)
            changed, now = self.step(site, statement)
            self.assertEqual(changed, after is not None)
            row = row if after is None else after
            self.assertEqual(now, row)

    def test_other_sites_are_left_alone(self) -> None:
        self.do(settle, "muc")
        self.do(leases.grant, "ber", 0, "s", "n", TTL, NOW)
        self.do(leases.record, "ber", 1, "s")
        self.assertEqual(
            self.do(leases.rows), {"ber": LeaseRow(1, "s", "n", 1, TTL), "muc": LeaseRow()}
        )
        self.assertEqual(self.do(leases.rows, ["muc"]), {"muc": LeaseRow()})

    def test_history(self) -> None:
        """Of each epoch, who had it; the newest first, a page at a time."""
        self.do(leases.grant, "ber", 0, "s", "n1", TTL, NOW)
        self.do(leases.take, "ber", 1, 0, "t", "n2", TTL, NOW + 5)
        self.assertFalse(self.do(leases.take, "ber", 1, 0, "t", "n3", TTL, NOW + 6))
        history = self.do(leases.history, "ber")
        self.assertEqual(history, [(2, "n2", NOW + 5), (1, "n1", NOW)])
        page = self.do(leases.history, "ber", before=2, limit=1)
        self.assertEqual(page, [(1, "n1", NOW)])
        self.assertEqual(self.do(leases.holder_of, "ber", 1), "n1")
        self.assertIsNone(self.do(leases.holder_of, "ber", 3))

    def test_holds(self) -> None:
        self.do(leases.grant, "ber", 0, "s", "n1", TTL, NOW)
        self.assertTrue(self.do(leases.holds, "ber", 1, "s"))
        self.assertFalse(self.do(leases.holds, "ber", 1, "t"))
        self.assertFalse(self.do(leases.holds, "ber", 0, "s"))

    def test_quarantine_of_all(self) -> None:
        """Patience is of the longest ttl in use: of any epoch, or of any that might have begun."""
        self.do(settle, "muc")
        self.do(sites.set_ttl, "muc", 45_000)
        self.do(leases.grant, "ber", 0, "s", "n1", TTL, NOW)
        self.assertEqual(self.do(leases.quarantine), ["ber", "muc"])
        rows = self.do(leases.rows)
        self.assertEqual(rows["ber"], lease.quarantined(LeaseRow(1, "s", "n1", 0, TTL), 45_000))
        self.assertEqual(rows["muc"], lease.quarantined(LeaseRow(), 45_000))

    def test_quarantine_of_nothing(self) -> None:
        self.refused("not-found", leases.quarantine, "nowhere")

    def test_no_site(self) -> None:
        self.refused("not-found", leases.read, "nowhere")
        self.assertFalse(self.do(leases.grant, "nowhere", 0, "s", "n", TTL, NOW))

    def test_site_of_a_name_that_was_taken(self) -> None:
        """
        Whoever booted machines there may not know yet that the site is gone: the lease is
        nobody's until patience is over, and its epochs go on.
        """
        self.do(leases.grant, "ber", 0, "s", "n1", TTL, NOW)
        self.do(leases.record, "ber", 1, "s")
        self.do(sites.remove, "ber")
        self.refused("not-found", leases.read, "ber")
        self.do(settle)
        self.assertEqual(self.row(), lease.quarantined(LeaseRow(1), 60_000))
        self.assertEqual(self.do(leases.history, "ber"), [])


class SQLiteLeaseTests(OverSQLite, LeaseBehaviour, SynchronousTestCase):
    """Over SQLite, in memory: thousands of rows are looked at."""

    def made(self) -> str:
        return "sqlite://"
