"""Tests for ``rescriptum.answers.disarm``."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.disarm import Switched, arm_machine, armed, disarm, disarm_machine
from rescriptum.answers.documents import Key, Kind, Place
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.answers.stores.store import Store
from rescriptum.errors import NotFound, Refused, Unavailable

from .answersets import answer_set, facts_of

MAC = "52-54-00-12-34-56"
OTHER = "52-54-00-12-34-57"
UUID = "11223344-5566-7788-99aa-bbccddeeff00"
SWAPPED = "44332211-6655-8877-99aa-bbccddeeff00"


def machine(name: str, extension: str = "ipxe") -> Key:
    return Key(Place(Kind.MACHINE, name), extension)


class ArmedTests(SynchronousTestCase):
    """Whom a request disarms, as a decision on values."""

    def test_machines_that_the_request_names(self) -> None:
        """All of them, however they are spelt, the most specific first; nobody else."""
        answers = answer_set(
            {
                f"{MAC}/boot.ipxe": "",
                f"{OTHER}/boot.ipxe": "",
                "serial-77/x.ipxe": "",
                "R7/x.ipxe": "",
                f"{UUID}/x.ipxe": "",
            }
        )
        for target, wanted in (
            ("/?mac=52:54:00:12:34:56", (MAC,)),
            ("/?mac=52:54:00:12:34:56&serial=SERIAL77&rack=r7", (MAC, "serial-77", "R7")),
            (f"/?uuid={SWAPPED}", (UUID,)),
            ("/?rack=r77", ()),
            ("/?mac=52:54:00:12:34:58", ()),
        ):
            self.assertEqual(armed(answers, facts_of(target)), wanted, target)

    def test_bodies_name_machines_too(self) -> None:
        """Each interface that Proxmox tells of."""
        answers = answer_set({f"{MAC}/boot.ipxe": "", f"{OTHER}/boot.ipxe": ""})
        body = b'{"network-interfaces": [{"mac": "52:54:00:12:34:57"}, {"mac": "x"}]}'
        self.assertEqual(armed(answers, facts_of("/", body)), (OTHER,))

    def test_what_is_never_disarmed(self) -> None:
        """
        Other documents, groups and defaults, machines that claim only by what they match, and
        what is disarmed already.
        """
        answers = answer_set(
            {
                f"{MAC}/x.ks": "",
                "groups/g/x.ipxe": f"# answer: member {MAC}\n",
                f"groups/{MAC}/x.ipxe": "",
                "default/x.ipxe": "",
                "chosen/x.ipxe": "# answer: match mac=5254*\n",
                f"installed-{MAC}/x.ipxe": "",
            }
        )
        self.assertEqual(armed(answers, facts_of(f"/?mac={MAC}")), ())


class Stuck:
    """A store in which one document cannot be moved, ``after`` a number of tries."""

    def __init__(self, store: Store, key: Key, error: Exception, after: int = 0) -> None:
        self._store = store
        self._key = key
        self._error = error
        self._after = after
        self.listing, self.keys, self.describe = store.listing, store.keys, store.describe
        self.get, self.put, self.delete, self.close = (
            store.get,
            store.put,
            store.delete,
            store.close,
        )

    def move(self, key: Key, to: Key) -> None:
        if key == self._key and self._after == 0:
            raise self._error
        self._after -= key == self._key
        self._store.move(key, to)


class DisarmTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.store = SQLiteStore(Path(self.mktemp()).absolute())
        self.addCleanup(self.store.close)

    def put(self, **documents: bytes) -> None:
        """By the names of machines, hyphens as underscores."""
        for name, data in documents.items():
            self.store.put(machine(name.replace("_", "-")), data)

    def held(self) -> dict[str, bytes]:
        """Machines and what arms them, or did."""
        keys = self.store.keys()
        return {key.place.name: self.store.get(key) for key in keys}

    def disarm(self, target: str, store: Store | None = None) -> list[str]:
        answers = AnswerSet.of(self.store.listing())
        return [str(each) for each in disarm(store or self.store, answers, facts_of(target))]

    def test_to_a_sibling(self) -> None:
        """Its bytes as they are; repeating it is fine."""
        self.put(machine_1=b"#!ipxe\r\n\xff", machine_2=b"2")
        self.store.put(machine("machine-1", "ks"), b"stays")
        moved = self.disarm("/?id=machine1")
        self.assertEqual(moved, ["machine-1 -> installed-machine-1"])
        self.assertEqual(self.store.get(machine("installed-machine-1")), b"#!ipxe\r\n\xff")
        self.assertEqual(self.store.get(machine("machine-1", "ks")), b"stays")
        self.assertEqual(self.store.get(machine("machine-2")), b"2")
        self.assertEqual(self.disarm("/?id=machine1"), [])
        self.assertEqual(self.disarm("/?id=nobody"), [])

    def test_by_an_older_answer_set(self) -> None:
        """Somebody has disarmed it since: fine."""
        self.put(machine_1=b"1")
        answers = AnswerSet.of(self.store.listing())
        facts = facts_of("/?id=machine-1")
        self.assertEqual(len(disarm(self.store, answers, facts)), 1)
        self.assertEqual(disarm(self.store, answers, facts), ())

    def test_nothing_is_lost(self) -> None:
        """What lies where it goes is first moved to the next free sibling, each time."""
        for number in range(1, 5):
            self.put(machine_1=b"%d" % number)
            moved = self.disarm("/?id=machine-1")
        self.assertEqual(
            moved,
            [
                "installed-machine-1 -> installed-4-machine-1",
                "machine-1 -> installed-machine-1",
            ],
        )
        self.assertEqual(
            self.held(),
            {
                "installed-machine-1": b"4",
                "installed-2-machine-1": b"1",
                "installed-3-machine-1": b"2",
                "installed-4-machine-1": b"3",
            },
        )

    def test_interrupted_between_moves(self) -> None:
        """It is still armed and nothing is lost; the next try finishes it."""
        self.put(machine_1=b"new", installed_machine_1=b"old")

        store = Stuck(self.store, machine("machine-1"), Unavailable("gone"), after=1)
        with self.assertRaisesRegex(Unavailable, "machine-1 is still armed: gone"):
            self.disarm("/?id=machine-1", store)
        self.assertEqual(self.held(), {"machine-1": b"new", "installed-2-machine-1": b"old"})
        self.disarm("/?id=machine-1")
        self.assertEqual(
            self.held(), {"installed-machine-1": b"new", "installed-2-machine-1": b"old"}
        )

    def test_what_is_still_armed_is_told(self) -> None:
        """With the reason, and with what was disarmed all the same."""
        self.put(machine_1=b"1", machine_2=b"2")
        for error in (Unavailable("no space"), Refused("no space")):
            self.put(machine_2=b"2")
            store = Stuck(self.store, machine("machine-1"), error)
            with self.assertRaises(Unavailable) as caught:
                self.disarm("/?a=machine-1&b=machine-2", store)
            self.assertTrue(
                str(caught.exception).startswith("machine-1 is still armed: no space; disarmed: "),
                str(caught.exception),
            )
            self.assertEqual(self.held()["machine-1"], b"1")
            self.assertNotIn("machine-2", self.held())


class ByNameTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.store = SQLiteStore(Path(self.mktemp()).absolute())
        self.addCleanup(self.store.close)
        self.store.put(machine(MAC), b"1")
        self.store.put(machine("only-ks", "ks"), b"2")

    def names(self) -> set[str]:
        keys = self.store.keys()
        return {key.place.name for key in keys if key.extension == "ipxe"}

    def test_there_and_back(self) -> None:
        """By any spelling of the identity; what is so already is said to be."""
        for identity in (
            MAC,
            "52:54:00:12:34:56",
            "525400123456",
            "5254.0012.3456",
            f"installed-{MAC}",
        ):
            done = disarm_machine(self.store, identity)
            self.assertEqual([str(each) for each in done.moved], [f"{MAC} -> installed-{MAC}"])
            done = disarm_machine(self.store, identity)
            self.assertEqual(done, Switched((), (machine(f"installed-{MAC}"),)))
            done = arm_machine(self.store, identity)
            self.assertEqual([str(each) for each in done.moved], [f"installed-{MAC} -> {MAC}"])
            self.assertEqual(arm_machine(self.store, identity), Switched((), (machine(MAC),)))
            self.assertEqual(self.names(), {MAC})

    def test_both_byte_orders_of_a_uuid(self) -> None:
        self.store.put(machine(UUID), b"1")
        self.assertEqual(len(disarm_machine(self.store, SWAPPED).moved), 1)

    def test_armed_beside_what_was_put_away(self) -> None:
        """Arming leaves both where they are; disarming moves the old one on."""
        self.store.put(machine(f"installed-{MAC}"), b"old")
        self.assertEqual(arm_machine(self.store, MAC), Switched((), (machine(MAC),)))
        self.assertEqual(self.names(), {MAC, f"installed-{MAC}"})
        done = disarm_machine(self.store, MAC)
        self.assertEqual((len(done.moved), done.already), (2, ()))
        self.assertEqual(self.names(), {f"installed-{MAC}", f"installed-2-{MAC}"})

    def test_part_of_an_identity_names_nobody(self) -> None:
        """Requests are searched for identities; here somebody means one."""
        for identity in ("525400", "52-54-00-12-34-56-78", "", "-", "groups", "../" + MAC[:5]):
            for switch in (arm_machine, disarm_machine):
                self.assertRaises(NotFound, switch, self.store, identity)
        self.assertEqual(self.names(), {MAC})

    def test_a_name_of_no_letter_or_digit(self) -> None:
        """Such a machine claims nothing; it goes by its very name, and by nothing else."""
        self.store.put(machine("---"), b"")
        self.assertRaises(NotFound, disarm_machine, self.store, ":")
        self.assertEqual(len(disarm_machine(self.store, "---").moved), 1)

    def test_groups_are_no_machines(self) -> None:
        self.store.put(Key(Place(Kind.GROUP, "dell"), "ipxe"), b"")
        with self.assertRaisesRegex(NotFound, "no machine is called dell"):
            disarm_machine(self.store, "dell")

    def test_a_name_that_is_not_there(self) -> None:
        """Those that are like it are told, each once."""
        self.store.put(machine(f"installed-{MAC}"), b"")
        for switch in (arm_machine, disarm_machine):
            with self.assertRaises(NotFound) as caught:
                switch(self.store, "52:54:00:12:34:57")
            text = f"no machine is called 52:54:00:12:34:57, there is {MAC}"
            self.assertEqual(str(caught.exception), text)
            with self.assertRaisesRegex(NotFound, "called zzz, nor anything like it"):
                switch(self.store, "zzz")

    def test_nothing_to_move(self) -> None:
        """A machine whose own documents are others: a group arms it, or nothing does."""
        with self.assertRaisesRegex(NotFound, "only-ks has no ipxe document of its own"):
            disarm_machine(self.store, "only-ks")
        with self.assertRaisesRegex(NotFound, "only-ks has no ipxe document, neither"):
            arm_machine(self.store, "only-ks")
