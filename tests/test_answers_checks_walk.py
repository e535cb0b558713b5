"""Tests for ``rescriptum.answers.checks``: which requests are tried, and what is told of them."""

import json
from collections.abc import Mapping, Sequence

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.checks import survey
from rescriptum.answers.checks.finding import Checked, Severity
from rescriptum.answers.checks.report import Report
from rescriptum.answers.checks.result import Result
from rescriptum.answers.checks.table import CHECKS
from rescriptum.answers.checks.trials import Given, alias_of, aliases, trials
from rescriptum.answers.checks.walk import Walk
from rescriptum.answers.documents import Document, Folder, Kind, Listing, Place, format_of
from rescriptum.answers.facts import Facts
from rescriptum.answers.formats.table import BY_EXTENSION, FORMATS, accepted

IPXE = "#!ipxe\nexit\n"
KS = "lang x\nkeyboard x\ntimezone x\nrootpw x\nautopart\n"
MAC = "52-54-00-00-00-01"


def answer_set(files: Mapping[str, str]) -> AnswerSet:
    """:param files: below the set's directory."""
    found: dict[Place, list[Document]] = {}
    for name, text in files.items():
        *directories, file = name.split("/")
        place = Place(Kind.MACHINE, directories[-1])
        if directories[0] == "groups":
            place = Place(Kind.GROUP, directories[-1])
        elif directories[0] == "default":
            place = Place(Kind.DEFAULT)
        kind = format_of(file)
        assert kind is not None
        found.setdefault(place, []).append(Document.of(name, kind, text.encode()))
    return AnswerSet.of(Listing({place: Folder(place, tuple(d)) for place, d in found.items()}))


def report(files: Mapping[str, str], given: Sequence[Given] = ()) -> Report:
    """What ``rescriptum check`` does, without a store and tools."""
    answers = answer_set(files)
    found = Report("files:x", len(answers.groups.chains), len(answers.machines))
    found.add(survey.loaded(answers)).add(survey.identities(answers))
    walk = Walk(answers)
    for trial in trials(answers, given):
        tried = walk.attempt(trial)
        found.add(tried.results)
        if tried.rendered is not None:
            found.count(tried.rendered)
    return found.add(survey.groups(answers, walk.reached)).add(survey.given(walk.given))


def told(files: Mapping[str, str], *given: Given) -> list[str]:
    return [str(each) for each in report(files, given).entries]


