"""Tests for ``rescriptum.gateway.stores.leases``: what its statements do, and mean."""

from collections.abc import Callable, Iterator

from attrs import asdict, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, update
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.gateway import lease
from rescriptum.gateway.lease import LeaseRow
from rescriptum.gateway.stores import leases, sites, tables
from tests.gateway_stores import NOW, OverSQLite, Stores, settle

TTL = 15_000
SESSIONS = ("session-1", "session-2", "session-3")
NODES = ("node-1", "node-2", lease.QUARANTINE)


@frozen
class Operation:
    """
    One statement, and what it means.

    :ivar statement: on the database, of a site.
    :ivar meaning: on the row, by the pure functions; None: nothing changes.
    """

    statement: Callable[[Connection, str], object]
    meaning: Callable[[LeaseRow], LeaseRow | None]


def recording(epoch: int, session: str) -> Operation:
    return Operation(
        lambda c, site: leases.record(c, site, epoch, session),
        lambda row: lease.recorded(row, epoch, session),
    )


def releasing(epoch: int, node: str) -> Operation:
    return Operation(
        lambda c, site: leases.release(c, site, epoch, node),
        lambda row: lease.released(row, epoch, node),
    )


def granting(epoch: int, session: str, node: str, ttl: int) -> Operation:
    return Operation(
        lambda c, site: leases.grant(c, site, epoch, session, node, ttl, NOW),
        lambda row: lease.granted(row, epoch, session, node, ttl),
    )


def taking(epoch: int, beat: int, session: str, node: str, ttl: int) -> Operation:
    return Operation(
        lambda c, site: leases.take(c, site, epoch, beat, session, node, ttl, NOW),
        lambda row: lease.taken(row, epoch, beat, session, node, ttl),
    )


def quarantining() -> Operation:
    return Operation(
        lambda c, site: bool(leases.quarantine(c, site)),
        lambda row: lease.quarantined(row, max(row.ttl_ms, TTL)),
    )


def operations(row: LeaseRow) -> st.SearchStrategy[Operation]:
    """:param row: whose epoch and beat are often, but not always, the ones that are named."""
    epoch, beat = row.epoch, row.beat
    epochs = st.sampled_from([epoch, epoch, epoch, max(epoch - 1, 0), epoch + 1])
    beats = st.sampled_from([beat, beat, max(beat - 1, 0), beat + 1])
    holders = st.sampled_from([row.holder or SESSIONS[0], *SESSIONS, lease.QUARANTINE])
    nodes = st.sampled_from([row.holder_node or NODES[0], *NODES])
    ttls = st.sampled_from([3_000, TTL, 60_000])
    record = st.builds(recording, epochs, holders)
    return st.one_of(
        record,
        record,
        st.builds(releasing, epochs, nodes),
        st.builds(granting, epochs, holders, nodes, ttls),
        st.builds(taking, epochs, beats, holders, nodes, ttls),
        st.builds(quarantining),
    )


def around(row: LeaseRow) -> Iterator[Operation]:
    """Every operation, with each of its arguments right and not quite right."""
    for epoch in (row.epoch - 1, row.epoch, row.epoch + 1):
        yield from (recording(epoch, each) for each in SESSIONS)
        yield from (releasing(epoch, each) for each in NODES)
        yield granting(epoch, "session-9", "node-9", 3_000)
        for beat in (row.beat - 1, row.beat, row.beat + 1):
            yield taking(epoch, beat, "session-9", "node-9", 3_000)
    yield quarantining()


class LeaseBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle)

    def row(self) -> LeaseRow:
        return self.do(leases.read, "ber")

    def begin(self, connection: Connection, site: str, row: LeaseRow) -> None:
        """The site's row is ``row``, and there is no trace of anything else."""
        connection.execute(update(tables.lease).values(ttl_ms=TTL))
        connection.execute(delete(tables.lease_history))
        mine = tables.lease.c.site == site
        connection.execute(update(tables.lease).where(mine).values(asdict(row)))

    def step(
        self, connection: Connection, site: str, operation: Operation
    ) -> tuple[object, LeaseRow]:
        return operation.statement(connection, site), leases.read(connection, site)

    def agrees(self, row: LeaseRow, site: str, operation: Operation) -> LeaseRow:
        """:returns: what ``row`` is after ``operation``, on which both agree."""
        after = operation.meaning(row)
        changed, now = self.do(self.step, site, operation)
        self.assertEqual(changed, after is not None)
        row = row if after is None else after
        self.assertEqual(now, row)
        return row

    def test_each_comparison(self) -> None:
        """A statement with one argument that is not right changes nothing."""
        for row in (
            LeaseRow(),
            LeaseRow(7, None, None, 5),
            LeaseRow(7, SESSIONS[0], NODES[0], 0, 60_000),
            LeaseRow(7, SESSIONS[0], NODES[0], 5),
            lease.quarantined(LeaseRow(7, SESSIONS[0], NODES[0], 5), TTL),
        ):
            for operation in around(row):
                self.do(self.begin, "ber", row)
                self.agrees(row, "ber", operation)

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
        row = LeaseRow()
        self.do(self.begin, "ber", row)
        for _ in range(data.draw(st.integers(1, 12))):
            row = self.agrees(row, "ber", data.draw(operations(row)))

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
