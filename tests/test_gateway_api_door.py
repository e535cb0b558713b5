"""Tests for ``rescriptum.gateway.api.door``: who may ask, and who has to wait."""

from io import StringIO

from twisted.logger import FileLogObserver, LogEvent, eventAsText, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.gateway.records import Scope
from rescriptum.gateway.stores import operators
from rescriptum.web.lockout import FAILURES, FIRST
from tests.operatorcases import TOKENS, OperatorCase
from tests.webclient import PEER

OTHER = ("198.51.100.7", 4000)


def _whole(event: LogEvent) -> str:
    return eventAsText(event) + repr(event)


class DoorTests(OperatorCase, SynchronousTestCase):
    def status(self, token: str | None, peer: tuple[str, int] = PEER) -> int:
        return self.asked("GET", "me", token=token, peer=peer).status

    def test_whose_token_it_is(self) -> None:
        for scope, token in TOKENS.items():
            told = self.call("operator-me", token=token)
            self.assertEqual((told["name"], told["scope"]), (scope.value, scope.value))

    def test_a_token_of_nobody(self) -> None:
        for token in None, "wrong", "token-of-admi", "token-of-admin2":
            self.assertEqual(self.status(token, (f"2001:db8:{len(token or '')}::", 1)), 401)

    def test_a_token_that_was_taken_away(self) -> None:
        self.assertEqual(self.status(TOKENS[Scope.READ]), 200)
        self.do(lambda connection: operators.remove(connection, "read", 5))
        self.assertEqual(self.status(TOKENS[Scope.READ]), 401)

    def test_guessing_locks_out(self) -> None:
        """The address alone, for a minute, with the right token too."""
        for _ in range(FAILURES):
            self.assertEqual(self.status("guess"), 401)
        told = self.asked("GET", "me", token=TOKENS[Scope.ADMIN])
        self.assertEqual((told.status, told.header("Retry-After")), (429, str(int(FIRST))))
        self.assertIn(b'"locked-out"', told.body)
        self.assertEqual(self.status(TOKENS[Scope.ADMIN], OTHER), 200)
        self.clock.advance(FIRST)
        self.assertEqual(self.status(TOKENS[Scope.ADMIN]), 200)

    def test_a_right_token_makes_up_for_wrong_ones(self) -> None:
        for _ in range(3):
            for _ in range(FAILURES - 1):
                self.assertEqual(self.status("guess"), 401)
            self.assertEqual(self.status(TOKENS[Scope.READ]), 200)

    def test_too_little_scope_is_no_guess(self) -> None:
        for _ in range(2 * FAILURES):
            self.refusal(
                "site-create", body={"name": "a"}, token=TOKENS[Scope.READ], code="forbidden"
            )
        self.assertEqual(self.status(TOKENS[Scope.READ]), 200)

    def test_wrong_tokens_are_in_no_log(self) -> None:
        log = StringIO()
        observer = FileLogObserver(log, _whole)
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        self.status("secret-guess")
        self.call("operator-create", body={"name": "new"})
        text = log.getvalue()
        self.assertIn("No operator's token from 192.0.2.7", text)
        self.assertIn("Operator admin: operator-create", text)
        self.assertNotIn("secret-guess", text)
        self.assertNotIn("rsop_", text)
        self.assertNotIn(TOKENS[Scope.ADMIN], text)