class TrialTests(SynchronousTestCase):
    def test_every_format_is_asked_for_by_its_own_word(self) -> None:
        """No other format comes before it, but where two spellings have the same words."""
        for extension, row in BY_EXTENSION.items():
            first = accepted((alias_of(extension),))[0]
            if extension not in ("yml", "seed", "meta-data", "vendor-data", "network-config"):
                self.assertIs(first, row)
        asked = {row.extension for alias in aliases() for row in accepted((alias,))}
        self.assertEqual(asked, {row.extension for row in FORMATS})

    def test_every_format_has_a_check_or_is_nobodys(self) -> None:
        self.assertEqual(set(BY_EXTENSION) - set(CHECKS), {"cfg"})

    def test_machines_of_every_format(self) -> None:
        """Each is rendered, and nothing is told of those that are well."""
        texts = {
            "toml": "title = 'x'\n",
            "yaml": "#cloud-config\nhostname: x\n",
            "json": "{}\n",
            "ign": '{"ignition": {"version": "3.0.0"}}\n',
            "xml": "<a/>\n",
            "autoyast": '<profile xmlns="http://www.suse.com/1.0/yast2ns"/>\n',
            "unattend": '<unattend xmlns="urn:schemas-microsoft-com:unattend"/>\n',
            "ks": KS,
            "preseed": "d-i time/zone string UTC\n",
            "cfg": "x\n",
            "ipxe": IPXE,
        }
        files = {f"{MAC}/a.{extension}": text for extension, text in texts.items()}
        files |= {
            "a1b2c3/a.yml": "#cloud-config\nhostname: x\n",
            "a1b2c3/a.seed": "d-i a/b string c\n",
        }
        found = report(files)
        self.assertEqual([str(each) for each in found.entries], [])
        self.assertEqual(sum(found.kinds.values()), len(files))
        self.assertEqual(len(files), len(FORMATS))

    def test_one_spelling_hides_the_other(self) -> None:
        """Nobody can ask for it while the first is there."""
        files = {f"{MAC}/a.yaml": "a: 1\n", f"{MAC}/a.yml": "a: 1\n"}
        self.assertEqual(
            told(files),
            [f"FAIL     {MAC}/a.yml: never served: asked for {MAC}, the answer is {MAC}/a.yaml"],
        )

    def test_parts_of_a_seed(self) -> None:
        user = "#cloud-config\nhostname: x\n"
        files = {
            f"{MAC}/a.yaml": user,
            f"{MAC}/meta-data": "local-hostname: [x]\n",
            "default/a.yaml": user,
            "default/vendor-data": "#cloud-config\nruncmd: x\n",
            "a1b2c3/network-config": "version: 2\n",
        }
        self.assertEqual(
            told(files),
            [
                f"FAIL     {MAC}/meta-data: local-hostname: want text, not a list",
                "FAIL     default/vendor-data: runcmd: want a list, not text",
            ],
        )
        del files["default/a.yaml"], files["default/vendor-data"], files[f"{MAC}/meta-data"]
        self.assertEqual(
            told(files),
            [
                "FAIL     a1b2c3/network-config: asked for a1b2c3, nothing is served: a1b2c3 has "
                "no document for it and there is no default (yaml, yml)"
            ],
        )

    def test_parts_of_a_group(self) -> None:
        """Are tried with whoever has its user-data: members, examples, what extends it."""
        files = {
            "groups/g/a.yaml": f"#cloud-config\nmembers: ['{MAC}']\nhostname: x\n",
            "groups/g/meta-data": "local-hostname: [x]\n",
            "groups/g/network-config": "extends: net\nversion: 9\n",
            "groups/net/network-config": "version: 2\n",
            "groups/h/a.yml": "#cloud-config\nmatch: {serial: x}\nexamples: [{serial: x}]\na: 1\n",
            "groups/h/vendor-data": "#cloud-config\nruncmd: x\n",
            "machine-1/a.yaml": "#cloud-config\nextends: i\nhostname: x\n",
            "groups/i/a.yaml": "#cloud-config\nhostname: x\n",
            "groups/i/meta-data": "local-hostname: '{{ group }}{{ x }}'\n",
            "groups/j/vendor-data": "#cloud-config\n",
            "groups/k/vendor-data": "#cloud-config\n",
            "groups/k/a.yaml": "#cloud-config\n",
        }
        self.assertEqual(
            told(files),
            [
                f"FAIL     groups/g/meta-data ({MAC}): local-hostname: want text, not a list",
                f"FAIL     groups/g/network-config ({MAC}): want version 1 or 2, not 9",
                "FAIL     groups/h/vendor-data (examples[1]): runcmd: want a list, not text",
                "warning  groups/j/vendor-data: nothing reaches it: no user-data beside it, and "
                "nothing extends it",
                "warning  groups/k/a.yaml: nothing reaches it: no members, no match, and nothing "
                "extends it",
                "note     groups/i/meta-data (machine-1): needs x from the request: not checked "
                "without --facts",
                "note     groups/net/network-config: reachable only through extends",
                "note     groups/i/a.yaml: reachable only through extends",
            ],
        )

    def test_parts_that_stand_on_what_is_broken(self) -> None:
        """Once."""
        files = {
            "groups/g/a.yaml": f"#cloud-config\nmembers: ['{MAC}']\nhostname: x\n",
            "groups/g/meta-data": "extends: none\n",
        }
        found = "FAIL     groups/g/meta-data"
        self.assertEqual(told(files), [f"{found} ({MAC}): extends none, which is no group"])

    def test_a_disarmed_machine_is_not_asked_for(self) -> None:
        self.assertEqual(told({f"installed-{MAC}/a.ipxe": "nonsense\n"}), [])


