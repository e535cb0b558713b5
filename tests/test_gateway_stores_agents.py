"""Tests for the stores of sites, tokens, nodes, sessions and what was discovered."""

from attrs import evolve
from sqlalchemy import Connection, event
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.joining import Role
from rescriptum.contract.jose import digest
from rescriptum.contract.reports import (
    Discovered,
    Progress,
    SectionStatus,
    State,
    StatusReport,
)
from rescriptum.contract.sessions import NONCES_KEPT
from rescriptum.gateway.records import Site
from rescriptum.gateway.stores import (
    commands,
    discovered,
    leases,
    machines,
    nodes,
    rows,
    sessions,
    sites,
    tokens,
)
from tests.gateway_stores import (
    NOW,
    OverSQLite,
    Stores,
    command,
    hello,
    known,
    live_sessions,
    node,
    session,
    sessions_of,
    settle,
)

#: What is no name: the edge refuses it, whatever the database would do.
NO_NAMES = ("", "a b", "a/b", "ä", "a\n", "\x1b[m", "x" * 129)


class SiteBehaviour(Stores):
    def test_made_read_and_gone(self) -> None:
        made = self.do(sites.create, "ber", NOW, 6_000, {"rack": 7})
        self.assertEqual(made, Site("ber", NOW, 6_000, None, {"rack": 7}))
        self.assertEqual(self.do(sites.get, "ber"), made)
        self.refused("conflict", sites.create, "ber", NOW)
        self.do(sites.remove, "ber")
        self.refused("not-found", sites.get, "ber")
        self.refused("not-found", sites.remove, "ber")

    def test_names(self) -> None:
        for name in NO_NAMES:
            self.refused("invalid-message", sites.create, name, NOW)
        self.do(sites.create, "x" * 128, NOW)

    def test_bounds_of_the_ttl(self) -> None:
        for ttl in (2_999, 60_001):
            self.refused("invalid-message", sites.create, "ber", NOW, ttl)
        self.do(sites.create, "ber", NOW, 3_000)
        self.do(sites.set_ttl, "ber", 60_000)
        self.refused("invalid-message", sites.set_ttl, "ber", 60_001)
        self.assertEqual(self.do(sites.get, "ber").ttl_ms, 60_000)
        self.refused("not-found", sites.set_ttl, "muc", 3_000)

    def test_bound_of_labels(self) -> None:
        room = sites.LABELS - len('{"a":""}')
        self.do(sites.create, "ber", NOW, labels={"a": "x" * room})
        labels: dict[str, object] = {"a": "x" * (room + 1)}
        self.refused("too-large", sites.create, "muc", NOW, labels=labels)
        self.refused("too-large", sites.set_labels, "ber", labels)
        self.do(sites.set_labels, "ber", {"b": 1})
        self.assertEqual(self.do(sites.get, "ber").labels, {"b": 1})

    def test_pages(self) -> None:
        """In the order of their octets, on any database; each site once."""
        names = ["B", "a", "a-b", "a.b", "a_b", "ab", "b"]
        for name in reversed(names):
            self.do(sites.create, name, NOW)
        seen, after = [], ""
        for _ in range(4):
            page = self.do(sites.all_sites, after, 2)
            seen += [each.name for each in page.items]
            after = page.next or ""
        self.assertEqual((seen, after), (names, ""))

    def test_bound_of_a_page(self) -> None:
        for limit in (0, -1, rows.MOST + 1):
            self.refused("invalid-message", sites.all_sites, "", limit)
        self.assertEqual(self.do(sites.all_sites, "", rows.MOST).items, ())
        self.refused("invalid-message", sites.all_sites, "a b")

    def test_wanted_node(self) -> None:
        """One of the site's own, that was not removed; gone with it."""
        self.do(settle, "ber", "node-1")
        self.do(settle, "muc", "node-2")
        self.do(sites.want, "ber", "node-1")
        self.refused("unknown-node", sites.want, "ber", "node-2")
        self.refused("not-found", sites.want, "nowhere", None)
        self.assertEqual(self.do(sites.get, "ber").wanted_node, "node-1")
        self.do(nodes.remove, "node-1", NOW)
        self.assertIsNone(self.do(sites.get, "ber").wanted_node)
        self.refused("unknown-node", sites.want, "ber", "node-1")

    def test_what_is_used_stays(self) -> None:
        self.do(settle, "ber", "node-1")
        self.do(known, "m1")
        self.assertIn("1 nodes", self.refused("in-use", sites.remove, "ber"))
        self.do(commands.add, command("c1"))
        self.do(nodes.remove, "node-1", NOW)
        self.assertIn("1 machines", self.refused("in-use", sites.remove, "ber"))
        self.do(machines.remove, "m1")
        self.do(sites.remove, "ber")
        self.assertIsNone(self.do(nodes.find, "node-1"))


class TokenBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle)

    def create(self, token: str = "token-1", lifetime: int = 60) -> str:
        made, kept = self.do(tokens.create, "ber", Role.SITE, NOW, lambda: token, lifetime)
        self.assertEqual(made, token)
        return kept

    def test_kept_as_a_digest(self) -> None:
        kept = self.create()
        self.assertEqual(kept, digest(b"token-1"))
        self.assertNotIn("token-1", repr(self.do(tokens.listing)))

    def test_used_once(self) -> None:
        kept = self.create()
        row = self.do(tokens.use, kept, "ber", Role.SITE, "n1", NOW + 59)
        self.assertEqual((row.site, row.role, row.used_at), ("ber", Role.SITE, None))
        after = self.do(tokens.get, kept)
        assert after is not None
        self.assertEqual((after.used_at, after.node), (NOW + 59, "n1"))
        for at in (NOW + 59, NOW + 61):
            self.refused("token-used", tokens.use, kept, "ber", Role.SITE, "n2", at)

    def test_refusals(self) -> None:
        """A token that is refused is not used up."""
        kept = self.create()
        for code, site, role, at in (
            ("wrong-site", "muc", Role.SITE, NOW),
            ("wrong-role", "ber", Role.RAMDISK, NOW),
            ("token-expired", "ber", Role.SITE, NOW + 60),
        ):
            self.refused(
                code,
                tokens.use,
                kept,
                site,
                role,
                "n1",
                at,
            )
        self.refused("unknown-token", tokens.use, "sha256:0", "ber", Role.SITE, "n", NOW)
        self.do(tokens.use, kept, "ber", Role.SITE, "n1", NOW + 59)

    def test_lifetimes(self) -> None:
        for lifetime in (0, tokens.LONGEST_LIFETIME + 1):
            self.refused(
                "invalid-message",
                tokens.create,
                "ber",
                Role.SITE,
                NOW,
                lambda: "t",
                lifetime,
            )
        self.create(lifetime=tokens.LONGEST_LIFETIME)

    def test_no_site(self) -> None:
        self.refused("in-use", tokens.create, "nowhere", Role.SITE, NOW, lambda: "t", 60)

    def test_listing_and_removal(self) -> None:
        kept = [self.create(f"token-{number}") for number in range(3)]
        page = self.do(tokens.listing, "ber", limit=2)
        rest = self.do(tokens.listing, "ber", page.next or "", 2)
        found = [each.digest for each in (*page.items, *rest.items)]
        self.assertEqual(found, sorted(kept, reverse=True))
        self.do(tokens.remove, kept[0])
        self.refused("unknown-token", tokens.remove, kept[0])
        self.do(tokens.use, kept[1], "ber", Role.SITE, "n1", NOW)
        self.refused("token-used", tokens.remove, kept[1])

    def test_cursors_of_strangers(self) -> None:
        for after in ("x", "1_0:a", "+1:a", "9" * 20 + ":a", "5:a b", "5"):
            self.refused("invalid-message", tokens.listing, after=after)

    def test_those_nobody_used_are_forgotten(self) -> None:
        kept = [self.create(f"token-{number}") for number in range(2)]
        self.do(tokens.use, kept[0], "ber", Role.SITE, "n1", NOW)
        late = NOW + 60 + tokens.KEPT
        self.assertEqual(self.do(tokens.prune, late), 0)
        self.assertEqual(self.do(tokens.prune, late + 1), 1)
        self.assertIsNotNone(self.do(tokens.get, kept[0]))


class NodeBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle, "ber", "node-1")

    def test_added_and_found(self) -> None:
        made = evolve(node("node-2"), machine="m1", inventory={"disks": [1]})
        self.do(nodes.add, made)
        self.assertEqual(self.do(nodes.get, "node-2"), made)
        self.assertEqual(self.do(nodes.by_jkt, made.jkt), made)
        self.assertIsNone(self.do(nodes.by_jkt, "other"))
        self.refused("not-found", nodes.get, "node-3")
        self.refused("conflict", nodes.add, evolve(made, id="node-3"))
        self.refused("in-use", nodes.add, node("node-3", "nowhere"))
        self.refused("invalid-message", nodes.add, node("a b"))

    def test_listing(self) -> None:
        self.do(nodes.add, evolve(node("node-2", role=Role.NODE), machine="m1"))
        self.do(settle, "muc", "node-3")
        self.do(nodes.remove, "node-3", NOW)

        def names(**wanted: object) -> list[str]:
            page = self.do(nodes.listing, **wanted)  # type: ignore[arg-type]
            return [each.id for each in page.items]

        self.assertEqual(names(), ["node-1", "node-2"])
        self.assertEqual(names(removed=True), ["node-1", "node-2", "node-3"])
        self.assertEqual(names(site="muc", removed=True), ["node-3"])
        self.assertEqual(names(role=Role.NODE), ["node-2"])
        self.assertEqual(names(machine="m1"), ["node-2"])
        self.assertEqual(names(after="node-1"), ["node-2"])

    def test_removed(self) -> None:
        """Its session ends, no other begins; the lease stays its until its fence is closed."""
        self.do(leases.grant, "ber", 0, "session-of-node-1", "node-1", 3000, NOW)
        self.do(nodes.remove, "node-1", NOW + 1)
        self.assertEqual(self.do(nodes.get, "node-1").removed_at, NOW + 1)
        self.refused("not-found", nodes.remove, "node-1", NOW + 2)
        self.refused(
            "unknown-node",
            sessions.by_token,
            "session-of-node-1",
            "sha256:session-of-node-1",
        )
        self.refused(
            "unknown-node",
            sessions.open_session,
            session("s2"),
            hello("fresh"),
            NOW,
        )
        self.refused("unknown-node", nodes.report, "node-1", StatusReport(), NOW)
        self.refused("unknown-node", commands.add, command("c1"))
        self.assertEqual(self.do(leases.read, "ber").holder, "session-of-node-1")

    def test_versions_go_up(self) -> None:
        self.assertEqual([self.do(nodes.bump, "node-1") for _ in "ab"], [1, 2])
        self.refused("not-found", nodes.bump, "node-2")

    def test_reports_add_up(self) -> None:
        """A section takes the place of the one of its name; what a report does not say stays."""
        lease = SectionStatus("lease", State.READY)
        cache = SectionStatus("cache", State.CONVERGING, "pulling", {"left": 3})
        first = StatusReport((lease, cache), {"cpus": 4})
        self.do(nodes.report, "node-1", first, NOW)
        failed = SectionStatus("cache", State.FAILED, "disk full")
        self.do(nodes.report, "node-1", StatusReport((failed,)), NOW + 1)
        after = self.do(nodes.get, "node-1")
        self.assertEqual(after.sections, (lease, failed))
        self.assertEqual((after.inventory, after.reported_at), ({"cpus": 4}, NOW + 1))

    def test_reports_carry_the_rest(self) -> None:
        """Progress of its own commands, and what a site agent saw."""
        self.do(commands.add, command("c1"))
        progress = (Progress("c1", {"percent": 5}), Progress("of-nobody", {}))
        seen = (Discovered("52:54:00:00:00:01"),)
        report = StatusReport(progress=progress, discovered=seen)
        self.do(nodes.report, "node-1", report, NOW)
        self.assertEqual(self.do(commands.get, "c1").progress, {"percent": 5})
        found = self.do(discovered.listing, "ber", NOW).items
        self.assertEqual([each.mac for each in found], ["52:54:00:00:00:01"])

    def test_other_roles_discover_nothing(self) -> None:
        self.do(nodes.add, node("node-2", role=Role.RAMDISK))
        report = StatusReport(discovered=(Discovered("52:54:00:00:00:01"),))
        self.do(nodes.report, "node-2", report, NOW)
        self.assertEqual(self.do(discovered.listing, "ber", NOW).items, ())

    def test_bounds_of_reports(self) -> None:
        def sections(first: int, last: int) -> StatusReport:
            names = range(first, last)
            return StatusReport(tuple(SectionStatus(f"s{n}", State.READY) for n in names))

        most = nodes.MOST_SECTIONS
        self.do(nodes.report, "node-1", sections(0, most), NOW)
        over = sections(most, most + 1)
        self.refused("too-large", nodes.report, "node-1", over, NOW)
        room = nodes.INVENTORY - len('{"a":""}')
        full, more = ({"a": "x" * (room + extra)} for extra in (0, 1))
        self.do(nodes.report, "node-1", StatusReport(inventory=dict(full)), NOW)
        big = StatusReport(inventory=dict(more))
        self.refused("too-large", nodes.report, "node-1", big, NOW)
        section = SectionStatus("s0", State.READY, detail={"a": "x" * nodes.SECTIONS})
        large = StatusReport((section,))
        self.refused("too-large", nodes.report, "node-1", large, NOW)

    def test_texts_that_no_database_keeps(self) -> None:
        """Characters that are none are refused, wherever they stand; what JSON can say is kept."""
        odd: dict[str, object] = {"a": "\x00", "b": "\ud800"}
        self.do(nodes.report, "node-1", StatusReport(inventory=odd), NOW)
        self.assertEqual(self.do(nodes.get, "node-1").inventory, odd)
        bad = evolve(hello("fresh"), boot_id="\ud800")
        self.refused("invalid-message", sessions.open_session, session("s"), bad, NOW)


class SessionBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle)
        self.do(nodes.add, node())

    def open(self, name: str, nonce: str, now: int = NOW) -> tuple[str, ...]:
        opened = evolve(session(name), opened_at=now, heard_at=now)
        return self.do(sessions.open_session, opened, hello(nonce), now)

    def test_the_second_supersedes_the_first(self) -> None:
        self.assertEqual(self.open("s1", "n1"), ())
        self.assertEqual(self.open("s2", "n2", NOW + 1), ("s1",))
        self.refused("superseded", sessions.by_token, "s1", "sha256:s1")
        self.assertEqual(self.do(sessions.by_token, "s2", "sha256:s2").id, "s2")
        ended = self.do(sessions.get, "s1")
        assert ended is not None
        self.assertEqual((ended.ended_at, ended.reason), (NOW + 1, "superseded"))
        self.assertEqual(self.do(sessions_of, "node-1"), ["s2", "s1"])
        self.assertEqual(self.do(live_sessions), ["s2"])

    def test_what_hello_says_is_kept(self) -> None:
        self.open("s1", "n1")
        after = self.do(nodes.get, "node-1")
        said = hello("n1")
        self.assertEqual((after.version, after.boot_id), (said.version, said.boot_id))
        self.assertEqual((after.kinds, after.drivers), (said.kinds, said.drivers))

    def test_a_hello_opens_one_session(self) -> None:
        """It is refused as long as its time could be right; the session goes on meanwhile."""
        self.open("s1", "n1")
        for late in (0, NONCES_KEPT):
            self.refused(
                "replayed",
                sessions.open_session,
                session("s2"),
                hello("n1"),
                NOW + late,
            )
        self.do(sessions.by_token, "s1", "sha256:s1")
        self.open("s3", "n1", NOW + NONCES_KEPT + 1)

    def test_nonces_are_each_nodes_own(self) -> None:
        self.do(nodes.add, node("node-2"))
        self.open("s1", "n1")
        other = session("s2", "node-2")
        self.do(sessions.open_session, other, hello("n1", "node-2"), NOW)

    def test_tokens(self) -> None:
        self.open("s1", "n1")
        for name, kept in (("s1", "sha256:s2"), ("s2", "sha256:s1"), ("s2", "sha256:s2")):
            self.refused("unknown-session", sessions.by_token, name, kept)

    def test_ended(self) -> None:
        self.open("s1", "n1")
        self.assertTrue(self.do(sessions.end, "s1", "slow-reader", NOW))
        self.assertFalse(self.do(sessions.end, "s1", "stopping", NOW))
        self.refused("unknown-session", sessions.by_token, "s1", "sha256:s1")
        self.assertFalse(self.do(sessions.attach, "s1", "process-2", NOW))

    def test_ended_unless_heard(self) -> None:
        self.open("s1", "n1")
        self.assertEqual(self.do(sessions.last_heard), {"s1": NOW})
        self.do(sessions.heard, ["s1"], NOW + 5)
        self.assertFalse(self.do(sessions.end, "s1", "silent", NOW + 9, NOW))
        self.assertTrue(self.do(sessions.end, "s1", "silent", NOW + 9, NOW + 5))
        self.refused("unknown-session", sessions.by_token, "s1", "sha256:s1")
        self.assertEqual(self.do(sessions.last_heard), {})

    def test_of_one_node_so_many_are_remembered(self) -> None:
        """A node that says Hello without an end fills no disk."""
        for number in range(sessions.KEPT_OF_NODE + 3):
            self.open(f"s{number}", f"n{number}", NOW + number)
        kept = self.do(sessions_of, "node-1")
        self.assertEqual(len(kept), sessions.KEPT_OF_NODE + 1)
        self.assertEqual(kept[0], f"s{sessions.KEPT_OF_NODE + 2}")
        self.assertEqual(kept[-1], "s2")

    def test_heard_and_live(self) -> None:
        self.open("s1", "n1")
        self.do(nodes.add, node("node-2"))
        second = evolve(session("s2", "node-2"), opened_at=NOW - 5)
        self.do(sessions.open_session, second, hello("n2", "node-2"), NOW)
        self.do(sessions.heard, ["s1", "nobody"], NOW + 9)

        self.assertEqual(self.do(live_sessions), ["s2", "s1"])
        self.assertEqual(self.do(sessions.last_heard), {"s2": NOW, "s1": NOW + 9})
        self.assertEqual(self.do(live_sessions, "muc"), [])

    def test_streams_move(self) -> None:
        self.open("s1", "n1")
        self.assertTrue(self.do(sessions.attach, "s1", "process-2", NOW + 1))
        for process, expected in (("process-1", set()), ("process-2", {"s1"})):
            found = self.do(sessions.of_process, process, ["s1", "s2"])
            self.assertEqual(found, expected)

    def test_those_that_are_over_are_forgotten(self) -> None:
        self.open("s1", "n1")
        self.open("s2", "n2")
        self.assertEqual(self.do(sessions.prune, NOW + sessions.KEPT), 0)
        self.assertEqual(self.do(sessions.prune, NOW + sessions.KEPT + 1), 1)
        self.assertIsNone(self.do(sessions.get, "s1"))
        self.assertIsNotNone(self.do(sessions.get, "s2"))


class DiscoveredBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle)

    def report(self, *seen: Discovered, now: int = NOW) -> None:
        self.do(discovered.report, "ber", seen, now)

    def macs(self, now: int = NOW) -> list[str]:
        page = self.do(discovered.listing, "ber", now, limit=1000)
        return [each.mac for each in page.items]

    def test_first_and_last(self) -> None:
        self.report(Discovered("52-54-00-00-00-01", "u", "x86-64", "192.0.2.7", 3_900))
        self.report(Discovered("525400000001", "v"), now=NOW + 60)
        [found] = self.do(discovered.listing, "ber", NOW).items
        self.assertEqual((found.mac, found.uuid), ("52:54:00:00:00:01", "v"))
        self.assertEqual((found.first_seen_at, found.seen_at), (NOW - 3, NOW + 60))

    def test_what_is_no_address(self) -> None:
        self.report(Discovered("52:54:00:00:00:01"), Discovered("x"), Discovered("\x00" * 17))
        self.assertEqual(self.macs(), ["52:54:00:00:00:01"])

    def test_any_age(self) -> None:
        """However long ago a peer says that it was."""
        self.report(
            Discovered("52:54:00:00:00:01", seen_ms_ago=-5),
            Discovered("52:54:00:00:00:02", seen_ms_ago=10**30),
        )
        self.assertEqual(self.macs(), ["52:54:00:00:00:01", "52:54:00:00:00:02"])
        self.assertEqual(self.macs(NOW + 1), ["52:54:00:00:00:01"])

    def test_bound_of_a_site(self) -> None:
        """The 257th takes the place of the one that has been silent for longest."""
        many = [
            Discovered(f"52:54:00:00:{n >> 8:02x}:{n & 255:02x}", seen_ms_ago=n * 1000)
            for n in range(discovered.MOST)
        ]
        self.report(*many)
        self.assertEqual(len(self.macs()), discovered.MOST)
        self.report(Discovered("52:54:00:00:ff:ff"))
        expected = [each.mac for each in many[:-1]] + ["52:54:00:00:ff:ff"]
        self.assertEqual(self.macs(), expected)

    def test_a_full_report_is_one_statement(self) -> None:
        """Two thousand machines of one agent kept a database from all others for 20 seconds."""
        found = [Discovered(f"52:54:00:00:00:{n:02x}") for n in range(200)]

        def counted(connection: Connection) -> int:
            told: list[str] = []

            def heard(*arguments: object) -> None:
                told.append(str(arguments[2]))

            event.listen(connection, "before_cursor_execute", heard)
            discovered.report(connection, "ber", found, NOW)
            event.remove(connection, "before_cursor_execute", heard)
            return sum(each.startswith("INSERT") for each in told)

        self.assertEqual(self.do(counted), 1)
        self.assertEqual(len(self.macs()), 200)
        self.report()

    def test_forgotten_after_a_day(self) -> None:
        self.report(Discovered("52:54:00:00:00:01"))
        day = NOW + discovered.KEPT
        self.assertEqual(self.macs(day), ["52:54:00:00:00:01"])
        self.assertEqual(self.macs(day + 1), [])
        self.assertEqual(self.do(discovered.prune, day), 0)
        self.assertEqual(self.do(discovered.prune, day + 1), 1)

    def test_ours_are_not_discovered(self) -> None:
        """A machine that was adopted is gone from the list, and stays away."""
        self.report(Discovered("52:54:00:00:00:01"), Discovered("52:54:00:00:00:02"))
        self.do(known, "m1", "52:54:00:00:00:01")
        self.assertEqual(self.macs(), ["52:54:00:00:00:02"])
        self.report(Discovered("52:54:00:00:00:01"))
        self.assertEqual(self.macs(), ["52:54:00:00:00:02"])


class SQLiteSiteTests(OverSQLite, SiteBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteTokenTests(OverSQLite, TokenBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteNodeTests(OverSQLite, NodeBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteSessionTests(OverSQLite, SessionBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteDiscoveredTests(OverSQLite, DiscoveredBehaviour, SynchronousTestCase):
    """Over SQLite."""
