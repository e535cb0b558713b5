"""The gateway's stores over a real PostgreSQL: what holds of SQLite, and what only it can do."""

from twisted.trial.unittest import SynchronousTestCase

from tests.gateway_stores import OverPostgres
from tests.test_gateway_stores_leases import LeaseBehaviour


class PostgresLeaseTests(OverPostgres, LeaseBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""