class GroupTests(SynchronousTestCase):
    def test_each_member_is_rendered(self) -> None:
        """What is wrong with all of them is one line."""
        members = ", ".join(f"52-54-00-00-01-{at:02}" for at in range(12))
        files = {"groups/rack/a.ks": f"# answer: member {members}\n{KS}autoprat\n"}
        self.assertEqual(
            told(files),
            [
                "warning  groups/rack/a.ks (12 machines: 52-54-00-00-01-00, 52-54-00-00-01-01, "
                "52-54-00-00-01-02 and 9 more): line 6: unknown command 'autoprat'; did you mean "
                "autopart?"
            ],
        )
        self.assertEqual(report(files).kinds, {"kickstart": 12})

    def test_machines_over_a_group(self) -> None:
        """What several of them have from their group names the group."""
        files = {"groups/rack/a.ks": KS + "autoprat\n"}
        files |= {f"{MAC[:-1]}{at}/a.ks": "# answer: extends rack\ntext\n" for at in range(2)}
        [line, note] = told(files)
        self.assertEqual(
            line,
            "warning  group rack (2 machines: 52-54-00-00-00-00, 52-54-00-00-00-01): line 6: "
            "unknown command 'autoprat'; did you mean autopart?",
        )
        self.assertEqual(note, "note     groups/rack/a.ks: reachable only through extends")

    def test_a_broken_group(self) -> None:
        """Is one problem, with those who get nothing for it."""
        files = {
            "groups/rack/a.ks": f"# answer: extends none\n# answer: member {MAC}, a1b2c3\n{KS}",
            f"{MAC}/a.ks": "text\n",
        }
        self.assertEqual(
            told(files),
            [
                f"FAIL     groups/rack/a.ks (2 machines: {MAC}, a1b2c3): extends none, which is no "
                "group"
            ],
        )

    def test_each_broken_group_has_its_own(self) -> None:
        """Even where what is wrong is the same."""
        answers = answer_set(
            {
                "groups/a/a.ks": f"# answer: extends none\n# answer: member {MAC}\n",
                "groups/b/a.ks": "# answer: extends none\n# answer: member a1b2c3\n",
            }
        )
        results = [each for t in trials(answers) for each in Walk(answers).attempt(t).results]
        self.assertEqual(
            [(each.source, each.machine) for each in results],
            [("groups/a/a.ks", MAC), ("groups/b/a.ks", "a1b2c3")],
        )

    def test_a_member_with_a_document_is_one_machine(self) -> None:
        """It is in the group's list and in the directory, and its answer is counted once."""
        files = {"groups/a/a.ks": f"# answer: member {MAC}\n{KS}", f"{MAC}/a.ks": "text\n"}
        self.assertEqual(report(files).kinds, {"kickstart": 1})

    def test_equal_answers_are_looked_at_once(self) -> None:
        looked: list[bytes] = []

        def check(data: bytes) -> Checked:
            looked.append(data)
            return Checked("x")

        answers = answer_set({"groups/a/a.ks": f"# answer: member {MAC}, a1b2c3\n{KS}"})
        walk = Walk(answers, checks={"ks": check})
        kinds = [
            tried.rendered and tried.rendered.kind for tried in map(walk.attempt, trials(answers))
        ]
        self.assertEqual((kinds, looked), (["x", "x"], [KS.encode()]))

    def test_a_group_that_cannot_be_read(self) -> None:
        """Whoever is not named elsewhere gets an error for it; still it is one problem."""
        cut = '{"match": {"serial": '
        files = {"groups/a/a.json": cut, "default/a.json": "{}", f"{MAC}/a.json": "{}"}
        [line] = told(files)
        self.assertTrue(line.startswith(f"FAIL     groups/a/a.json ({MAC}): line 1: "), line)

    def test_what_does_not_parse(self) -> None:
        """Is told once for all that have the same mistake."""
        files = {f"{MAC}/a.ks": "{{ x\n", "default/a.ks": "{{ x\n"}
        [line] = told(files)
        self.assertTrue(
            line.startswith(f"FAIL     2 places: default/a.ks, {MAC}/a.ks: line 1: "), line
        )

    def test_who_is_claimed_by_another(self) -> None:
        files = {
            "groups/a/a.ks": f"# answer: member {MAC}\n{KS}",
            "groups/b/a.ks": f"# answer: member {MAC}, a1b2c3\n{KS}",
            "groups/c/a.ks": KS,
            "a1b2c3/a.ks": "# answer: extends c\ntext\n",
        }
        self.assertEqual(
            told(files),
            [
                f"warning  groups/b/a.ks ({MAC}): its member {MAC} is claimed by group a first",
                "note     groups/b/a.ks (a1b2c3): its member a1b2c3 has a document that extends c",
                "note     groups/c/a.ks: reachable only through extends",
            ],
        )

    def test_nothing_reaches_it(self) -> None:
        files = {
            "groups/a/a.ks": KS,
            "groups/a/b.ipxe": IPXE,
            f"{MAC}/a.ipxe": f"# answer: extends a\n{IPXE}",
        }
        self.assertEqual(
            told(files),
            [
                "warning  groups/a/a.ks: nothing reaches it: no members, no match, and nothing "
                "extends it",
                "note     groups/a/b.ipxe: reachable only through extends",
            ],
        )

    def test_groups_that_claim_by_facts(self) -> None:
        """Are tried with the examples in them, or else it is said that they are not."""
        files = {"groups/r/a.json": '{"match": {"product": "R6*", "peer": "192.0.2.0/24"}, "a": 1}'}
        self.assertEqual(
            told(files),
            [
                "note     groups/r/a.json: claims by product = R6* and peer = 192.0.2.0/24: not "
                "checked without examples in it, or --facts"
            ],
        )
        document = json.loads(files["groups/r/a.json"])
        document["examples"] = [
            {"product": "R640", "peer": "192.0.2.7"},
            {"product": "R740", "peer": "192.0.2.7"},
            {"product": "R640", "path": "/json/x", "mac": MAC},
        ]
        files = {"groups/r/a.json": json.dumps(document)}
        found = told(files)
        self.assertEqual(
            found,
            [
                "FAIL     groups/r/a.json (examples[2]): does not reach it: product = R6* "
                "does not hold",
                "FAIL     groups/r/a.json (examples[3]): does not reach it: peer = "
                "192.0.2.0/24 does not hold",
            ],
        )

    def test_an_example_asks_for_its_format(self) -> None:
        """Whatever else would claim it."""
        files = {
            "groups/a/a.json": '{"match": {"x": "1"}, "examples": [{"x": "1"}]}',
            "groups/a/b.ks": f"# answer: match x=1\n# answer: example x=1\n{KS}",
        }
        self.assertEqual(told(files), [])

    def test_an_example_has_facts_of_its_own(self) -> None:
        """What a member's identity fills is not filled for whom the group claims otherwise."""
        document = {"match": {"x": "1"}, "examples": [{"x": "1"}], "members": [MAC]}
        files = {"groups/a/a.json": json.dumps({**document, "a": "{{ mac }}"})}
        self.assertEqual(
            told(files),
            [
                "note     groups/a/a.json (examples[1]): needs mac from the request: not checked "
                "without --facts"
            ],
        )

    def test_an_example_says_its_path(self) -> None:
        """Facts that no query has are where they belong."""
        example = {"path": "/x/json/special", "serial": "s"}
        document = {"match": {"path": "x/json/special"}, "examples": [example], "a": "{{ path }}"}
        found = report({"groups/a/a.json": json.dumps(document)})
        self.assertEqual((found.entries, found.kinds), ((), {"json": 1}))

    def test_an_example_that_another_group_claims(self) -> None:
        examples = '"examples": [{"x": "1", "y": "2"}]'
        files = {
            "groups/a/a.json": f'{{"match": {{"x": "1", "y": "2"}}, {examples}}}',
            "groups/b/a.json": f'{{"match": {{"x": "1"}}, {examples}}}',
        }
        self.assertEqual(
            told(files),
            [
                "FAIL     groups/b/a.json (examples[1]): does not reach it: the answer is "
                "groups/a/a.json",
                "note     groups/b/a.json: claims by x = 1: not checked without examples in it, or "
                "--facts",
            ],
        )

    def test_a_default_that_a_group_is_before(self) -> None:
        files = {
            "groups/a/a.json": '{"match": {"mac": "*"}, "examples": [{"mac": "a1b2c3"}]}',
            "default/a.json": "{}",
        }
        self.assertEqual(
            told(files),
            [
                "note     default/a.json: not checked: groups/a/a.json claims the request that was "
                "made for it"
            ],
        )

    def test_a_group_arms_for_ever(self) -> None:
        """S46: what ``/installed`` never takes away is told."""
        files = {
            "groups/a/a.ipxe": f"# answer: member {MAC}, a1b2c3\n# answer: match arch=x86*\n{IPXE}"
        }
        self.assertEqual(
            told(files),
            [
                "note     groups/a/a.ipxe: arms 2 machines and whatever has arch = x86*, and "
                "/installed never disarms a group: they install again each time they boot from the "
                "network"
            ],
        )

    def test_a_group_of_members_arms_them_alone(self) -> None:
        [note] = told({"groups/a/a.ipxe": f"# answer: member {MAC}\n{IPXE}"})
        self.assertIn("arms 1 machine, and /installed never", note)

    def test_repeats_are_how_a_machine_wins(self) -> None:
        """In one document they are a mistake; over a group they are what is meant."""
        line = "d-i time/zone string UTC\n"
        [one] = told({f"{MAC}/a.preseed": line + line})
        self.assertIn("time/zone is answered in line 1 too", one)
        files = {
            "groups/g/a.preseed": f"# answer: member {MAC}\n{line}",
            f"{MAC}/a.preseed": line,
        }
        self.assertEqual(told(files), [])


