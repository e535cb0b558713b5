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
from tests.test_gateway_stores_database import TransactionBehaviour
from tests.test_gateway_stores_leases import (
    LeaseBehaviour,
)
from tests.test_gateway_stores_races import RaceBehaviour
from tests.test_gateway_stores_things import (
    EventBehaviour,
    ImageBehaviour,
    MachineBehaviour,
    OperatorBehaviour,
    ProcessBehaviour,
    SecretBehaviour,
)
from tests.test_gateway_stores_work import (
    BatchBehaviour,
    CommandBehaviour,
    WorkflowBehaviour,
)


class PostgresDiscoveredTests(OverPostgres, DiscoveredBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresNodeTests(OverPostgres, NodeBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresSessionTests(OverPostgres, SessionBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresSiteTests(OverPostgres, SiteBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresTokenTests(OverPostgres, TokenBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresLeaseTests(OverPostgres, LeaseBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresEventTests(OverPostgres, EventBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresImageTests(OverPostgres, ImageBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresMachineTests(OverPostgres, MachineBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresOperatorTests(OverPostgres, OperatorBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresProcessTests(OverPostgres, ProcessBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresSecretTests(OverPostgres, SecretBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresBatchTests(OverPostgres, BatchBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresCommandTests(OverPostgres, CommandBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresWorkflowTests(OverPostgres, WorkflowBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresRaceTests(OverPostgres, RaceBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""


class PostgresTransactionTests(OverPostgres, TransactionBehaviour, SynchronousTestCase):
    """Over PostgreSQL."""
