"""The gateway's stores over a real PostgreSQL: what holds of SQLite, and what only it can do."""

from twisted.trial.unittest import SynchronousTestCase

from tests.gateway_stores import OverPostgres
from tests.test_gateway_stores_agents import (
    DiscoveredBehaviour,
    NodeBehaviour,
    SessionBehaviour,
    SiteBehaviour,
    TokenBehaviour,
)
from tests.test_gateway_stores_leases import LeaseBehaviour


class PostgresLeaseTests(OverPostgres, LeaseBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresSiteTests(OverPostgres, SiteBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresTokenTests(OverPostgres, TokenBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresNodeTests(OverPostgres, NodeBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresSessionTests(OverPostgres, SessionBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresDiscoveredTests(OverPostgres, DiscoveredBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""