class IdentityTests(SynchronousTestCase):
    def test_directories_without_a_document(self) -> None:
        """An extension that is none says nothing, and nobody would notice; a default may wait."""
        machine, closed = Place(Kind.MACHINE, "m-000001"), Place(Kind.MACHINE, "m-000002")
        empty = [Folder(each) for each in (machine, Place(Kind.GROUP, "g"), Place(Kind.DEFAULT))]
        folders = (*empty, Folder(closed, error="unreadable"))
        found = survey.loaded(AnswerSet.of(Listing({each.place: each for each in folders})))
        none = "no document in it: a file's extension says what it is"
        self.assertEqual(
            [(each.source, each.text) for each in found if each.severity is Severity.WARNING],
            [("groups/g", none), ("m-000001", none)],
        )

    def test_short_names(self) -> None:
        files = {"ab/a.ks": KS, "groups/g/a.ks": f"# answer: member c-d, --\n{KS}"}
        self.assertEqual(
            told(files),
            [
                "warning  ab: shorter than 6 letters and digits: it claims only requests of "
                "which a whole value is ab",
                "warning  groups/g/a.ks (c-d): its member c-d is shorter than 6 letters and "
                "digits: it claims only requests of which a whole value is cd",
                "warning  groups/g/a.ks: its member '--' has no ASCII letter or digit: it claims "
                "nothing",
            ],
        )

    def test_names_that_cannot_be_disarmed(self) -> None:
        """``/installed`` would fail, and the machine install itself for ever."""
        long = "m" * 191
        files = {
            f"{name}/a.ipxe": IPXE for name in (long, long[1:], "rack number 1", "installed-rack 2")
        }
        [one] = told({**files, "rack number 3/a.ks": KS})
        self.assertEqual(
            one,
            f"warning  2 places: {long}, rack number 1: /installed cannot disarm it, and it "
            "installs itself again and again: want a name of letters, digits, . _ : and -, 190 "
            "at most",
        )

    def test_two_names_of_one_machine(self) -> None:
        """It is a problem, told of the set; both are still tried."""
        files = {f"{MAC}/a.ks": KS, "525400000001/a.ipxe": IPXE}
        self.assertEqual(told(files), [f"FAIL     525400000001: names the same machine as {MAC}"])


