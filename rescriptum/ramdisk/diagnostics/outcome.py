"""What a test of a machine came to."""

from collections.abc import Sequence
from enum import Enum

from attrs import field, frozen

from ...contract.ramdisk import DiagnosticTest
from ...contract.structure import JSON

#: Outcomes of one result; characters of a subject, of a detail, and of all that tools said: even if
#: each takes two where it travels, it fits a result.
MOST, SUBJECT, DETAIL, RAW = 200, 32, 120, 40 * 1024


class Verdict(Enum):
    """Of one test of one part."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"  # there is nothing to test, or nothing to test it with


@frozen
class Outcome:
    """
    :ivar subject: the part, as the kernel calls it; empty: all of them.
    :ivar detail: one clause, for people. :ivar raw: what was said, as it was said.
    """

    test: DiagnosticTest
    subject: str
    verdict: Verdict
    detail: str
    raw: str = field(default="", repr=False)


def failed(outcomes: Sequence[Outcome]) -> str:
    """:returns: the parts that failed, and how; empty: none did."""
    wrong = [each for each in outcomes if each.verdict is Verdict.FAILED]
    return "; ".join(f"{each.subject or each.test.value}: {each.detail}" for each in wrong)


def document(outcomes: Sequence[Outcome]) -> JSON:
    """:returns: as it travels, what failed first: of what tools said, each has its share."""
    told = sorted(outcomes, key=lambda each: each.verdict is not Verdict.FAILED)[:MOST]
    share = RAW // max(len(told), 1)
    return {
        "tests": [
            {
                "test": each.test.value,
                "subject": _shown(each.subject, SUBJECT),
                "verdict": each.verdict.value,
                "detail": _shown(each.detail, DETAIL),
                "raw": _shown(each.raw, share),
            }
            for each in told
        ]
    }


def _shown(said: str, most: int) -> str:
    """:returns: plain text: no character of it takes more than two where it travels."""
    cut = said[:most]
    return "".join(each if each == "\n" or " " <= each <= "~" else "?" for each in cut)
