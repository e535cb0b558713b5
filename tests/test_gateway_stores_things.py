"""Tests for the stores of machines, images, secrets, operators, events and processes."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.joining import Role
from rescriptum.contract.specs import ProxyTarget
from rescriptum.gateway.records import Image, Operator, Scope
from rescriptum.gateway.stores import (
    events,
    images,
    machines,
    nodes,
    operators,
    processes,
    secrets,
    settings,
    sites,
)
from tests.gateway_stores import NOW, OverSQLite, Stores, known, machine, node, settle

ONE, TWO = "52:54:00:00:00:01", "52:54:00:00:00:02"


class MachineBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle, "ber", "node-1")

    def test_kept_in_one_spelling(self) -> None:
        """The order of addresses is the operator's; one that stands twice stands once."""
        made = self.do(known, "m1", "52-54-00-00-00-02", "525400000001", TWO)
        self.assertEqual(made.macs, (TWO, ONE))
        self.assertEqual((made.created_at, made.revision), (NOW, 1))
        self.assertEqual(self.do(machines.get, "m1"), made)
        self.refused("invalid-message", machines.create, machine("m2", "x"), NOW)
        self.refused("not-found", machines.get, "m2")

    def test_one_machine_an_address(self) -> None:
        self.do(known, "m1", ONE)
        taken = self.refused("conflict", machines.create, machine("m2", TWO, ONE), NOW)
        self.assertIn("machine m1", taken)
        self.refused("not-found", machines.get, "m2")
        self.refused("conflict", machines.create, machine("m1", TWO), NOW)
        self.refused("in-use", machines.create, machine("m2", TWO, site="muc"), NOW)

    def test_changed_by_who_read_it(self) -> None:
        made = self.do(known, "m1", ONE)
        self.do(known, "m2", TWO)
        changed = self.do(machines.change, evolve(made, macs=(), bmc_address="192.0.2.9"))
        self.assertEqual((changed.revision, changed.macs), (2, ()))
        self.assertEqual(self.do(machines.get, "m1"), changed)
        self.refused("conflict", machines.change, evolve(made, uuid="u"))
        self.refused("conflict", machines.change, evolve(changed, macs=(TWO,)))
        self.refused("in-use", machines.change, evolve(changed, site="muc"))
        self.refused("not-found", machines.change, machine("m3"))
        again = self.do(machines.change, evolve(changed, macs=(ONE,)))
        self.assertEqual(self.do(machines.get, "m1").macs, again.macs)

    def test_what_requests_may_be_made_to(self) -> None:
        """By site, in the order that was given; it changes with the machine, and goes with it."""
        self.do(settle, "muc", "node-2")
        hosts = ("10.0.0.2", "switch.lab", "10.0.0.2")
        made = self.do(machines.create, evolve(machine("m2"), addresses=hosts), NOW)
        self.assertEqual(made.addresses, hosts[:2])
        self.assertEqual(self.do(machines.get, "m2"), made)
        self.do(machines.create, evolve(machine("m1"), addresses=("fc00::1",)), NOW)
        self.do(machines.create, machine("m3"), NOW)
        two = ProxyTarget("m2", hosts[:2])
        self.targets(ber=[ProxyTarget("m1", ("fc00::1",)), two], muc=[])
        moved = self.do(machines.change, evolve(made, site="muc"))
        self.targets(ber=[ProxyTarget("m1", ("fc00::1",))], muc=[two])
        same = self.do(machines.change, evolve(moved, uuid="u"))
        self.assertEqual(same.addresses, hosts[:2])
        self.do(machines.change, evolve(same, addresses=()))
        self.do(machines.remove, "m1")
        self.targets(ber=[], muc=[])

    def targets(self, **sites: list[ProxyTarget]) -> None:
        found = self.do(machines.targets, sites)
        self.assertEqual(found, {site: tuple(wanted) for site, wanted in sites.items()})

    def test_how_many_addresses(self) -> None:
        """Of a machine, of a site, and what is none."""
        hosts = tuple(f"10.0.0.{number}" for number in range(machines.MOST_HOSTS + 1))
        self.refused("too-large", machines.create, evolve(machine("x"), addresses=hosts), NOW)
        for bad in "", "a b", "a/b", "x" * 129, "ä":
            made = evolve(machine("x"), addresses=(bad,))
            self.refused("invalid-message", machines.create, made, NOW)
        for number in range(machines.MOST_OF_SITE // machines.MOST_HOSTS):
            self.do(machines.create, evolve(machine(f"m{number}"), addresses=hosts[1:]), NOW)
        self.refused("too-large", machines.create, evolve(machine("x"), addresses=hosts[:1]), NOW)
        self.do(machines.create, machine("x"), NOW)

    def test_removed(self) -> None:
        self.do(known, "m1", ONE)
        self.do(nodes.add, evolve(node("rd", role=Role.RAMDISK), machine="m1"))
        self.refused("in-use", machines.remove, "m1")
        self.do(nodes.remove, "rd", NOW)
        self.do(machines.remove, "m1")
        self.refused("not-found", machines.remove, "m1")
        self.do(known, "m2", ONE)

    def test_listing(self) -> None:
        self.do(settle, "muc")
        for name, site in (("m1", "ber"), ("m2", "muc"), ("m3", "ber")):
            self.do(known, name, f"52:54:00:00:01:0{name[1]}", site=site)
        page = self.do(machines.listing, limit=2)
        self.assertEqual([each.name for each in page.items], ["m1", "m2"])
        self.assertEqual(page.items[1].macs, ("52:54:00:00:01:02",))
        self.assertEqual(self.do(machines.listing, after=page.next or "").items[0].name, "m3")
        found = self.do(machines.listing, "ber").items
        self.assertEqual([each.name for each in found], ["m1", "m3"])

    def test_bounds(self) -> None:
        macs = [f"52:54:00:00:02:{number:02x}" for number in range(machines.MOST_MACS + 1)]
        self.refused("too-large", machines.create, machine("m1", *macs), NOW)
        self.do(known, "m1", *macs[:-1])
        for changes in (
            {"name": "a b"},
            {"macs": ("x",)},
            {"bmc_address": "x" * 256},
            {"bmc_address": "a\n"},
        ):
            bad = evolve(machine("m2"), **changes)
            self.refused("invalid-message", machines.create, bad, NOW)
        labels: dict[str, object] = {"a": "x" * machines.LABELS}
        self.refused("too-large", machines.create, evolve(machine("m2"), labels=labels), NOW)


def image(name: str = "debian", *sites: str) -> Image:
    return Image(name, "0" * 64, "https://images.example/debian", "raw", sites)


class ImageBehaviour(Stores):
    def setUp(self) -> None:
        super().setUp()
        self.do(settle)
        self.do(settle, "muc")

    def test_kept_with_its_sites(self) -> None:
        made = self.do(images.create, image("debian", "muc", "ber"), NOW)
        self.assertEqual(self.do(images.get, "debian"), evolve(made, sites=("ber", "muc")))
        self.refused("conflict", images.create, image(), NOW)
        self.refused("in-use", images.create, image("other", "nowhere"), NOW)
        self.refused("not-found", images.get, "other")

    def of_sites(self, *names: str) -> dict[str, list[str]]:
        found = self.do(images.of_sites, names)
        return {site: [each.name for each in cached] for site, cached in found.items()}

    def test_of_sites(self) -> None:
        self.do(images.create, image("debian", "ber"), NOW)
        self.do(images.create, image("arch"), NOW)
        for _ in range(2):
            self.do(images.assign, "arch", "ber")
        self.do(images.assign, "arch", "muc")
        self.assertEqual(self.of_sites("ber"), {"ber": ["arch", "debian"]})
        both = {"ber": ["arch", "debian"], "muc": ["arch"], "nowhere": []}
        self.assertEqual(self.of_sites("ber", "muc", "nowhere"), both)
        for _ in range(2):
            self.do(images.unassign, "arch", "ber")
        self.assertEqual(self.of_sites("ber"), {"ber": ["debian"]})
        self.refused("in-use", images.assign, "nothing", "ber")

    def test_removed(self) -> None:
        self.do(images.create, image("debian", "ber"), NOW)
        self.refused("in-use", images.remove, "debian")
        self.do(images.unassign, "debian", "ber")
        self.do(images.remove, "debian")
        self.refused("not-found", images.remove, "debian")

    def test_with_their_sites(self) -> None:
        """A site that is removed leaves its images to the others."""
        self.do(images.create, image("debian", "ber", "muc"), NOW)
        self.do(sites.remove, "ber")
        self.assertEqual(self.do(images.listing).items[0].sites, ("muc",))

    def test_what_is_none(self) -> None:
        for changes in (
            {"name": "a b"},
            {"sha256": "0" * 63},
            {"sha256": "A" * 64},
            {"url": ""},
            {"url": "x" * 2049},
            {"url": "a\n"},
            {"format": "a/b"},
        ):
            bad = evolve(image(), **changes)  # type: ignore[arg-type]
            self.refused("invalid-message", images.create, bad, NOW)

    def test_bound_of_a_site(self) -> None:
        self.patch(images, "MOST_OF_SITE", 2)
        for name in ("a", "b"):
            self.do(images.create, image(name, "ber"), NOW)
        self.refused("too-large", images.create, image("c", "ber"), NOW)


class SecretBehaviour(Stores):
    def test_kept_sealed(self) -> None:
        self.do(secrets.put, "bmc", b"\x00\xff", NOW)
        self.do(secrets.put, "bmc", b"\x01", NOW + 5)
        self.assertEqual(self.do(secrets.get, "bmc"), b"\x01")
        [row] = self.do(secrets.listing).items
        self.assertEqual((row.name, row.created_at, row.changed_at), ("bmc", NOW, NOW + 5))
        self.refused("not-found", secrets.get, "other")
        self.refused("invalid-message", secrets.put, "a b", b"", NOW)

    def test_bound(self) -> None:
        self.do(secrets.put, "bmc", b"x" * secrets.LONGEST, NOW)
        self.refused("too-large", secrets.put, "bmc", b"x" * (secrets.LONGEST + 1), NOW)

    def test_removed(self) -> None:
        self.do(settle)
        self.do(secrets.put, "bmc", b"x", NOW)
        made = self.do(machines.create, evolve(machine("m1"), credential_ref="bmc"), NOW)
        self.refused("in-use", secrets.remove, "bmc")
        self.do(machines.change, evolve(made, credential_ref=""))
        self.do(secrets.remove, "bmc")
        self.refused("not-found", secrets.remove, "bmc")


class OperatorBehaviour(Stores):
    def add(self, name: str, scope: Scope = Scope.ADMIN) -> Operator:
        made = Operator(name, f"sha256:{name}", scope, NOW)
        self.do(operators.create, made)
        return made

    def test_known_by_their_tokens(self) -> None:
        made = self.add("ada")
        self.assertEqual(self.do(operators.by_token, "sha256:ada"), made)
        self.assertIsNone(self.do(operators.by_token, "sha256:bob"))
        self.assertNotIn("sha256", repr(made))

    def test_removed(self) -> None:
        """Their name is nobody else's later: what they did stands under it."""
        self.add("ada")
        self.add("bob", Scope.READ)
        self.do(operators.remove, "bob", NOW + 1)
        self.assertIsNone(self.do(operators.by_token, "sha256:bob"))
        self.refused("not-found", operators.remove, "bob", NOW)
        self.refused("conflict", operators.create, Operator("bob", "sha256:2", Scope.READ, NOW))
        names = [each.name for each in self.do(operators.listing).items]
        self.assertEqual(names, ["ada"])
        everybody = self.do(operators.listing, True).items
        self.assertEqual([each.removed_at for each in everybody], [None, NOW + 1])

    def test_the_last_admin_stays(self) -> None:
        self.add("ada")
        self.refused("in-use", operators.remove, "ada", NOW)
        self.add("eve")
        self.do(operators.remove, "ada", NOW)
        self.refused("in-use", operators.remove, "eve", NOW)

    def test_scopes(self) -> None:
        self.assertTrue(Scope.ADMIN.includes(Scope.READ))
        self.assertTrue(Scope.OPERATE.includes(Scope.OPERATE))
        self.assertFalse(Scope.READ.includes(Scope.OPERATE))


class EventBehaviour(Stores):
    def append(self, kind: str = "joined", site: str | None = "ber", now: int = NOW) -> int:
        return self.do(events.append, kind, site, "node-1", {"a": 1}, now)

    def test_followed(self) -> None:
        self.assertEqual(self.do(events.newest), 0)
        first, second, third = self.append(), self.append("left"), self.append(site=None)
        self.assertLess(first, second)
        found = self.do(events.after, first)
        self.assertEqual([each.seq for each in found], [second, third])
        self.assertEqual((found[0].kind, found[0].data), ("left", {"a": 1}))
        self.assertEqual(self.do(events.newest), third)
        self.assertEqual(len(self.do(events.after, 0, limit=2)), 2)
        self.assertEqual([e.seq for e in self.do(events.after, 0, site="ber")], [first, second])
        self.assertEqual([e.seq for e in self.do(events.after, 0, kind="left")], [second])
        self.assertEqual(self.do(events.after, 0, subject="node-2"), [])

    def test_old_ones_are_forgotten(self) -> None:
        """The newest stays, so that numbers never come again."""
        first, second = self.append(), self.append()
        self.assertEqual(self.do(events.prune, NOW + events.KEPT), 0)
        self.assertEqual(self.do(events.prune, NOW + events.KEPT + 1), 1)
        self.assertEqual(self.do(events.oldest), second)
        self.assertGreater(self.append(), second)
        self.assertNotEqual(first, second)

    def test_too_many_are_forgotten(self) -> None:
        self.patch(events, "MOST_KEPT", 3)
        numbers = [self.append() for _ in range(5)]
        self.do(events.prune, NOW)
        found = [each.seq for each in self.do(events.after, 0)]
        self.assertEqual(found, numbers[-3:])

    def test_bounds(self) -> None:
        room = events.DATA - len('{"a":""}')
        self.do(events.append, "k", None, "s", {"a": "x" * room}, NOW)
        over: dict[str, object] = {"a": "x" * (room + 1)}
        self.refused("too-large", events.append, "k", None, "s", over, NOW)
        self.refused("invalid-message", events.append, "a b", None, "s", {}, NOW)
        self.refused("invalid-message", events.append, "k", None, "a b", {}, NOW)
        for limit in (0, 1001):
            self.refused("invalid-message", events.after, 0, limit=limit)


class ProcessBehaviour(Stores):
    def test_beats(self) -> None:
        """One that is gone is forgotten only while its beat stands still."""
        for _ in range(3):
            self.do(processes.beat, "p1", NOW)
        self.do(processes.beat, "p2", NOW)
        self.assertEqual(self.do(processes.beats), {"p1": 2, "p2": 0})
        self.assertFalse(self.do(processes.forget, "p1", 1))
        self.assertTrue(self.do(processes.forget, "p1", 2))
        self.assertEqual(self.do(processes.beats), {"p2": 0})

    def test_settings(self) -> None:
        self.assertIsNone(self.do(settings.get, "a"))
        self.do(settings.put, "a", {"b": [1]})
        self.do(settings.put, "a", [2])
        self.assertEqual(self.do(settings.get, "a"), [2])


class SQLiteMachineTests(OverSQLite, MachineBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteImageTests(OverSQLite, ImageBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteSecretTests(OverSQLite, SecretBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteOperatorTests(OverSQLite, OperatorBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteEventTests(OverSQLite, EventBehaviour, SynchronousTestCase):
    """Over SQLite."""


class SQLiteProcessTests(OverSQLite, ProcessBehaviour, SynchronousTestCase):
    """Over SQLite."""
