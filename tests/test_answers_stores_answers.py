"""Tests that a set gives the same answers and problems, whichever store it is in."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.disarm import disarm
from rescriptum.answers.documents import Key, Kind, Place, format_of
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.answers.stores.store import Store
from rescriptum.errors import RescriptumError

from .answersets import asked, facts_of, place_of

if TYPE_CHECKING:
    Case = SynchronousTestCase
else:
    Case = object

MAC = "52-54-00-12-34-56"

RACK: Mapping[str, bytes] = {
    "groups/base/rhel.ks": b"# answer: members 52:54:00:00:00:01\nlang en\n",
    "groups/web/rhel.ks": b"# answer: extends base\n# answer: member web-0001\nweb {{ serial }}\n",
    "groups/dell/rhel.ks": b"# answer: match manufacturer=Dell*\ndell\n",
    "groups/broken/rhel.ks": b"# answer: extends nobody\n# answer: member broken-1\nx\n",
    "groups/hosts/proxmox.toml": b'[global]\nfqdn = "{{ machine }}"\ncountry = "de"\n',
    f"{MAC}/rhel.ks": b"# answer: extends web\nmine\n",
    f"{MAC}/proxmox.toml": b'extends = "hosts"\n[global]\ncountry = "at"\n',
    f"{MAC}/boot.ipxe": b"#!ipxe\n",
    "web-0001/boot.ipxe": b"#!ipxe\nweb\n",
    "lost-machine/rhel.ks": b"# answer: extends nobody\n",
    "bad-machine/proxmox.toml": b"a =",
    "default/debian.preseed": b'd {{ host | default("x") }}\n',
}


def key_of(name: str) -> Key:
    directory, _, file = name.rpartition("/")
    kind = format_of(file)
    assert kind is not None
    return Key(place_of(directory), kind.extension)


def outcome(answers: AnswerSet, target: str) -> str:
    """:returns: an answer and whose it is, or why there is none."""
    try:
        answer = asked(answers, target)
    except RescriptumError as e:
        return f"{e.code}: {e}"
    return f"{answer.machine or '-'} {answer.group or '-'} {answer.body.decode()}"


class AnswersTests(Case):
    """A subclass says in which store."""

    def setUp(self) -> None:
        self.store = self.opened(Path(self.mktemp()).absolute())
        for name, data in RACK.items():
            self.store.put(key_of(name), data)

    def opened(self, path: Path) -> Store:
        raise NotImplementedError

    def answers(self, previous: AnswerSet | None = None) -> AnswerSet:
        return AnswerSet.of(self.store.listing(), previous)

    def test_answers(self) -> None:
        """Groups and chains, members and matches, defaults, placeholders, and tombstones."""
        answers = self.answers()
        for target, wanted in {
            f"/rhel/{MAC}?serial=S1": f"{MAC} web lang en\nweb S1\nmine\n",
            f"/rhel/{MAC}": "unfillable: ",
            "/rhel/52:54:00:00:00:01": "- base lang en\n",
            "/rhel/x?host=web-0001&serial=S2": "- web lang en\nweb S2\n",
            "/rhel/x?manufacturer=Dell%20Inc.": "- dell dell\n",
            "/rhel/x?manufacturer=Other": "not-found: ",
            "/rhel/broken-1?manufacturer=Dell": "malformed-document: groups/broken/rhel.ks: ",
            "/rhel/lost-machine": "malformed-document: lost-machine/rhel.ks: ",
            "/proxmox/answer?x=bad-machine": "malformed-document: bad-machine/proxmox.toml: ",
            f"/ipxe/{MAC}": f"{MAC} - #!ipxe\n",
            "/debian/x": "- default d x\n",
            "/debian/x?host=h": "- default d h\n",
        }.items():
            found = outcome(answers, target)
            self.assertTrue(found.startswith(wanted), f"{target}: {found}")
            if ": " not in wanted:
                self.assertEqual(found, wanted)
        found = outcome(answers, f"/proxmox/answer?mac={MAC}")
        self.assertTrue(found.startswith(f"{MAC} hosts [global]\n"), found)
        self.assertIn(f'fqdn = "{MAC}"', found)
        self.assertIn('country = "at"', found)

    def test_problems(self) -> None:
        """Each names the file as it is called in the store, or would be in a directory."""
        self.assertEqual(
            {each.source for each in self.answers().problems},
            {"groups/broken/rhel.ks", "lost-machine/rhel.ks", "bad-machine/proxmox.toml"},
        )

    def test_a_change(self) -> None:
        """Is answered from the next listing on, and what it mends is no problem any more."""
        before = self.answers()
        self.store.put(key_of("groups/nobody/rhel.ks"), b"somebody\n")
        self.store.delete(key_of("bad-machine/proxmox.toml"))
        after = self.answers(before)
        self.assertEqual(after.problems, ())
        self.assertEqual(outcome(after, "/rhel/broken-1"), "- broken somebody\nx\n")
        self.assertIn("bad-machine", outcome(before, "/proxmox?x=bad-machine"))
        self.assertTrue(outcome(after, "/proxmox?x=bad-machine").startswith("not-found"))

    def test_installed(self) -> None:
        """What is disarmed claims nothing, and its other documents still do."""
        answers = self.answers()
        moved = disarm(self.store, answers, facts_of(f"/installed?mac={MAC}"))
        self.assertEqual([str(each) for each in moved], [f"{MAC} -> installed-{MAC}"])
        answers = self.answers(answers)
        self.assertTrue(outcome(answers, f"/ipxe/{MAC}").startswith("not-found"))
        self.assertTrue(outcome(answers, f"/rhel/{MAC}?serial=1").startswith(MAC))
        self.assertEqual(disarm(self.store, answers, facts_of(f"/installed?mac={MAC}")), ())


class FilesAnswersTests(AnswersTests, SynchronousTestCase):
    def opened(self, path: Path) -> Store:
        return AnswerDirectory(path, time.time)


class SQLiteAnswersTests(AnswersTests, SynchronousTestCase):
    def opened(self, path: Path) -> Store:
        store = SQLiteStore(path)
        self.addCleanup(store.close)
        return store


_NAMES = (
    "default/x.ks",
    "groups/a/x.ks",
    "groups/b/x.ks",
    "groups/c/x.toml",
    f"{MAC}/x.ks",
    f"{MAC}/x.toml",
    "installed-web-0001/x.ks",
    "web-0001/x.ks",
    "525400123456/x.ks",
)
_LINES = (
    "# answer: extends a",
    "# answer: extends b",
    "# answer: extends c",
    "# answer: member web-0001",
    "# answer: member 52:54:00:12:34:56",
    "# answer: match serial=S*",
    "# answer: match serial=S1 file=ks",
    "{{ serial }}",
    "{{ nowhere }}",
    "{{ oops",
    "x = 1",
    'extends = "c"',
)
_TARGETS = (
    f"/rhel/{MAC}/ks?serial=S1",
    f"/proxmox/answer?mac={MAC}",
    "/ks?host=web-0001",
    "/rhel/ks?serial=S2",
    "/",
)


class EqualityTests(SynchronousTestCase):
    def test_problems_are_told_in_one_order(self) -> None:
        """Whichever document a store comes to first, and whatever was read before."""
        toml, kickstart = Key(Place(Kind.GROUP, "c"), "toml"), Key(Place(Kind.GROUP, "a"), "ks")
        told = []
        for keys in ((toml, kickstart), (kickstart, toml)):
            store = SQLiteStore(Path(self.mktemp()).absolute())
            answers = None
            for key in keys:
                data = b'extends = "c"\n' if key is toml else b"# answer: extends a\n"
                store.put(key, data)
                answers = AnswerSet.of(store.listing(), answers)
            assert answers is not None
            told.append([each.source for each in answers.problems])
            store.close()
        self.assertEqual(told[0], told[1])
        self.assertEqual(len(told[0]), 2)

    def test_any_series_of_sets(self) -> None:
        """A directory and a database that are given the same documents are never told apart."""

        @settings(deadline=None, max_examples=40)
        @given(st.data())
        def check(data: st.DataObject) -> None:
            files = AnswerDirectory(Path(self.mktemp()).absolute(), time.time)
            database = SQLiteStore(Path(self.mktemp()).absolute())
            stores: tuple[Store, Store] = files, database
            sets: list[AnswerSet | None] = [None, None]
            held: set[str] = set()
            for _ in range(data.draw(st.integers(1, 3))):
                changes = data.draw(
                    st.dictionaries(
                        st.sampled_from(_NAMES),
                        st.one_of(st.none(), st.lists(st.sampled_from(_LINES), max_size=4)),
                        min_size=1,
                    )
                )
                for name, lines in changes.items():
                    for store in stores:
                        if lines is not None:
                            text = "".join(f"{line}\n" for line in lines)
                            store.put(key_of(name), text.encode())
                        elif name in held:
                            store.delete(key_of(name))
                    (held.discard if lines is None else held.add)(name)
                sets = [AnswerSet.of(s.listing(), old) for s, old in zip(stores, sets, strict=True)]
                one, other = sets
                assert one is not None and other is not None
                if held:
                    self.assertEqual(one.problems, other.problems)
                for target in _TARGETS:
                    self.assertEqual(outcome(one, target), outcome(other, target))
            database.close()

        check()
