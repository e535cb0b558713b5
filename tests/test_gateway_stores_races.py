"""Tests for what several processes do at the same moment: each with a connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import Result
from rescriptum.contract.joining import Role
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.reports import Discovered
from rescriptum.gateway.lease import LeaseRow
from rescriptum.gateway.records import CommandState, Operator, Scope, Workflow
from rescriptum.gateway.stores import (
    commands,
    discovered,
    engine,
    events,
    leases,
    nodes,
    operators,
    processes,
    sessions,
    tokens,
    workflows,
)
from rescriptum.gateway.stores.database import Database
from tests.gateway_stores import (
    NOW,
    OverSQLite,
    Stores,
    command,
    done,
    hello,
    known,
    live_sessions,
    node,
    session,
    settle,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")

TTL = 15_000
#: Who races.
NAMES = ("a", "b", "c", "d")
#: Of each process that writes them.
EVENTS = 10


def call(
    work: Callable[Concatenate[Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
) -> Callable[[Database], _T]:
    """:returns: what does that in one transaction of whichever process."""
    return lambda database: done(database, work, *args, **kwargs)


class RaceBehaviour(Stores):
    """:cvar rounds: of a race, each of which ends one way or the other."""

    rounds = 20

    def setUp(self) -> None:
        super().setUp()
        self.processes = [self.database, *(self.opened() for _ in NAMES[1:])]
        self.threads = ThreadPoolExecutor(len(self.processes))
        self.addCleanup(self.threads.shutdown)
        self.do(settle)

    def race(self, *work: Callable[[Database], _T]) -> list[Any]:
        """:returns: what each returned, or the code of its refusal."""
        start = Barrier(len(work))

        def run(database: Database, each: Callable[[Database], _T]) -> _T | str:
            start.wait(30)
            try:
                return each(database)
            except Rejected as e:
                return e.code

        pairs = zip(self.processes, work, strict=False)
        running = [self.threads.submit(run, *pair) for pair in pairs]
        return [each.result(60) for each in running]

    def granted(self) -> LeaseRow:
        """A lease of a holder that has just proved."""
        row = self.do(leases.read, "ber")
        if row.holder is not None:
            self.do(leases.release, "ber", row.epoch, str(row.holder_node))
        self.do(leases.grant, "ber", row.epoch, "holder", "node-0", TTL, NOW)
        self.do(leases.record, "ber", row.epoch + 1, "holder")
        return self.do(leases.read, "ber")

    def test_of_take_overs_one_wins(self) -> None:
        for _ in range(self.rounds):
            row = self.granted()
            seen = (row.epoch, row.beat)
            won = self.race(
                *(call(leases.take, "ber", *seen, name, name, TTL, NOW) for name in NAMES)
            )
            self.assertEqual(sorted(map(bool, won)), [False, False, False, True])
            winner = NAMES[won.index(True)]
            expected = LeaseRow(row.epoch + 1, winner, winner, 0, TTL)
            self.assertEqual(self.do(leases.read, "ber"), expected)
            self.assertEqual(self.do(leases.holder_of, "ber", row.epoch + 1), winner)

    def test_of_grants_one_wins(self) -> None:
        for _ in range(self.rounds):
            epoch = self.granted().epoch
            self.do(leases.release, "ber", epoch, "node-0")
            won = self.race(
                *(call(leases.grant, "ber", epoch, name, name, TTL, NOW) for name in NAMES)
            )
            self.assertEqual(sorted(map(bool, won)), [False, False, False, True])
            self.assertEqual(self.do(leases.read, "ber").holder, NAMES[won.index(True)])

    def test_of_a_record_and_a_take_over_one_wins(self) -> None:
        """What was recorded is not taken, and what was taken is not recorded: never both."""
        for _ in range(self.rounds):
            row = self.granted()
            taken, recorded = self.race(
                call(leases.take, "ber", row.epoch, row.beat, "s", "n", TTL, NOW),
                call(leases.record, "ber", row.epoch, "holder"),
            )
            self.assertNotEqual(taken, recorded)
            after = self.do(leases.read, "ber")
            expected = (row.epoch + 1, 0) if taken else (row.epoch, row.beat + 1)
            self.assertEqual((after.epoch, after.beat), expected)

    def test_of_a_release_and_a_record(self) -> None:
        """Either order is fine; what was released is recorded no more."""
        for _ in range(self.rounds):
            row = self.granted()
            released, recorded = self.race(
                call(leases.release, "ber", row.epoch, "node-0"),
                call(leases.record, "ber", row.epoch, "holder"),
            )
            after = self.do(leases.read, "ber")
            self.assertTrue(released)
            self.assertIsNone(after.holder)
            self.assertEqual(after.beat, row.beat + bool(recorded))

    def test_a_token_makes_one_node(self) -> None:
        def join(connection: Connection, kept: str, name: str) -> str:
            tokens.use(connection, kept, "ber", Role.SITE, name, NOW)
            nodes.add(connection, node(name))
            return "joined"

        for number in range(self.rounds):
            token = f"token-{number}"
            _, kept = self.do(tokens.create, "ber", Role.SITE, NOW, token.__str__)
            names = [f"n{number}-{each}" for each in NAMES]
            ends = self.race(*(call(join, kept, name) for name in names))
            self.assertEqual(sorted(ends), ["joined", *["token-used"] * 3])
            there = [self.do(nodes.find, name) is not None for name in names]
            self.assertEqual(there, [each == "joined" for each in ends])

    def test_one_session_of_a_node_goes_on(self) -> None:
        self.do(nodes.add, node())
        for number in range(self.rounds):
            names = [f"s{number}-{each}" for each in NAMES]
            self.race(
                *(call(sessions.open_session, session(n), hello(f"n-{n}"), NOW) for n in names)
            )
            live = self.do(live_sessions)
            self.assertEqual(len(live), 1)
            self.assertIn(live[0], names)

    def test_a_hello_opens_one_session(self) -> None:
        self.do(nodes.add, node())
        for number in range(self.rounds):
            said = hello(f"nonce-{number}")
            names = [f"s{number}-{each}" for each in NAMES]
            ends = self.race(*(call(sessions.open_session, session(n), said, NOW) for n in names))
            self.assertEqual(ends.count("replayed"), 3)
            [live] = self.do(live_sessions)
            self.assertNotEqual(ends[names.index(live)], "replayed")

    def test_one_result_of_a_command(self) -> None:
        self.do(nodes.add, node())
        for number in range(self.rounds):
            name = f"c{number}"
            self.do(commands.add, command(name))
            results = [Result(True, "ok", each) for each in NAMES]
            ends = self.race(
                *(call(commands.finished, name, "node-1", each, NOW) for each in results)
            )
            self.assertEqual(ends.count("conflicting-result"), 3)
            self.assertEqual(self.do(commands.get, name).result, results[ends.index(True)])

    def test_a_command_is_revoked_and_done(self) -> None:
        """Whichever came first: its result is there, and is what counts."""
        self.do(nodes.add, node())
        for number in range(self.rounds):
            name = f"c{number}"
            self.do(commands.add, command(name))
            self.do(commands.delivered, [name], NOW)
            _, finished = self.race(
                call(commands.revoke, name, NOW),
                call(commands.finished, name, "node-1", Result(True, "ok"), NOW),
            )
            self.assertIs(finished, True)
            self.assertIs(self.do(commands.get, name).state, CommandState.DONE)

    def test_a_machine_has_one_workflow(self) -> None:
        self.do(known, "m1")
        made = [Workflow(name, "wipe", "ber", "m1", {}, "op", NOW) for name in NAMES]
        ends = self.race(*(call(workflows.add, each, []) for each in made))
        self.assertEqual(ends.count("in-use"), 3)
        self.assertEqual(len(self.do(workflows.listing).items), 1)

    def test_an_orphan_is_claimed_once(self) -> None:
        for number in range(self.rounds):
            name = f"wf-{number}"
            made = Workflow(name, "wipe", "ber", None, {}, "op", NOW, process="gone")
            self.do(workflows.add, made, [])
            claims = self.race(*(call(workflows.claim, each, NAMES) for each in NAMES))
            self.assertEqual(sorted(map(len, claims)), [0, 0, 0, 1])
            [owner] = [each for each, claim in zip(NAMES, claims, strict=True) if claim]
            self.assertEqual(self.do(workflows.get, name).process, owner)

    def test_who_follows_misses_no_event(self) -> None:
        """A number that was seen is seen after all lower ones, whoever commits first."""

        def write(database: Database) -> list[int]:
            return [done(database, events.append, "k", "ber", "s", {}, NOW) for _ in range(EVENTS)]

        def follow(database: Database) -> list[int]:
            seen: list[int] = []
            while not seen or seen[-1] < 3 * EVENTS:
                last = seen[-1] if seen else 0
                seen += [each.seq for each in done(database, events.after, last)]
            return seen

        *written, followed = self.race(write, write, write, follow)
        self.assertEqual(sorted(number for each in written for number in each), followed)
        self.assertEqual(followed, list(range(1, 3 * EVENTS + 1)))

    def test_bound_of_what_was_discovered(self) -> None:
        """It holds whoever reports: each that is new takes the place of another old one."""

        def seen(*numbers: int) -> list[Discovered]:
            return [Discovered(f"52:54:00:00:{n >> 8:02x}:{n & 255:02x}") for n in numbers]

        self.do(discovered.report, "ber", seen(*range(discovered.MOST)), NOW)
        for number in range(self.rounds):
            first = discovered.MOST + number * len(NAMES)
            new = range(first, first + len(NAMES))
            at = NOW + number + 1
            self.race(*(call(discovered.report, "ber", seen(each), at) for each in new))
            page = self.do(discovered.listing, "ber", at, limit=1000)
            self.assertEqual(len(page.items), discovered.MOST)

    def test_an_admin_stays(self) -> None:
        """Two who remove each other."""
        names = ("ada", "eve")
        for name in names:
            self.do(operators.create, Operator(name, f"sha256:{name}", Scope.ADMIN, NOW))
        ends = self.race(*(call(operators.remove, name, NOW) for name in names))
        self.assertEqual(ends.count("in-use"), 1)

    def test_beats_are_all_counted(self) -> None:
        self.do(processes.beat, "p1", NOW)
        self.race(*(call(processes.beat, "p1", NOW) for _ in NAMES))
        self.assertEqual(self.do(processes.beats), {"p1": 4})

    def test_opened_by_all_at_once(self) -> None:
        """An empty database is made once."""
        self.url = self.made()
        self.race(*(lambda _: self.opened() for _ in NAMES))
        self.database = self.opened()
        self.do(settle)


class SQLiteRaceTests(OverSQLite, RaceBehaviour, SynchronousTestCase):
    """Over one file, whose lock goes to whoever is lucky: nobody gives up here."""

    rounds = 5

    def setUp(self) -> None:
        self.patch(engine, "BUSY", 120)
        super().setUp()