class FactsTests(SynchronousTestCase):
    NEEDY = f'# {{{{ serial }}}} {{{{ product }}}} {{{{ x | default("") }}}} {{{{ mac }}}}\n{KS}'

    def given(self, body: object, label: str = "f: request 1", path: str = "") -> Given:
        segments = tuple(part for part in path.split("/") if part)
        return Given(label, Facts.of(segments, (), json.dumps(body).encode()), bool(path))

    def test_what_an_identity_does_not_carry(self) -> None:
        """Is no mistake: it is not known whether requests carry it."""
        files = {f"{MAC}/a.ks": self.NEEDY, "default/a.ks": self.NEEDY}
        self.assertEqual(
            told(files),
            [
                f"note     {MAC}/a.ks: needs serial, product from the request: not checked without "
                "--facts",
                "note     default/a.ks: needs serial, product from the request: not checked "
                "without --facts",
            ],
        )
        self.assertEqual(report(files).kinds, {})
        self.assertFalse(report(files).fails)

    def test_facts_that_are_given(self) -> None:
        """Fill it, and it is checked; then nothing is left to be told."""
        files = {f"{MAC}/a.ks": self.NEEDY + "autoprat\n"}
        facts = {"network_interfaces": [{"mac": MAC}], "serial": "s", "product": "p"}
        self.assertEqual(
            told(files, self.given(facts)),
            [f"warning  {MAC}/a.ks: line 7: unknown command 'autoprat'; did you mean autopart?"],
        )

    def test_facts_that_are_not_enough(self) -> None:
        files = {f"{MAC}/a.ks": self.NEEDY}
        said = "needs product, which the request does not carry"
        self.assertEqual(
            told(files, self.given({"mac": MAC, "serial": "s"}))[0],
            f"FAIL     {MAC}/a.ks: {said}",
        )

    def test_a_members_facts(self) -> None:
        """Are its own: another member is still not checked."""
        files = {"groups/g/a.ks": f"# answer: member {MAC}, a1b2c3\n{self.NEEDY}"}
        facts = {"mac": MAC, "serial": "s", "product": "p"}
        self.assertEqual(
            told(files, self.given(facts)),
            [
                "note     groups/g/a.ks (a1b2c3): needs serial, product, mac from the request: not "
                "checked without --facts"
            ],
        )

    def test_an_example_stands_in(self) -> None:
        """A group's examples fill the places of its members, and of machines over it."""
        group = {"members": [MAC], "examples": [{"serial": "s", "mac": "x", "group": "y"}]}
        files = {
            "groups/g/a.json": json.dumps({**group, "a": "{{ serial }} {{ mac }}"}),
            "a1b2c3/a.json": '{"extends": "g", "b": "{{ serial }}", "mac": "{{ mac }}"}',
        }
        found = report(files)
        self.assertEqual([str(each) for each in found.entries][1:], [])
        self.assertIn("(examples[1]): does not reach it", str(found.entries[0]))
        self.assertEqual(found.kinds, {"json": 2})

    def test_an_example_that_does_not_help(self) -> None:
        """It lacks something, or makes another request of it."""
        base = {"members": [MAC], "a": "{{ serial }} {{ asset }}"}
        said = f"note     groups/g/a.json ({MAC}): needs serial, asset from the request: not"
        for example in {"serial": "s"}, {"serial": "s", "asset": "52-54-00-00-00-02"}:
            files = {"groups/g/a.json": json.dumps({**base, "examples": [example]})}
            files["52-54-00-00-00-02/a.json"] = "{}"
            lines = told(files)
            self.assertTrue(any(each.startswith(said) for each in lines), lines)

    def test_names_that_look_misspelt(self) -> None:
        [line] = told({f"{MAC}/a.ks": f"{KS}# {{{{ serail }}}}\n"})
        self.assertTrue(line.endswith("without --facts; did you mean serial?"), line)

    def test_what_only_the_server_sets(self) -> None:
        """No request can carry it: that is a mistake."""
        files = {
            "default/a.ks": f"# {{{{ group }}}}\n{KS}",
            "groups/g/a.ks": f"# answer: member a1b2c3\n# {{{{ machine }}}} {{{{ group }}}}\n{KS}",
        }
        self.assertEqual(
            told(files),
            [
                "FAIL     groups/g/a.ks (a1b2c3): needs {{ machine }}: no machine's own document "
                "applies here; {{ mac }} may do",
                "FAIL     default/a.ks: needs {{ group }}: no group applies here",
            ],
        )

    def test_a_request_with_a_path(self) -> None:
        """Is asked for just that; what nothing answers is told."""
        files = {f"{MAC}/a.ks": KS, f"{MAC}/a.ipxe": IPXE}
        both = [self.given({"mac": MAC}, "m", "/rhel/ks"), self.given({"mac": "x"}, "n", "/ks")]
        found = report(files, both)
        self.assertEqual(found.kinds, {"kickstart": 2, "iPXE script": 1})
        self.assertEqual(
            [str(each) for each in found.entries], ["warning  n: nothing answers this request"]
        )

    def test_strangers_may_not_ask_for_everything(self) -> None:
        """The default of a format that a given request never asks for is not its problem."""
        files = {"default/a.ks": self.NEEDY}
        [line] = told(files, self.given({"mac": MAC, "product": "p"}))
        self.assertTrue(line.startswith("note     default/a.ks: needs serial, product"), line)
        [line] = told(files, self.given({"mac": MAC, "product": "p"}, "f", "/ks"))[:1]
        self.assertEqual(
            line, "FAIL     default/a.ks (f): needs serial, which the request does not carry"
        )


