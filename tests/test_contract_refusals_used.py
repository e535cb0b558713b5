"""Tests that no row of the table of refusals is there for nothing, or goes untested."""

import ast
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.refusals import REFUSALS

ROOT = Path(__file__).parent.parent
#: The rooms that refuse by the table, without what only declares: the table itself, and what the
#: API's operations and document say of it.
ROOMS = ("contract", "agent", "gateway", "cache", "ramdisk", "roles", "siteproxy")
DECLARED = ("contract/refusals.py", "gateway/api/operations.py", "gateway/api/openapi.py")
#: What tests of these say in the same words is another matter.
ELSEWHERE = ("answers", "boot", "docs", "media", "tftp", "web")


def constants(path: Path) -> Iterator[str]:
    """:returns: every text in a module, but for docstrings; of bytes what they say in ASCII."""
    tree = ast.parse(path.read_text("utf-8"))
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in prose:
            if isinstance(node.value, str):
                yield node.value
            elif isinstance(node.value, bytes):
                yield node.value.decode("ascii", "replace")


def refusing() -> Iterator[Path]:
    package = ROOT / "rescriptum"
    for room in ROOMS:
        for path in (package / room).rglob("*.py"):
            if path.relative_to(package).as_posix() not in DECLARED:
                yield path


def testing() -> Iterator[Path]:
    """Modules of tests, and what several of them share."""
    for path in (ROOT / "tests").rglob("*.py"):
        room = path.stem.removeprefix("test_").partition("_")[0]
        if path.name != Path(__file__).name and room not in ELSEWHERE:
            yield path


def named(text: str) -> str:
    """:returns: the code that a text is, or begins with as errors do."""
    return text.partition(":")[0]


class UsedTests(SynchronousTestCase):
    def test_each_code_is_raised(self) -> None:
        found = {text for path in refusing() for text in constants(path)}
        self.assertEqual([code for code in REFUSALS if code not in found], [])

    def test_each_code_is_asserted(self) -> None:
        found = {named(text) for path in testing() for text in constants(path)}
        self.assertEqual([code for code in REFUSALS if code not in found], [])
