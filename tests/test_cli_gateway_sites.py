"""Tests for ``rescriptum.cli.gateway``: sites, leases, tokens, nodes, and how all of it is told."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.gateway import client
from rescriptum.gateway.records import Scope
from tests.gateway_stores import settle
from tests.gatewaycommands import CommandCase, Terminal
from tests.operatorcases import TOKENS


class SiteTests(CommandCase, SynchronousTestCase):
    def test_making_one(self) -> None:
        told = self.run_("site", "create", "ber", "--label", "rack=4", "--ttl-ms", "20000")
        self.assertIn("rescriptum gateway token create ber", told)
        shown = self.said("site", "show", "ber")
        self.assertEqual((shown["labels"], shown["ttl_ms"]), ({"rack": "4"}, 20_000))

    def test_listing(self) -> None:
        """Aligned text for people, JSON for programs, words where there are none."""
        self.assertEqual(self.ended("site", "list"), (0, "", "no sites\n"))
        self.run_("site", "create", "ber")
        self.run_("site", "create", "frankfurt")
        heading, one, other = self.run_("site", "list").splitlines()
        self.assertTrue(heading.startswith("NAME       NODES"), heading)
        self.assertTrue(one.startswith("ber        0"), one)
        self.assertEqual(other.split()[:4], ["frankfurt", "0", "0", "free"])
        self.assertEqual(len(self.said("site", "list")["sites"]), 2)

    def test_a_terminal(self) -> None:
        """A table there; without colours where nobody wants them."""
        self.run_("site", "create", "ber")
        told = self.run_("site", "list", out=Terminal(), plain=True)
        self.assertIn("held by", told)
        self.assertNotIn("\x1b", told)

    def test_all_pages(self) -> None:
        for each in range(3):
            self.run_("site", "create", f"s{each}")
        found = self.result(self.gateway.pages("sites", "sites"))
        self.assertEqual(len(found), 3)
        self.patch(client, "PIECE", 2)
        self.assertEqual(self.result(self.gateway.pages("sites", "sites")), found)
        self.assertIn("cursor=s1", self.requests[-1].target)

    def test_removing(self) -> None:
        self.run_("site", "create", "ber")
        self.assertEqual(self.said("site", "remove", "ber"), {"removed": "ber"})
        self.assertEqual(
            self.wrong("site", "remove", "ber"),
            "not-found: there is no site 'ber'. List what there is, and compare the name.",
        )

    def test_names_with_everything_in_them(self) -> None:
        """They stay one part of the path."""
        self.assertIn("not-found", self.wrong("site", "show", "../operators?limit=1#x %"))
        self.assertIn("/sites/..%2Foperators%3Flimit%3D1%23x%20%25", self.requests[-1].target)

    def test_usage(self) -> None:
        self.assertEqual(self.misused("site", "create"), "which NAME?")
        self.assertIn("'b'", self.misused("site", "create", "a", "b"))
        self.assertIn("empty", self.misused("site", "create", ""))
        self.assertIn("KEY=VALUE", self.misused("site", "create", "a", "--label", "x"))
        self.assertIn("which one?", self.misused("site"))
        self.assertIn("--ttl-ms", self.misused("site", "create", "a", "--ttl-ms", "x"))

    def test_too_little_scope(self) -> None:
        self.gateway = self.reached(TOKENS[Scope.READ])
        told = self.wrong("site", "create", "ber")
        self.assertIn("forbidden: read has scope read; this takes operate", told)


class LeaseTests(CommandCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber", "n1"))
        self.do(lambda connection: settle(connection, "muc"))

    def test_moving_it(self) -> None:
        told = self.run_("lease", "move", "ber", "n1")
        self.assertEqual(told, "ber: n1 is to hold the lease; now: free\n")
        self.assertEqual(self.said("lease", "show", "ber")["wanted_node"], "n1")
        self.assertIn("whoever can", self.run_("lease", "move", "ber"))
        self.assertNotIn("wanted_node", self.said("lease", "show", "ber"))

    def test_quarantine(self) -> None:
        self.assertEqual(self.run_("lease", "quarantine", "ber"), "ber: quarantined, epoch 1000\n")
        told = self.said("lease", "quarantine")["leases"]
        self.assertEqual([(each["site"], each["epoch"]) for each in told],
                         [("ber", 2000), ("muc", 1000)])  # fmt: skip


class TokenTests(CommandCase, SynchronousTestCase):
    def test_it_is_printed_alone(self) -> None:
        """So that it can be redirected."""
        self.run_("site", "create", "ber")
        _, out, err = self.ended("token", "create", "ber", "--lifetime", "2h")
        self.assertEqual(len(out.splitlines()), 1)
        self.assertIn("until 2023-11-15T00:13:20Z", err)
        [row] = self.said("token", "list", "--site", "ber")["tokens"]
        self.assertNotIn(out.strip(), self.run_("token", "list"))
        self.run_("token", "remove", row["digest"])

    def test_times(self) -> None:
        for text, seconds in (
            ("90", 90),
            ("90s", 90),
            ("30m", 1800),
            ("12h", 43_200),
            ("1d", 86_400),
        ):
            leaf = self.leaf("token", "create", "ber", "--lifetime", text)
            self.assertEqual(leaf.lifetime, seconds)  # type: ignore[attr-defined]
        for text in "", "1w", "-1", "1.5h", "1 h", "\u0661h":
            self.assertIn("12h", self.misused("token", "create", "ber", "--lifetime", text))


class NodeTests(CommandCase, SynchronousTestCase):
    def test_listing_and_removing(self) -> None:
        self.do(lambda connection: settle(connection, "ber", "n1"))
        self.assertIn("n1", self.run_("node", "list", "--site", "ber", "--role", "site"))
        self.assertIn("session.opened_at", self.run_("node", "show", "n1"))
        self.run_("node", "remove", "n1")
        self.assertEqual(self.said("node", "list")["nodes"], [])