class ReportTests(SynchronousTestCase):
    def test_for_people(self) -> None:
        files = {f"{MAC}/a.ks": KS, f"{MAC}/a.toml": "[global]\n", "groups/g/a.cfg": "x\n"}
        self.assertTrue(report(files).as_text().startswith("checking files:x\nFAIL     "))
        lines = report(files).as_text().splitlines()
        self.assertEqual(
            lines[-2:],
            [
                "1 group, 1 machine; 2 answers rendered: 1 Proxmox answer file, 1 kickstart",
                "7 problems",
            ],
        )
        good = report({f"{MAC}/a.ks": KS})
        self.assertEqual(good.as_text().splitlines()[-1], "ok: everything renders")
        self.assertFalse(good.fails)
        self.assertEqual(
            report({}).as_text(),
            "checking files:x\n0 groups, 0 machines; 0 answers rendered\nok: everything renders\n",
        )

    def test_for_programs(self) -> None:
        """The shape is a promise."""
        files = {"groups/g/a.ks": f"# answer: member {MAC}, a1b2c3\n{KS}autoprat\n"}
        self.assertEqual(
            report(files).as_json(),
            {
                "ok": True,
                "store": "files:x",
                "groups": 1,
                "machines": 0,
                "rendered": {"kickstart": 2},
                "problems": 0,
                "warnings": 1,
                "notes": 0,
                "findings": [
                    {
                        "severity": "warning",
                        "text": "unknown command 'autoprat'; did you mean autopart?",
                        "path": "",
                        "line": 6,
                        "format": "ks",
                        "group": "g",
                        "by": "",
                        "sources": ["groups/g/a.ks"],
                        "machines": [MAC, "a1b2c3"],
                    }
                ],
            },
        )

    def test_the_worst_comes_first(self) -> None:
        found = Report("x")
        for severity in reversed(Severity):
            found.add(
                [Result(severity, "s", severity.value), Result(severity, "t", severity.value)]
            )
        self.assertEqual(
            [str(each) for each in found.entries],
            [
                "FAIL     2 places: s, t: problem",
                "warning  2 places: s, t: warning",
                "note     2 places: s, t: note",
            ],
        )

    def test_whatever_is_written_is_one_line(self) -> None:
        found = Report("x").add([Result(Severity.NOTE, "a\nb", "\x1b[1m …", "k\udcff")])
        self.assertEqual(str(found.entries[0]), "note     a\\nb: k\\udcff: \\x1b[1m …")

    def test_a_tool_is_named(self) -> None:
        found = Report("x").add([Result(Severity.PROBLEM, "s", "no", by="xmllint")])
        self.assertEqual(str(found.entries[0]), "FAIL     s: xmllint: no")
