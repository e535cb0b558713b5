"""Tests that ``docs/site-proxy.md`` tells of every rule and every field."""

import re
from pathlib import Path

from attrs import fields
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.proxying import HttpProxyRequest, HttpProxyResult
from rescriptum.siteproxy.refusing import Rule

PAGE = (Path(__file__).parent.parent / "docs" / "site-proxy.md").read_text("utf-8")
_ROW = re.compile(r"^\| `([a-z_-]+)` \|", re.MULTILINE)


def rows(heading: str) -> list[str]:
    """:returns: first columns of the table below it."""
    return _ROW.findall(PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0])


class PageTests(SynchronousTestCase):
    def test_rules(self) -> None:
        self.assertEqual(rows("The rules"), [each.value for each in Rule])

    def test_what_is_asked(self) -> None:
        told = sorted(each.name for each in fields(HttpProxyRequest))
        self.assertEqual(sorted(rows("What is asked")), told)

    def test_what_comes_back(self) -> None:
        self.assertEqual(rows("What comes back"), [each.name for each in fields(HttpProxyResult)])
