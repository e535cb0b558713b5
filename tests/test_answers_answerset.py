"""Tests for ``rescriptum.answers.answerset`` and ``rescriptum.answers.groups``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.documents import Folder, Kind, Listing, Place
from rescriptum.values import Problem

from .answersets import Files, answer_set, asked, listing

MAC = "52-54-00-00-00-01"


def problems(files: Files) -> list[str]:
    return [str(each) for each in answer_set(files).problems]


class ProblemsTests(SynchronousTestCase):
    def test_a_sound_set_has_none(self) -> None:
        files = {
            f"{MAC}/a.toml": 'extends = "r640"\n[global]\nfqdn = "a.example.com"\n',
            "groups/r640/a.toml": 'extends = "dell"\n[global]\nkeyboard = "de"\n',
            "groups/dell/a.toml": "[global]\n",
            "default/a.toml": 'extends = "dell"\n',
        }
        self.assertEqual(problems(files), [])

    def test_a_cycle(self) -> None:
        """Every group that stands on it says so, and which way it goes round."""
        files = {
            "groups/a/x.toml": 'extends = "b"\n',
            "groups/b/x.toml": 'extends = "a"\n',
            "groups/c/x.toml": 'extends = "a"\n',
            "groups/d/x.toml": 'extends = "d"\n',
        }
        found = problems(files)
        self.assertEqual(len(found), 4)
        self.assertEqual(
            found[0],
            "groups/a/x.toml: stands on groups/b/x.toml, which is broken: "
            "extends goes round: a -> b -> a",
        )
        self.assertIn("groups/d/x.toml: extends goes round: d -> d", found)

    def test_a_parent_that_is_not_there(self) -> None:
        """Nothing of that name; another spelling; the name in another format."""
        files = {
            "groups/a/x.toml": 'extends = "none"\n',
            "groups/b/x.toml": 'extends = "BASE"\n',
            "groups/c/x.toml": 'extends = "text"\n',
            "groups/base/x.toml": "a = 1\n",
            "groups/text/x.ks": "text\n",
            f"{MAC}/x.toml": 'extends = "nobody"\n',
            "default/x.ks": "# answer: extends base\n",
        }
        self.assertEqual(
            problems(files),
            [
                "groups/a/x.toml: extends none, which is no group",
                "groups/b/x.toml: extends BASE, which is no group; base is",
                "groups/c/x.toml: extends text, which has no toml document, only ks",
                "default/x.ks: extends base, which has no ks document, only toml",
                f"{MAC}/x.toml: extends nobody, which is no group",
            ],
        )

    def test_a_broken_parent(self) -> None:
        """It is a problem once for itself, and once for each group that stands on it."""
        found = problems({"groups/a/x.toml": 'extends = "b"\n', "groups/b/x.toml": "a =\n"})
        self.assertEqual(len(found), 2)
        self.assertTrue(found[0].startswith("groups/b/x.toml: "), found[0])
        self.assertIn("groups/a/x.toml: stands on groups/b/x.toml, which is broken", found[1])

    def test_names_that_mislead(self) -> None:
        """
        Two spellings of one machine, a word of every URL, a name of nothing, a name no log can
        show: each is a problem.
        """
        names = ("525400000001", "52:54:00:00:00:01", "debian", "---", "bad\nname1")
        answers = answer_set({f"{name}/x.ks": "text\n" for name in names})
        self.assertEqual(
            {each.source: each.text.partition(":")[0] for each in answers.problems},
            {
                "52:54:00:00:00:01": "names the same machine as 525400000001",
                "debian": "claims every request with that word in its path; for all machines "
                "there is default/",
                "---": "never claims a request by its name, which has no ASCII letter or digit",
                "'bad\\nname1'": "never claims a request",
            },
        )
        self.assertEqual(answers.index.claims(["badname1"]), ())

    def test_a_name_that_claims_nothing_and_a_match(self) -> None:
        """One that people read claims by its facts; one that no log can show by nothing."""
        text = "# answer: match serial=x\n"
        answers = answer_set({f"{name}/x.ks": text for name in ("机架", "bad\nname1")})
        self.assertEqual([name for name, _ in answers.selecting["ks"]], ["机架"])

    def test_two_byte_orders_of_one_uuid(self) -> None:
        """W078: they name one machine."""
        names = ("4c4c4544-0050-4810-8033-b2c04f4d3132", "44454c4c-5000-1048-8033-b2c04f4d3132")
        self.assertEqual(
            problems({f"{name}/x.ks": "text\n" for name in names}),
            [f"{names[0]}: names the same machine as {names[1]}"],
        )


class DisarmedTests(SynchronousTestCase):
    def test_what_is_disarmed_never_claims(self) -> None:
        """It is listed, and no request gets it, however it is spelt."""
        answers = answer_set({"installed-web-0001/boot.ipxe": "x", "default/boot.ipxe": "d"})
        self.assertIn("installed-web-0001", answers.machines)
        self.assertEqual(asked(answers, "/ipxe/installed-web-0001").body, b"d")
        self.assertEqual(asked(answers, "/ipxe/installedweb0001").body, b"d")

    def test_it_is_no_twin_of_the_machine_that_is_armed(self) -> None:
        files = {f"{MAC}/boot.ipxe": "x", f"installed-{MAC}/boot.ipxe": "y"}
        self.assertEqual(problems(files), [])


#: Few names and few contents, so that sets differ a little and things do clash.
_names = st.sampled_from(
    [
        *("m1", "machine-1", "machine1", "MACHINE-1", "debian", "---", "installed-machine-1"),
        *("groups/a", "groups/b", "groups/c", "default"),
    ]
)
_contents = st.sampled_from(
    [
        *(
            "",
            "{{",
            "# answer: extends a\n",
            "# answer: extends b\n",
            "# answer: member machine1\n",
        ),
        *("# answer: match serial=x*\n", "# answer: extends c\n# answer: member m1\n"),
        "# answer: match serial\n",
    ]
)
_files = st.dictionaries(
    st.tuples(_names, st.sampled_from(["x.ks", "y.ks", "x.cfg"])).map("/".join), _contents
)


class IncrementalTests(SynchronousTestCase):
    @settings(max_examples=300, deadline=None)
    @given(st.lists(_files, min_size=1, max_size=4))
    def test_a_changed_set_is_the_set_of_what_is_there(self, steps: list[Files]) -> None:
        """Step by step it says the same as made anew: problems, claims, groups, everything."""
        answers: AnswerSet | None = None
        folders: dict[Place, Folder] = {}
        last: Files = {}
        for files in steps:
            fresh = listing(files).folders
            kept = {
                place: folders[place]
                for place in fresh
                if place in folders and _within(files, place) == _within(last, place)
            }
            folders, last = {**fresh, **kept}, files
            answers = AnswerSet.of(Listing(folders), answers)
        anew = answer_set(last)
        assert answers is not None
        self.assertEqual(answers.problems, anew.problems)
        self.assertEqual(answers.machines.keys(), anew.machines.keys())
        for target in ("/machine-1", "/m1/x", "/debian", "/ks?serial=x1", "/cfg/machine-1"):
            self.assertEqual(_outcome(answers, target), _outcome(anew, target))

    def test_what_has_not_changed_is_not_made_again(self) -> None:
        """One machine among many: the groups are the same object."""
        before = listing({"groups/a/x.ks": "0", "m1/x.ks": "1", "m2/x.ks": "2"})
        answers = AnswerSet.of(before)
        changed = listing({"m1/x.ks": "3"}).folders
        after = AnswerSet.of(Listing({**before.folders, **changed}), answers)
        self.assertIs(after.groups, answers.groups)
        place = Place(Kind.MACHINE, "m1")
        self.assertIs(after.machines["m1"], changed[place])
        self.assertEqual(after.problems, ())

    def test_what_stands_on_a_group_is_looked_at_when_that_changes(self) -> None:
        """The machine's own directory did not: its problem comes and goes all the same."""
        machine = listing({"m1/x.ks": "# answer: extends a\n", "m2/x.ks": "0\n"}).folders
        group = listing({"groups/a/x.ks": "1\n"}).folders
        answers = AnswerSet.of(Listing({**machine, **group}))
        self.assertEqual(answers.problems, ())
        answers = AnswerSet.of(Listing(machine), answers)
        [problem] = answers.problems
        self.assertEqual(str(problem), "m1/x.ks: extends a, which is no group")
        other = listing({"m2/x.ks": "2\n"}).folders
        answers = AnswerSet.of(Listing({**machine, **other}), answers)
        self.assertEqual(answers.problems, (problem,))
        answers = AnswerSet.of(Listing({**machine, **other, **group}), answers)
        self.assertEqual(answers.problems, ())

    def test_a_problem_of_the_store_comes_first(self) -> None:
        problem = Problem("/srv/answers", "no such directory")
        self.assertEqual(AnswerSet.of(Listing(problems=(problem,))).problems, (problem,))


def _within(files: Files, place: Place) -> list[tuple[str, bytes | str]]:
    return sorted(each for each in files.items() if each[0].rpartition("/")[0] == str(place))


def _outcome(answers: AnswerSet, target: str) -> tuple[object, ...]:
    try:
        answer = asked(answers, target)
    except Exception as e:
        return type(e), str(e)
    return answer.body, answer.format.extension, answer.machine, answer.group
