"""Tests that hold every store of answers to the same behaviour."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import MAX_DOCUMENT, Document, Key, Kind, Place
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.answers.stores.store import Store
from rescriptum.errors import NotFound, Refused

if TYPE_CHECKING:
    Case = SynchronousTestCase
else:
    Case = object

MAC = "52-54-00-12-34-56"


def machine(name: str, extension: str) -> Key:
    return Key(Place.checked(Kind.MACHINE, name), extension)


def group(name: str, extension: str) -> Key:
    return Key(Place.checked(Kind.GROUP, name), extension)


def default(extension: str) -> Key:
    return Key(Place.checked(Kind.DEFAULT), extension)


def held(store: Store) -> dict[Key, bytes]:
    """:returns: what the listing shows."""
    return {
        Key(place, extension): document.data
        for place, folder in store.listing().folders.items()
        for extension, document in folder.documents.items()
    }


def documents(store: Store) -> dict[Key, Document]:
    """:returns: the listing's own objects."""
    return {
        Key(place, extension): document
        for place, folder in store.listing().folders.items()
        for extension, document in folder.documents.items()
    }


class StoreTests(Case):
    """
    What is said of :class:`rescriptum.answers.stores.store.Store`; a subclass says of which.

    ``store`` is one program's, ``other`` another's over the same documents.
    """

    store: Store
    other: Store

    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.store, self.other = self.opened(self.path), self.opened(self.path)

    def opened(self, path: Path) -> Store:
        raise NotImplementedError

    def put(self, documents: Mapping[Key, bytes]) -> None:
        for key, data in documents.items():
            self.store.put(key, data)

    def test_nothing_there(self) -> None:
        """An empty set that says why nobody gets an answer; nothing is made by asking."""
        self.assertEqual(self.store.listing().folders, {})
        [problem] = self.store.listing().problems
        self.assertEqual(problem.source, str(self.path))
        self.assertIn("no machine gets an answer", problem.text)
        self.assertIs(self.store.listing(), self.store.listing())
        self.assertEqual(self.store.keys(), [])
        self.assertFalse(self.path.exists())
        for ask in (self.store.get, self.store.delete):
            self.assertRaises(NotFound, ask, machine(MAC, "toml"))
        self.assertRaises(NotFound, self.store.move, machine(MAC, "ks"), machine("m2", "ks"))
        self.store.put(machine(MAC, "toml"), b"")
        self.assertEqual(self.store.listing().problems, ())

    def test_bytes_come_back_as_they_were_put(self) -> None:
        """Line ends, a byte order mark, what is no UTF-8, nothing at all, and the largest."""
        for data in (
            b"a = 1\r\n# b\r\n",
            b"\xef\xbb\xbfa = 1\n",
            b"\xff\xfe\x00 no text",
            b"",
            b"no line end",
            b"x" * MAX_DOCUMENT,
        ):
            self.store.put(machine(MAC, "cfg"), data)
            self.assertEqual(self.store.get(machine(MAC, "cfg")), data)
            self.assertEqual(held(self.other), {machine(MAC, "cfg"): data})

    def test_every_format_is_another_document(self) -> None:
        """Of every kind of place; keys come in order, named as their files would be."""
        wanted = {
            Key(place, extension): f"{place} {extension}".encode()
            for place in (
                Place(Kind.MACHINE, MAC),
                Place(Kind.MACHINE, "a"),
                Place(Kind.GROUP, "a"),
                Place(Kind.GROUP, "default"),
                Place(Kind.DEFAULT),
            )
            for extension in BY_EXTENSION
        }
        self.put(wanted)
        self.assertEqual(held(self.store), wanted)
        self.assertEqual(self.store.keys(), sorted(wanted))
        self.assertEqual({key: self.store.get(key) for key in wanted}, wanted)
        for key, document in documents(self.store).items():
            self.assertEqual((document.source, document.format), (str(key), key.format))
        self.assertEqual(group("dell", "toml").__str__(), "groups/dell/proxmox.toml")

    def test_names_that_are_no_paths(self) -> None:
        """Are refused before anything is written: nobody needs to have asked before."""
        for place in (
            Place(Kind.MACHINE, ""),
            Place(Kind.MACHINE, ".."),
            Place(Kind.MACHINE, "../etc"),
            Place(Kind.MACHINE, "a/b"),
            Place(Kind.MACHINE, "a\0"),
            Place(Kind.MACHINE, "ü"),
            Place(Kind.MACHINE, ".hidden"),
            Place(Kind.MACHINE, "x" * 201),
            Place(Kind.MACHINE, "Groups"),
            Place(Kind.MACHINE, "DEFAULT"),
            Place(Kind.GROUP, "a/../../b"),
            Place(Kind.GROUP, ""),
        ):
            self.assertRaises(Refused, self.store.put, Key(place, "ks"), b"x")
            self.store.put(machine("m1", "ks"), b"1")
            self.assertRaises(Refused, self.store.move, machine("m1", "ks"), Key(place, "ks"))
            self.assertEqual(held(self.other), {machine("m1", "ks"): b"1"})

    def test_documents_are_bounded(self) -> None:
        """One byte more than 1 MiB is refused, and what was there still is."""
        self.store.put(machine(MAC, "ks"), b"old")
        text = "larger than 1048576 bytes"
        with self.assertRaisesRegex(Refused, f"{MAC}/rhel.ks: {text}"):
            self.store.put(machine(MAC, "ks"), b"x" * (MAX_DOCUMENT + 1))
        self.assertEqual(self.store.get(machine(MAC, "ks")), b"old")

    def test_what_is_broken_is_kept(self) -> None:
        """A store judges no document: it says what is wrong with one and gives its bytes."""
        self.put({machine(MAC, "ks"): b"{{ oops", machine(MAC, "ipxe"): b"fine"})
        found = documents(self.store)
        self.assertNotEqual(found[machine(MAC, "ks")].error, "")
        self.assertEqual(self.store.get(machine(MAC, "ks")), b"{{ oops")
        [problem] = self.store.listing().folders[Place(Kind.MACHINE, MAC)].problems
        self.assertEqual(problem.source, f"{MAC}/rhel.ks")

    def test_the_same_listing_while_nothing_changes(self) -> None:
        """The very object, however often it is asked for, and by whom."""
        self.put({machine("m1", "ks"): b"1", machine("m2", "ks"): b"2"})
        first = self.store.listing()
        self.other.listing()
        self.assertIs(self.store.listing(), first)

    def test_what_has_not_changed_is_the_same_object(self) -> None:
        """Folders that a change does not touch, and documents beside the one that it does."""
        self.put({machine("m1", "ks"): b"1", machine("m1", "ipxe"): b"2", group("g", "ks"): b"3"})
        before, first = self.store.listing(), documents(self.store)
        for store, data in ((self.store, b"4"), (self.other, b"5")):
            store.put(machine("m1", "ks"), data)
            after, second = self.store.listing(), documents(self.store)
            self.assertIsNot(after, before)
            same, other = Place(Kind.GROUP, "g"), Place(Kind.MACHINE, "m1")
            self.assertIs(after.folders[same], before.folders[same])
            self.assertIsNot(after.folders[other], before.folders[other])
            self.assertIs(second[machine("m1", "ipxe")], first[machine("m1", "ipxe")])
            self.assertEqual(second[machine("m1", "ks")].data, data)
            before, first = after, second

    def test_a_replaced_document_keeps_its_name(self) -> None:
        self.store.put(machine(MAC, "toml"), b"a = 1")
        [first] = documents(self.store).values()
        self.store.put(machine(MAC, "toml"), b"a = 2")
        [second] = documents(self.store).values()
        self.assertEqual(second.source, first.source)

    def test_delete(self) -> None:
        """One document goes, once; with its last one the machine is gone."""
        self.put({machine("m1", "ks"): b"1", machine("m1", "ipxe"): b"2", machine("m2", "ks"): b""})
        self.store.delete(machine("m1", "ks"))
        self.assertRaises(NotFound, self.store.get, machine("m1", "ks"))
        self.assertRaises(NotFound, self.store.delete, machine("m1", "ks"))
        self.assertEqual(held(self.store), {machine("m1", "ipxe"): b"2", machine("m2", "ks"): b""})
        self.store.delete(machine("m1", "ipxe"))
        self.assertEqual(list(self.store.listing().folders), [Place(Kind.MACHINE, "m2")])
        self.assertEqual(self.store.keys(), [machine("m2", "ks")])
        self.assertEqual(held(self.other), {machine("m2", "ks"): b""})

    def test_move(self) -> None:
        """To any place, its bytes as they are; over another document never."""
        self.put({machine("m1", "ks"): b"\xff1", machine("m2", "ks"): b"2"})
        self.store.move(machine("m1", "ks"), group("m1", "ks"))
        wanted = {group("m1", "ks"): b"\xff1", machine("m2", "ks"): b"2"}
        self.assertEqual(held(self.store), wanted)
        for key, to, error in (
            (machine("m2", "ks"), group("m1", "ks"), Refused),
            (machine("m2", "ks"), machine("m2", "ks"), Refused),
            (machine("m1", "ks"), machine("m3", "ks"), NotFound),
            (machine("m2", "ipxe"), machine("m3", "ipxe"), NotFound),
        ):
            self.assertRaises(error, self.store.move, key, to)
        self.assertEqual(held(self.store), wanted)
        self.store.move(group("m1", "ks"), machine("m1", "ks"))
        self.store.move(machine("m1", "ks"), default("ks"))
        self.assertEqual(held(self.other), {default("ks"): b"\xff1", machine("m2", "ks"): b"2"})

    def test_what_another_program_does_is_seen(self) -> None:
        """Its first document, a changed one, a moved one, and one that is gone."""
        self.assertEqual(held(self.store), {})
        self.other.put(machine("m1", "ks"), b"1")
        self.assertEqual(held(self.store), {machine("m1", "ks"): b"1"})
        self.other.put(machine("m1", "ks"), b"22")
        self.assertEqual(held(self.store), {machine("m1", "ks"): b"22"})
        self.other.move(machine("m1", "ks"), machine("m2", "ks"))
        self.assertEqual(held(self.store), {machine("m2", "ks"): b"22"})
        self.other.put(machine("m3", "ks"), b"3")
        self.other.delete(machine("m2", "ks"))
        self.assertEqual(held(self.store), {machine("m3", "ks"): b"3"})
        self.other.delete(machine("m3", "ks"))
        self.assertEqual(held(self.store), {})

    def test_closed_and_asked_again(self) -> None:
        """It is opened again; what was made of it before may still be the same."""
        self.store.close()
        self.put({machine("m1", "ks"): b"1"})
        self.assertEqual(held(self.store), {machine("m1", "ks"): b"1"})
        self.store.close()
        self.store.close()
        self.other.put(machine("m1", "ks"), b"2")
        self.assertEqual(held(self.store), {machine("m1", "ks"): b"2"})

    def test_what_two_programs_do_at_once(self) -> None:
        """One deletes what the other writes again, and that one something else."""
        self.put({machine("m1", "ks"): b"1", machine("m2", "ks"): b"2"})
        self.store.listing()
        self.store.delete(machine("m1", "ks"))
        self.other.put(machine("m1", "ks"), b"3")
        self.other.delete(machine("m2", "ks"))
        wanted = {machine("m1", "ks"): b"3"}
        self.assertEqual((held(self.store), held(self.other)), (wanted, wanted))

    def test_any_series_of_changes(self) -> None:
        """Two programs that write and read in any order see what a mapping would hold."""

        @settings(deadline=None, max_examples=50)
        @given(st.data())
        def check(data: st.DataObject) -> None:
            path = Path(self.mktemp()).absolute()
            self._change((self.opened(path), self.opened(path)), data)

        check()

    def _change(self, stores: tuple[Store, Store], data: st.DataObject) -> None:
        model: dict[Key, bytes] = {}
        keys = [machine("a", "ks"), machine("a", "ipxe"), machine("b", "ks"), group("a", "ks")]
        for _ in range(data.draw(st.integers(1, 12))):
            store = stores[data.draw(st.integers(0, 1))]
            key = data.draw(st.sampled_from(keys))
            action = data.draw(st.sampled_from(["put", "delete", "move", "list"]))
            if action == "put":
                model[key] = data.draw(st.binary(max_size=3))
                store.put(key, model[key])
            elif action == "delete" and key in model:
                del model[key]
                store.delete(key)
            elif action == "move" and key in model:
                to = data.draw(st.sampled_from(keys))
                if to in model:
                    self.assertRaises(Refused, store.move, key, to)
                else:
                    model[to] = model.pop(key)
                    store.move(key, to)
            else:
                self.assertEqual(held(store), model)
        for store in stores:
            self.assertEqual(held(store), model)
            self.assertEqual(store.keys(), sorted(model))


class SQLiteStoreTests(StoreTests, SynchronousTestCase):
    def opened(self, path: Path) -> Store:
        store = SQLiteStore(path)
        self.addCleanup(store.close)
        return store


class AnswerDirectoryTests(StoreTests, SynchronousTestCase):
    def opened(self, path: Path) -> Store:
        # Hours from now: what was written a moment ago has been left alone for long.
        return AnswerDirectory(path, lambda: time.time() + 3600)
