"""Tests for ``rescriptum.agent.resource``."""

import json

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.resource import StatusTree
from rescriptum.contract.structure import JSON
from tests.webclient import ask


async def status() -> JSON:
    return {"site": "lyon", "lease": {"active": True}}


class StatusTreeTests(SynchronousTestCase):
    def test_status(self) -> None:
        """JSON, for people who read it as it comes too."""
        told = ask(StatusTree(status), "/status")
        self.assertEqual((told.status, told.header("Content-Type")), (200, "application/json"))
        self.assertEqual(json.loads(told.body), {"site": "lyon", "lease": {"active": True}})
        self.assertIn(b'\n  "site"', told.body)

    def test_nothing_else(self) -> None:
        """It takes no orders."""
        self.assertEqual(ask(StatusTree(status), "/").status, 404)
        self.assertEqual(ask(StatusTree(status), "/status", method="POST").status, 405)
