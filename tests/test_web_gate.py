"""Tests for ``rescriptum.web.gate``."""

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.values import Secret
from rescriptum.web.bearer import CHALLENGE
from rescriptum.web.gate import Denied, Gate
from rescriptum.web.request import Request

TOKEN = "0123456789abcdef"
HOST = "192.0.2.7"


class GateTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.now = 1000.0
        self.gate = Gate(Secret(TOKEN), lambda: self.now)

    def knock(self, token: str | None = None, host: str = HOST) -> Denied | None:
        headers = (("authorization", f"Bearer {token}"),) if token is not None else ()
        return self.gate.denied(Request("GET", "/", (host, 1), headers))

    def refused(self, token: str | None = None, host: str = HOST) -> Denied:
        denied = self.knock(token, host)
        assert denied is not None
        return denied

    def test_the_token_opens_it(self) -> None:
        self.assertIsNone(self.knock(TOKEN))

    def test_none_and_a_wrong_one_are_the_same(self) -> None:
        """Nothing says which it was."""
        none, wrong = self.refused(), self.refused("x" * 16)
        self.assertEqual((none.status, none.headers), (401, CHALLENGE))
        self.assertEqual((wrong.status, wrong.headers), (401, CHALLENGE))
        self.assertNotIn("x" * 16, repr(wrong))

    def test_five_wrong_ones_lock_it_for_the_right_one_too(self) -> None:
        """Others are let in; and the reply says when to come again."""
        for _ in range(5):
            self.assertEqual(self.refused("wrong").status, 401)
        self.now += 0.5
        denied = self.refused(TOKEN)
        self.assertEqual((denied.status, denied.headers), (429, (("Retry-After", "60"),)))
        self.assertIsNone(self.knock(TOKEN, "192.0.2.8"))
        self.now += 59.5
        self.assertIsNone(self.knock(TOKEN))

    def test_knocking_at_a_locked_door_does_not_lock_it_for_longer(self) -> None:
        """A monitor with an old token would lock itself out for ever."""
        for _ in range(20):
            self.refused("wrong")
        self.now += 60
        self.assertIsNone(self.knock(TOKEN))

    def test_the_right_token_makes_up_for_the_wrong_ones(self) -> None:
        for _ in range(10):
            for _ in range(4):
                self.refused("wrong")
            self.assertIsNone(self.knock(TOKEN))

    def test_a_burst_of_strangers_is_a_line_or_two(self) -> None:
        """The first wrong token, the first address that is locked out, and numbers."""
        with capturedLogs() as events:
            told = [
                self.refused("wrong", f"192.0.2.{host}").told
                for host in range(20)
                for _ in range(6)
            ]
            self.assertEqual(told.count(True), 2)
            self.now += 70
            self.knock(TOKEN, "198.51.100.1")
        self.assertEqual(
            [formatEvent(each) for each in events],
            ["Requests without the right token: 99 more", "Addresses locked out: 19 more"],
        )

    def test_what_is_told_of_an_address_that_is_locked_out(self) -> None:
        reasons = [self.refused("wrong").reason for _ in range(6)]
        self.assertEqual(reasons[3], "the token is wrong or missing")
        self.assertEqual(reasons[4], "the token is wrong or missing: locked out for 60 s")
        self.assertEqual(reasons[5], "locked out after too many wrong tokens")
