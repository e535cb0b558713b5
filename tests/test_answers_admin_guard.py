"""Tests for ``rescriptum.answers.admin``: the guard, and what is named and told."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.admin.guard import Change, Conflict, Stale, appeared, perform, with_change
from rescriptum.answers.admin.keys import KINDS, facts_of, key_of
from rescriptum.answers.admin.told import composition
from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.documents import Document, Folder, Key, Kind, Listing, Place
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.answers.resolution import Answer
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.errors import MalformedRequest, NotFound, RescriptumError
from rescriptum.values import Problem

KS = BY_EXTENSION["ks"]
PLACE = Place(Kind.MACHINE, "m-000001")
KEY = Key(PLACE, "ks")


def document(source: str, data: bytes = b"text\n", extension: str = "ks") -> Document:
    return Document.of(source, BY_EXTENSION[extension], data)


def listing(*documents: Document) -> Listing:
    return Listing({PLACE: Folder(PLACE, documents)}, (Problem("store", "odd"),))


class WithChangeTests(SynchronousTestCase):
    def after(self, before: Listing, data: bytes | None) -> list[tuple[str, bytes]]:
        """:returns: what is in the one folder afterwards, in order."""
        new = document(str(KEY), data) if data is not None else None
        after = with_change(before, Change(KEY, new))
        self.assertEqual(after.problems, before.problems)
        folder = after.folders.get(PLACE)
        return [(each.source, each.data) for each in folder.found] if folder else []

    def test_a_document_that_is_there_keeps_its_name(self) -> None:
        before = listing(document("m-000001/a.cfg", extension="cfg"), document("m-000001/mine.ks"))
        self.assertEqual(
            self.after(before, b"new"),
            [("m-000001/a.cfg", b"text\n"), ("m-000001/mine.ks", b"new")],
        )

    def test_a_new_one_gets_its_formats(self) -> None:
        """In the order of the names, in a directory that may be new too."""
        before = listing(document("m-000001/z.cfg", extension="cfg"))
        self.assertEqual(
            [source for source, _ in self.after(before, b"new")],
            ["m-000001/rhel.ks", "m-000001/z.cfg"],
        )
        self.assertEqual(self.after(Listing(), b"new"), [("m-000001/rhel.ks", b"new")])

    def test_of_two_of_one_extension_the_first_is_meant(self) -> None:
        """The one that counts: without it the other does."""
        before = listing(document("m-000001/a.ks", b"1"), document("m-000001/b.ks", b"2"))
        self.assertEqual(
            self.after(before, b"new"), [("m-000001/a.ks", b"new"), ("m-000001/b.ks", b"2")]
        )
        self.assertEqual(self.after(before, None), [("m-000001/b.ks", b"2")])

    def test_the_last_document_takes_its_directory_along(self) -> None:
        before = listing(document("m-000001/a.ks"))
        self.assertEqual(self.after(before, None), [])
        self.assertEqual(before.folders[PLACE].found[0].source, "m-000001/a.ks")

    def test_what_else_there_is_stays_the_same_object(self) -> None:
        """A hundred thousand machines are not looked at again because of one."""
        other = Folder(Place(Kind.GROUP, "g"), (document("groups/g/a.ks"),))
        before = Listing({other.place: other})
        after = with_change(before, Change(KEY, document(str(KEY))))
        self.assertIs(after.folders[other.place], other)


class PerformTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.store = SQLiteStore(Path(self.mktemp()))
        self.known = AnswerSet.of(Listing())

    def perform(self, key: Key, data: bytes | None, holds: bool = True) -> None:
        new = Document.of(str(key), key.format, data) if data is not None else None
        self.seen: bytes | None = b"nothing"

        def condition(held: bytes | None) -> bool:
            self.seen = held
            return holds

        perform(self.store, self.known, Change(key, new), condition)

    def test_the_condition_sees_what_is_there_now(self) -> None:
        """However old the set is that the change was made from."""
        self.perform(KEY, b"one\n")
        self.assertIsNone(self.seen)
        self.assertRaises(Stale, self.perform, KEY, b"two\n", False)
        self.assertEqual((self.seen, self.store.get(KEY)), (b"one\n", b"one\n"))
        self.assertRaises(Stale, self.perform, KEY, None, False)
        self.assertEqual(self.store.get(KEY), b"one\n")

    def test_nothing_cannot_be_removed(self) -> None:
        self.assertRaises(NotFound, self.perform, KEY, None)

    def test_says_how_many_problems_there_would_be(self) -> None:
        for at in range(3):
            key = Key(Place(Kind.MACHINE, f"m-00000{at}"), "ks")
            self.perform(Key(Place(Kind.GROUP, "g"), "ks"), b"one\n")
            self.perform(key, b"# answer: extends g\n")
        error = self.assertRaises(Conflict, self.perform, Key(Place(Kind.GROUP, "g"), "ks"), None)
        self.assertEqual(len(error.problems), 3)
        self.assertIn("m-000000/rhel.ks: extends g, which is no group, and 2 more", str(error))


_NAMES = st.sampled_from(["a-000001", "b-000002", "A000001"])
_PLACES = st.one_of(
    st.builds(Place, st.just(Kind.MACHINE), _NAMES),
    st.builds(Place, st.just(Kind.GROUP), _NAMES),
    st.just(Place(Kind.DEFAULT)),
)
_LINES = st.sampled_from(
    [
        "text",
        "{{ mac }}",
        "{{ broken",
        "# answer: extends a-000001",
        "# answer: extends b-000002",
        "# answer: member a-000001",
        "# answer: match serial=x",
        "# answer: extends",
    ]
)
_CHANGES = st.tuples(
    _PLACES,
    st.sampled_from(["ks", "cfg"]),
    st.none() | st.lists(_LINES, min_size=1, max_size=3).map(lambda each: "\n".join(each).encode()),
)


class GuardLawTests(SynchronousTestCase):
    @settings(max_examples=60, deadline=None)
    @given(st.lists(_CHANGES, max_size=12))
    def test_no_change_makes_anything_wrong(
        self, changes: list[tuple[Place, str, bytes | None]]
    ) -> None:
        """And what the guard foresaw is what the store holds."""
        store = SQLiteStore(Path(self.mktemp()))
        known = AnswerSet.of(store.listing())
        for place, extension, data in changes:
            key = Key(place, extension)
            new = Document.of(str(key), key.format, data) if data is not None else None
            foreseen = with_change(store.listing(), Change(key, new))
            before = AnswerSet.of(store.listing())
            try:
                perform(store, known, Change(key, new), lambda held: True)
            except RescriptumError as e:
                self.assertIsInstance(e, Conflict | NotFound)
                self.assertEqual(_held(store.listing()), _held(before.listing))
                continue
            after = AnswerSet.of(store.listing())
            self.assertEqual(appeared(before, after), ())
            self.assertEqual(_held(after.listing), _held(foreseen))


def _held(listing: Listing) -> dict[Key, bytes]:
    return {
        Key(place, extension): each.data
        for place, folder in listing.folders.items()
        for extension, each in folder.documents.items()
    }


class ToldTests(SynchronousTestCase):
    def test_whose_answer_it_is_in_what_a_header_can_carry(self) -> None:
        """Directories can be called anything."""
        answer = Answer(b"", KS, "caf\xe9\r\n\udcff", "rack-4")
        self.assertEqual(composition(answer), r"format=text machine=caf\xe9\r\n\udcff group=rack-4")


class KeyTests(SynchronousTestCase):
    def test_which_document(self) -> None:
        self.assertEqual(key_of("machines", "m", ()), Key(Place(Kind.MACHINE, "m"), "toml"))
        self.assertEqual(
            key_of("groups", "default", [("format", "KS")]), Key(Place(Kind.GROUP, "default"), "ks")
        )
        self.assertEqual(key_of("default", "", ()), Key(Place(Kind.DEFAULT), "toml"))

    @settings(max_examples=300, deadline=None)
    @given(
        st.sampled_from(list(KINDS)),
        st.text(),
        st.lists(st.tuples(st.sampled_from(["format", "x"]), st.text()), max_size=2),
    )
    def test_any_request_is_a_document_or_a_mistake(
        self, kind: str, name: str, query: list[tuple[str, str]]
    ) -> None:
        """No name that could leave its directory becomes a place."""
        try:
            key = key_of(kind, name, query)
        except MalformedRequest as e:
            self.assertTrue("want" in str(e) or "no machine" in str(e))
        else:
            self.assertNotIn("/", key.place.name)
            self.assertFalse(key.place.name.startswith("."))
            self.assertIn(key.extension, BY_EXTENSION)

    def test_whose_answer(self) -> None:
        facts = facts_of("m", [("path", "//ks/./x?y"), ("path", "/z"), ("peer", "192.0.2.1")])
        self.assertEqual((facts.segments, facts.peer, facts.raw), (("ks", "x"), "192.0.2.1", b"m"))
        facts = facts_of("m", [("mac", "1"), ("mac", "2"), ("path", "ks")])
        self.assertEqual((facts.segments, facts.query), (("ks",), (("mac", "1"), ("mac", "2"))))
        self.assertEqual(facts.raw, b"")

    @settings(max_examples=200, deadline=None)
    @given(st.text(), st.lists(st.tuples(st.text() | st.just("path"), st.text()), max_size=4))
    def test_any_query_is_facts(self, identity: str, query: list[tuple[str, str]]) -> None:
        self.assertIsInstance(facts_of(identity, query).values, tuple)
