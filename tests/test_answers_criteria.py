"""Tests for ``rescriptum.answers.criteria``."""

import fnmatch
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.criteria import MAX_PATTERN, Criterion, Glob
from rescriptum.answers.facts import Facts
from rescriptum.errors import MalformedDocument


def holds(label: str, patterns: list[str], **query: str) -> bool:
    facts = Facts.of((), tuple(query.items()), peer="192.0.2.7")
    return Criterion.of(label, patterns).holds(facts)


class GlobTests(SynchronousTestCase):
    def test_anchored_at_both_ends(self) -> None:
        self.assertTrue(Glob.parse("R6*").fits("r640xd"))
        self.assertFalse(Glob.parse("R6*").fits("xr640"))
        self.assertFalse(Glob.parse("R6").fits("r640"))
        self.assertTrue(Glob.parse("PowerEdge R?40").fits("poweredger640"))
        self.assertTrue(Glob.parse("*").fits(""))
        self.assertFalse(Glob.parse("?").fits(""))

    def test_what_never_fits_is_refused(self) -> None:
        """A pattern of nothing that counts, and one that is too long."""
        for text in ("", "---", "é"):
            with self.assertRaises(ValueError, msg=text):
                Glob.parse(text)
        self.assertTrue(Glob.parse("a" * MAX_PATTERN).fits("a" * MAX_PATTERN))
        with self.assertRaises(ValueError):
            Glob.parse("a" * (MAX_PATTERN + 1))

    @settings(max_examples=500, deadline=None)
    @given(st.text(alphabet="ab*?", min_size=1, max_size=12), st.text(alphabet="ab", max_size=16))
    def test_it_is_the_shell_s_rule(self, pattern: str, value: str) -> None:
        wanted = re.fullmatch(fnmatch.translate(pattern), value) is not None
        self.assertEqual(Glob.parse(pattern).fits(value), wanted)

    def test_a_hostile_pattern_takes_few_steps(self) -> None:
        """Where a backtracking matcher would not come back."""
        self.assertFalse(Glob.parse("a*" * 120 + "b").fits("a" * 5000))


class CriterionTests(SynchronousTestCase):
    def test_any_value_of_the_fact(self) -> None:
        """Letters and digits count, in any case, of the pattern and of the value."""
        self.assertTrue(holds("Manufacturer", ["dell*"], manufacturer="Dell Inc."))
        facts = Facts.of((), (("mac", "52:54:00:00:00:01"), ("mac", "aa:bb:cc:00:00:01")))
        self.assertTrue(Criterion.of("mac", ["aa-bb-cc-*"]).holds(facts))

    def test_a_list_is_any_of(self) -> None:
        self.assertTrue(holds("product", ["R6*", "R7*"], product="R740"))
        self.assertFalse(holds("product", ["R6*", "R7*"], product="R840"))

    def test_a_negation(self) -> None:
        """None of the values may fit; beside others, it takes away from them."""
        self.assertTrue(holds("product", ["!R6*"], product="R740"))
        self.assertFalse(holds("product", ["!R6*"], product="R640"))
        self.assertFalse(holds("product", ["R*", "!R640xd"], product="R640xd"))
        self.assertTrue(holds("product", ["R*", "!R640xd"], product="R640"))

    def test_a_fact_that_is_not_carried_fits_nothing(self) -> None:
        """A negation neither: a request that says nothing is not claimed by what it lacks."""
        self.assertFalse(holds("product", ["*"]))
        self.assertFalse(holds("product", ["!R6*"]))

    def test_where_the_request_came_from(self) -> None:
        """Addresses and networks of either family; an IPv4 client of an IPv6 listener too."""

        def holds(pattern: str, peer: str) -> bool:
            return Criterion.of("peer", [pattern]).holds(Facts.of((), peer=peer))

        self.assertTrue(holds("192.0.2.0/24", "192.0.2.7"))
        self.assertTrue(holds("192.0.2.7", "192.0.2.7"))
        self.assertTrue(holds("192.0.2.0/24", "::ffff:192.0.2.7"))
        self.assertTrue(holds("fe80::/10", "fe80::1%eth0"))
        self.assertFalse(holds("192.0.2.0/24", "2001:db8::1"))
        self.assertTrue(holds("!192.0.2.0/24", "198.51.100.1"))
        self.assertFalse(holds("192.0.2.0/24", ""))

    def test_a_query_does_not_say_where_it_came_from(self) -> None:
        facts = Facts.of((), (("peer", "192.0.2.7"),), peer="198.51.100.1")
        self.assertFalse(Criterion.of("peer", ["192.0.2.0/24"]).holds(facts))

    def test_it_reads_as_it_is_meant(self) -> None:
        for patterns, text in (
            (["R6*"], "product = R6*"),
            (
                ["R6*", "!R640xd", "R7*", "!R7?5"],
                "product = R6* or R7* and not R640xd and not R7?5",
            ),
            (["!R6*"], "product = not R6*"),
        ):
            self.assertEqual(str(Criterion.of("Product", patterns)), text)

    def test_what_is_wrong_is_named(self) -> None:
        for label, patterns, text in (
            ("peer", ["10.0.*"], "match.peer: want an address, or a network as 192.0.2.0/24"),
            ("peer", ["192.0.2.1/24"], "match.peer: want an address, or a network"),
            ("product", ["!"], "match.product: want a pattern with a letter"),
            ("product", [], "match.product: want a pattern, or a list of them"),
        ):
            with self.assertRaises(MalformedDocument) as caught:
                Criterion.of(label, patterns)
            self.assertIn(text, str(caught.exception))
