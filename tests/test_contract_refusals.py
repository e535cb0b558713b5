"""Tests for ``rescriptum.contract.refusals``: THE table of codes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.refusals import REFUSALS, Rejected
from rescriptum.errors import Refused
from rescriptum.web.reply import PHRASES

PACKAGE = Path(__file__).parent.parent / "rescriptum"


def raised() -> Iterator[tuple[str, str]]:
    """:returns: file and code of every literal ``Rejected("…")`` in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Rejected"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                yield path.name, str(node.args[0].value)


class TableTests(SynchronousTestCase):
    def test_each_row_is_usable(self) -> None:
        """A code for programs, a clause for the log, a sentence for whoever has to act."""
        for code, row in REFUSALS.items():
            self.assertEqual(row.code, code)
            self.assertTrue(re.fullmatch(r"[a-z]+(-[a-z]+)*", code), code)
            self.assertIn(row.status, PHRASES, code)
            self.assertGreaterEqual(row.status, 400, code)
            self.assertFalse(row.meaning.endswith("."), code)
            self.assertTrue(row.advice.endswith("."), code)
            self.assertTrue(row.advice[0].isupper(), code)

    def test_codes_that_are_raised_have_a_row(self) -> None:
        codes = list(raised())
        self.assertGreater(len(codes), 10)
        self.assertEqual([each for each in codes if each[1] not in REFUSALS], [])

    def test_a_code_without_a_row_is_our_fault(self) -> None:
        self.assertRaises(KeyError, Rejected, "no-such-code")


class RejectedTests(SynchronousTestCase):
    def test_what_it_says(self) -> None:
        error = Rejected("token-used", "at noon")
        self.assertIsInstance(error, Refused)
        self.assertEqual((error.code, error.status), ("token-used", 403))
        self.assertEqual(str(error), "token-used: at noon")
        self.assertEqual(str(Rejected("token-used")), "token-used: the join token has been used")
        self.assertIs(error.refusal, REFUSALS["token-used"])
