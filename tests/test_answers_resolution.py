"""Tests for ``rescriptum.answers.resolution`` and ``rescriptum.answers.nocloud``."""

import json
import tomllib

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.documents import Folder, Kind, Listing, Place
from rescriptum.errors import MalformedDocument, NotFound, Unfillable

from .answersets import Files, answer_set, asked, listing
from .test_answers_facts import PROXMOX

MAC = "52-54-00-00-00-01"
OTHER = "52-54-00-00-00-02"


def answered(
    answers: AnswerSet, target: str, body: bytes = b"", peer: str = "192.0.2.7"
) -> tuple[bytes, str, str, str]:
    """:returns: body, extension, machine and group of what ``target`` is answered with."""
    answer = asked(answers, target, body, peer)
    return answer.body, answer.format.extension, answer.machine, answer.group


class MachineTests(SynchronousTestCase):
    def test_the_machine_that_is_named(self) -> None:
        """In the path, the query or the body."""
        answers = answer_set({"m/x.ks": "no", f"{MAC}/x.toml": "a = 1", f"{MAC}/x.ks": "yes"})
        expected = (b"yes", "ks", MAC, "")
        self.assertEqual(answered(answers, f"/rhel/{MAC}/ks.cfg"), expected)
        self.assertEqual(answered(answers, "/rhel/ks?mac=52:54:00:00:00:01"), expected)
        self.assertEqual(answered(answers, "/ks", b"I am 525400000001"), expected)

    def test_proxmox(self) -> None:
        """S44: what it posts claims a machine by address, by serial or by UUID."""
        body = json.dumps(PROXMOX).encode()
        for name in ("bc:24:11:00:00:02", "4c4c4544-0050-4810-8033-b2c04f4d3132", "board-1"):
            answers = answer_set({f"{name}/x.toml": "[global]", "default/x.toml": ""})
            self.assertEqual(
                answered(answers, "/proxmox/answer", body), (b"[global]", "toml", name, "")
            )

    def test_the_alias_filters(self) -> None:
        """A machine that has no document of what is asked for gets the default of that format."""
        answers = answer_set({f"{MAC}/x.preseed": "p", "default/x.ks": "d", "default/x.ipxe": "i"})
        self.assertEqual(answered(answers, f"/rhel/{MAC}"), (b"d", "ks", "", "default"))
        self.assertEqual(answered(answers, f"/debian/{MAC}"), (b"p", "preseed", MAC, ""))
        with self.assertRaises(NotFound) as caught:
            answered(answers, f"/ubuntu/{MAC}/")
        self.assertEqual(
            str(caught.exception),
            f"{MAC} has no document for it and there is no default (yaml, yml)",
        )

    def test_without_an_alias_the_table_decides_among_equals(self) -> None:
        """Never chance: the most specific claim, then the order of the formats, then the name."""
        files = {"x.ipxe": "i", "x.preseed": "p", "x.ks": "k"}
        answers = answer_set(
            {f"{place}/{name}": data for place in (MAC, "default") for name, data in files.items()}
        )
        self.assertEqual(answered(answers, f"/{MAC}")[:2], (b"k", "ks"))
        self.assertEqual(answered(answers, "/nobody")[:2], (b"k", "ks"))
        two = answer_set({f"{MAC}/x.ipxe": "i", f"{OTHER}/x.toml": "a = 1"})
        self.assertEqual(answered(two, f"/{MAC}/525400000002")[1], "toml")
        twins = answer_set({f"{MAC}/x.ks": "a", f"{OTHER}/x.ks": "b"})
        self.assertEqual(answered(twins, f"/525400000002/{MAC}")[2], MAC)

    def test_the_more_specific_claim_comes_before_the_format(self) -> None:
        answers = answer_set({"rack-1/x.toml": "", f"{MAC}/x.ipxe": "i"})
        self.assertEqual(answered(answers, f"/rack-1/{MAC}")[1:3], ("ipxe", MAC))

    def test_the_order_of_an_alias(self) -> None:
        """``/json`` prefers ``.json``, ``/ignition`` prefers ``.ign``."""
        answers = answer_set({f"{MAC}/x.ign": '"i"', f"{MAC}/x.json": '"j"'})
        self.assertEqual(answered(answers, f"/json/{MAC}")[1], "json")
        self.assertEqual(answered(answers, f"/ignition/{MAC}")[1], "ign")

    def test_a_machine_may_claim_by_facts(self) -> None:
        """Less than any name; and the more criteria hold, the more."""
        answers = answer_set(
            {
                "spare/x.toml": 'b = 1\n[match]\nproduct = "R6*"\n',
                "spare-1/x.toml": 'b = 2\n[match]\nproduct = "R6*"\nserial = "S*"\n',
                "machine-1/x.toml": "b = 3\n",
            }
        )
        self.assertEqual(answered(answers, "/pve?product=R640")[2], "spare")
        self.assertEqual(answered(answers, "/pve?product=R640&serial=S1")[2], "spare-1")
        self.assertEqual(answered(answers, "/pve/machine-1?product=R640&serial=S1")[2], "machine-1")

    def test_a_broken_document_never_falls_through(self) -> None:
        """Not to the default, nor to another document of the machine."""
        answers = answer_set(
            {f"{MAC}/x.seed": "s", f"{MAC}/x.preseed": "{{", "default/x.preseed": "d"}
        )
        with self.assertRaises(MalformedDocument):
            answered(answers, f"/debian/{MAC}")

    def test_one_that_cannot_be_filled_does_not_either(self) -> None:
        answers = answer_set({f"{MAC}/x.ks": "{{ rack }}", "default/x.ks": "d"})
        with self.assertRaises(Unfillable) as caught:
            answered(answers, f"/ks/{MAC}")
        self.assertIn(f"{MAC}/x.ks: template needs {{{{ rack }}}}", str(caught.exception))

    def test_machine_is_a_fact_of_its_own_document(self) -> None:
        """As its directory is spelt; a default has no machine, a query cannot give it one."""
        answers = answer_set({f"{MAC}/x.ks": "{{ machine }}", "default/x.ks": "{{ machine }}"})
        target = "/ks?mac=52:54:00:00:00:01&machine=x"
        self.assertEqual(answered(answers, target)[0], MAC.encode())
        for name in ("machine", "group"):
            with self.assertRaises(Unfillable):
                answered(answer_set({"default/x.ks": f"{{{{ {name} }}}}"}), f"/ks?{name}=x")

    def test_an_empty_set(self) -> None:
        with self.assertRaises(NotFound) as caught:
            answered(answer_set({}), "/ks")
        self.assertEqual(str(caught.exception), "nothing claims it and there is no default (ks)")


GROUPS = {
    "groups/base/x.toml": '[global]\nkeyboard = "de"\ncountry = "de"\n',
    "groups/dell/x.toml": (
        f'extends = "base"\nmembers = ["{MAC}", "{OTHER}"]\n[global]\ncountry = "at"\n'
        'fqdn = "{{ serial }}.example.com"\n'
    ),
    f"{MAC}/x.toml": '[global]\nfqdn = "one.example.com"\n',
    "default/x.toml": '[global]\nfqdn = "default"\n',
}


class GroupTests(SynchronousTestCase):
    def layered(self, files: Files, target: str) -> tuple[object, str, str]:
        body, _, machine, group = answered(answer_set(files), target)
        return tomllib.loads(body.decode()), machine, group

    def test_ancestor_group_machine(self) -> None:
        """Each over the one before; what the machine replaces need not be filled."""
        value = {"global": {"keyboard": "de", "country": "at", "fqdn": "one.example.com"}}
        self.assertEqual(self.layered(GROUPS, f"/pve/{MAC}"), (value, MAC, "dell"))

    def test_a_member_needs_no_directory(self) -> None:
        """It has a group and no machine."""
        value, machine, group = self.layered(GROUPS, f"/pve/{OTHER}?serial=S1")
        self.assertEqual((machine, group), ("", "dell"))
        self.assertEqual(
            value, {"global": {"keyboard": "de", "country": "at", "fqdn": "S1.example.com"}}
        )

    def test_extends_of_a_machine_replaces_the_choice_of_a_group(self) -> None:
        files = {**GROUPS, f"{MAC}/x.toml": 'extends = "base"\n[global]\nfqdn = "x"\n'}
        value = {"global": {"keyboard": "de", "country": "de", "fqdn": "x"}}
        self.assertEqual(self.layered(files, f"/pve/{MAC}"), (value, MAC, "base"))

    def test_a_default_may_stand_on_a_group(self) -> None:
        """And is still nobody's: neither machine nor group is a fact of it."""
        files = {**GROUPS, "default/x.toml": 'extends = "base"\n[global]\nfqdn = "d"\n'}
        value = {"global": {"keyboard": "de", "country": "de", "fqdn": "d"}}
        self.assertEqual(self.layered(files, "/pve"), (value, "", "default"))

    def test_one_group_by_facts(self) -> None:
        """Most criteria; of equally many the first name; a member's group before any of them."""
        files: dict[str, str] = {
            "groups/b/x.cfg": "# answer: match product=R6*\nb {{ group }}\n",
            "groups/a/x.cfg": "# answer: match product=R*\na\n",
            "groups/c/x.cfg": "# answer: match product=R6* peer=192.0.2.0/24\nc\n",
            "groups/d/x.cfg": "# answer: member machine-1\nd\n",
        }
        answers = answer_set(files)
        for target, peer, expected in (
            ("/cfg?product=R740", "192.0.2.7", b"a\n"),
            ("/cfg?product=R640", "198.51.100.1", b"a\n"),
            ("/cfg?product=R640", "192.0.2.7", b"c\n"),
            ("/cfg/machine-1?product=R640", "192.0.2.7", b"d\n"),
        ):
            self.assertEqual(answered(answers, target, peer=peer)[0], expected)
        del files["groups/a/x.cfg"]
        answers = answer_set(files)
        self.assertEqual(answered(answers, "/cfg?product=R640", peer="::1")[0], b"b b\n")

    def test_a_group_is_chosen_in_the_machine_s_format(self) -> None:
        """With no alias both are of the format that wins: never a kickstart over TOML."""
        answers = answer_set(
            {f"{MAC}/x.ks": "k\n", "groups/a/x.preseed": f"# answer: member {OTHER}\np\n"}
        )
        self.assertEqual(answered(answers, f"/{MAC}")[1:], ("ks", MAC, ""))
        self.assertEqual(answered(answers, f"/{OTHER}")[1:], ("preseed", "", "a"))

    def test_a_group_may_be_called_default(self) -> None:
        """It is a group like any other, and not what nobody claims."""
        files = {
            "groups/default/x.yaml": f'members: ["{MAC}"]\nhost: "{{{{ group }}}}"\n',
            "groups/default/network-config": "version: 2\n",
            "default/x.yaml": "d: 1\n",
            "default/network-config": "version: 1\n",
        }
        answers = answer_set(files)
        self.assertEqual(answered(answers, f"/ubuntu/{MAC}/")[0], b'host: "default"\n')
        part = answered(answers, f"/ubuntu/{MAC}/network-config")[0]
        self.assertEqual(part, b"version: 2\n")
        self.assertEqual(answered(answers, "/ubuntu/network-config")[0], b"version: 1\n")
        alone = answer_set({**files, f"{OTHER}/meta-data": "a: '{{ machine }}'\n"})
        part = answered(alone, f"/ubuntu/{OTHER}/meta-data")[0]
        self.assertEqual(part, f'a: "{OTHER}"\n'.encode())

    def test_documents_of_different_spellings_do_not_layer(self) -> None:
        """``yml`` is not ``yaml``: a group in one is none of the other's."""
        answers = answer_set(
            {f"{MAC}/x.yml": "a: 1\n", "groups/g/x.yaml": f'members: ["{MAC}"]\nb: 1\n'}
        )
        self.assertEqual(answered(answers, f"/{MAC}")[1:], ("yaml", "", "g"))
        self.assertEqual(answered(answers, f"/yml/{MAC}")[1], "yaml")

    def test_prepared_and_composed_are_the_same(self) -> None:
        """A machine's own document that needs no work is served byte for byte."""
        data = "# comment\r\n[global]\r\nfqdn='a'"
        answers = answer_set({f"{MAC}/x.toml": data})
        self.assertEqual(answered(answers, f"/pve/{MAC}")[0], data.encode())


class TombstoneTests(SynchronousTestCase):
    """A broken group never falls through: its members get an error."""

    def refused(self, answers: AnswerSet, target: str) -> str:
        with self.assertRaises(MalformedDocument) as caught:
            asked(answers, target)
        return str(caught.exception)

    def test_a_cycle_and_a_parent_that_is_not_there(self) -> None:
        for parent, reason in (("dell", "goes round"), ("none", "is no group")):
            files = {
                **GROUPS,
                "groups/base/x.toml": f'extends = "{parent}"\n',
                "groups/other/x.toml": '[match]\nserial = "*"\n',
            }
            answers = answer_set(files)
            for target in (f"/pve/{MAC}", f"/pve/{OTHER}?serial=S1"):
                self.assertIn(reason, self.refused(answers, target))
            self.assertEqual(answered(answers, "/pve?serial=S1")[3], "other")

    def test_a_group_that_does_not_parse(self) -> None:
        """Whom it names can still be read off it; everybody else is answered as before."""
        files = {**GROUPS, "groups/dell/x.toml": f'members = ["{MAC}", "{OTHER}"]\n[global\n'}
        answers = answer_set(files)
        for target in (f"/pve/{MAC}", f"/pve/{OTHER}"):
            self.assertIn("groups/dell/x.toml: ", self.refused(answers, target))
        self.assertEqual(answered(answers, "/pve/52-54-00-00-00-03")[3], "default")

    def test_a_group_that_is_half_written(self) -> None:
        """
        Emptied before it is written anew, or broken off: whom it claimed may be said in what is
        not there yet. Members of others are answered as before.
        """
        whole = f'{{"a": {{"b": 1}}, "members": ["{OTHER}"]}}\n'
        for name, data in (
            *(("toml", each) for each in ("", "\n", "a = 1\nb", 'members = [\n  "x",\n')),
            *(("ks", each) for each in ("", "# answer: mem")),
            *(("yaml", each) for each in ("", "\r\n", "a: {b: 1")),
            *(("xml", each) for each in ("", "<a>", "<a><answer-meta><member>x</member>")),
            *(("json", whole[:cut]) for cut in range(len(whole) - 2)),
        ):
            member, other = {
                "json": (f'{{"members": ["{MAC}"]}}', "{}"),
                "xml": (f"<a><answer-meta><member>{MAC}</member></answer-meta></a>", "<a/>"),
                "ks": (f"# answer: member {MAC}\n", "k"),
            }.get(name, (f"members: [{MAC}]\n", "a: 1"))
            if name == "toml":
                member, other = f'members = ["{MAC}"]\n', "a = 1\n"
            answers = answer_set(
                {
                    f"groups/a/x.{name}": data,
                    f"groups/b/x.{name}": member,
                    f"default/x.{name}": other,
                }
            )
            refused = self.refused(answers, f"/{name}/{OTHER}")
            self.assertIn(f"groups/a/x.{name}", refused, data)
            self.assertEqual(answered(answers, f"/{name}/{MAC}")[3], "b", data)

    def test_what_stands_on_a_group_that_was_emptied(self) -> None:
        """Without it the answer is another one."""
        files = {"groups/a/x.ks": "", f"{MAC}/x.ks": "# answer: extends a\nrootpw x\n"}
        answers = answer_set(files)
        self.assertIn("groups/a/x.ks: empty", self.refused(answers, f"/ks/{MAC}"))

    def test_a_group_by_facts_that_does_not_parse(self) -> None:
        """
        Whom it would claim nobody can say: what no identity claims gets an error, in this
        format; who is a member elsewhere, or says what it stands on, is as before.
        """
        files = {
            **GROUPS,
            "groups/maybe/x.toml": '[match]\nproduct = "R6*"\n[global\n',
            f"{OTHER}/x.toml": 'extends = "base"\n',
            "default/x.ks": "k",
        }
        answers = answer_set(files)
        self.assertIn("may claim this request", self.refused(answers, "/pve/52-54-00-00-00-03"))
        self.assertIn("may claim", self.refused(answers, "/52-54-00-00-00-03"))
        self.assertEqual(answered(answers, f"/pve/{MAC}")[3], "dell")
        self.assertEqual(answered(answers, f"/pve/{OTHER}")[3], "base")
        self.assertEqual(answered(answers, "/ks/52-54-00-00-00-03")[3], "default")

    def test_doubt_in_another_format_that_was_asked_for(self) -> None:
        """It may be claimed more closely there; whom an identity names is not in doubt."""
        for broken in "groups/a/x.preseed", "spare/x.preseed":
            files = {
                broken: "# answer: match serial=S1 product=R6*\n# answer: nope\n",
                "groups/b/x.ks": f"# answer: member {MAC}\n# answer: match serial=S1\n",
            }
            answers = answer_set(files)
            self.assertIn(f"{broken} may claim", self.refused(answers, "/x?serial=S1"))
            self.assertEqual(answered(answers, "/ks?serial=S1")[3], "b")
            self.assertEqual(answered(answers, f"/{MAC}")[3], "b")

    def test_a_machine_by_facts_that_does_not_parse(self) -> None:
        """
        As a group: it may be what is laid over a member's group, too. A machine's own name, and
        another format, settle it.
        """
        files = {
            **GROUPS,
            "spare/x.toml": '[match]\nproduct = "R6*"\n[global\n',
            "default/x.ks": "k",
        }
        answers = answer_set(files)
        for target in ("/pve/52-54-00-00-00-03", f"/pve/{OTHER}?serial=S1", "/x"):
            said = "spare/x.toml may claim this request, and cannot be read: line 3: "
            self.assertIn(said, self.refused(answers, target))
        self.assertEqual(answered(answers, f"/pve/{MAC}")[2:], (MAC, "dell"))
        self.assertEqual(answered(answers, "/ks/52-54-00-00-00-03")[3], "default")
        self.assertIn("spare/x.toml: line 3", self.refused(answers, "/pve/machine?x=spare"))
        gone = listing({"spare/x.toml": "a = 1\n"}).folders
        mended = AnswerSet.of(Listing({**answers.listing.folders, **gone}), answers)
        self.assertEqual(answered(mended, "/pve/52-54-00-00-00-03")[3], "default")
        away = answer_set({**files, "installed-spare/x.toml": files.pop("spare/x.toml")})
        self.assertEqual(answered(answer_set(files), "/pve")[3], "default")
        self.assertEqual(away.doubtful.keys(), {"toml"})

    def test_a_broken_machine_without_a_match_is_its_own_affair(self) -> None:
        """A match deeper in it is its installer's, and another machine is answered as before."""
        for name, text in (
            ("x.toml", '[a]\nb.match = "c"\n# match = 1\n[global\n'),
            ("x.yaml", "network:\n  ethernets:\n    a:\n      match: {macaddress: x}\n  b: [\n"),
            ("x.json", '{"extends": "g", "a" 1}'),
            ("x.xml", "<a><matches/><b></a>"),
            ("x.ks", "# answer: member a\n# answer: extends\nmatch a=b\n"),
        ):
            default = {"x.json": "{}", "x.xml": "<a/>"}.get(name, "# a\n")
            answers = answer_set({f"machine-1/{name}": text, f"default/{name}": default})
            self.assertEqual(len(answers.problems), 1, name)
            self.assertEqual(answered(answers, "/")[3], "default", name)
        for name, text in (
            ("x.toml", "match.a = 1\n[b\n"),
            ("x.toml", 'match = {a = "b"\n'),
            ("x.yaml", "match:\n  a: [\n"),
            ("x.yml", '"match": {a: b\n'),
            ("x.json", '{"match": {"a": 1'),
            ("x.ign", '{"a" 1, "match": {}}'),
            ("x.xml", '<a><answer-meta><match a="b"></a>'),
            ("x.ks", "# answer: match a\n"),
            ("x.ks", "# answer: matches a=b\n"),
        ):
            answers = answer_set({f"machine-1/{name}": text, f"default/{name}": ""})
            self.assertIn("may claim this request", self.refused(answers, "/"), text)

    def test_a_group_that_cannot_be_read_at_all(self) -> None:
        """Its directory is there and nobody knows what is in it: every format is in doubt."""
        place = Place(Kind.GROUP, "secret")
        folders = {**listing(GROUPS).folders, place: Folder(place, error="unreadable: denied")}
        answers = AnswerSet.of(Listing(folders))
        for target in ("/pve", "/ks", "/"):
            self.assertIn("groups/secret may claim this request", self.refused(answers, target))
        self.assertEqual(answered(answers, f"/pve/{MAC}")[3], "dell")

    def test_a_machine_and_a_default_that_stand_on_nothing(self) -> None:
        answers = answer_set(
            {f"{MAC}/x.ks": "# answer: extends x\n", "default/x.ks": "# answer: extends x\n"}
        )
        self.assertIn(
            f"{MAC}/x.ks: extends x, which is no group", self.refused(answers, f"/ks/{MAC}")
        )
        self.assertIn("default/x.ks: extends x", self.refused(answers, "/ks"))


class NoCloudTests(SynchronousTestCase):
    """What cloud-init asks for beside ``user-data`` (families C8)."""

    def setUp(self) -> None:
        self.files: dict[str, str] = {
            f"{MAC}/x.yaml": "#cloud-config\n",
            f"{MAC}/x.ks": "k",
            "default/x.yml": "#cloud-config\n",
        }
        self.answers = answer_set(self.files)

    def test_parts_of_a_machine(self) -> None:
        """The document is the user data; the others are there at once, and empty or minimal."""
        for part, expected, extension in (
            ("user-data", b"#cloud-config\n", "yaml"),
            ("meta-data", b'instance-id: "52-54-00-00-00-01"\n', "meta-data"),
            ("vendor-data", b"", "vendor-data"),
            ("network-config", b"", "network-config"),
        ):
            body, found, machine, _ = answered(self.answers, f"/ubuntu/{MAC}/{part}")
            self.assertEqual((body, found, machine), (expected, extension, MAC))

    def test_parts_that_are_documents(self) -> None:
        """Of the machine over the group's own, of the group alone, of the default."""
        answers = answer_set(
            {
                **self.files,
                "groups/g/x.yaml": f'members: ["{MAC}", "{OTHER}"]\n',
                "groups/g/meta-data": "instance-id: '{{ mac }}'\nlocal-hostname: g\n",
                f"{MAC}/meta-data.yaml": "local-hostname: one\n",
                "default/network-config": "version: 2\n",
            }
        )
        body, extension, machine, group = answered(answers, f"/ubuntu/{MAC}/meta-data")
        self.assertEqual((extension, machine, group), ("meta-data", MAC, "g"))
        self.assertIn(b"local-hostname: one", body)
        self.assertIn(MAC.encode(), body)
        self.assertIn(b"local-hostname: g", answered(answers, f"/ubuntu/{OTHER}/meta-data")[0])
        self.assertEqual(answered(answers, "/ubuntu/network-config")[0], b"version: 2\n")
        self.assertEqual(answered(answers, f"/ubuntu/{MAC}/network-config")[0], b"")

    def test_parts_are_of_whoever_the_user_data_is_of(self) -> None:
        """Never of another machine that the request names too, or that fits it."""
        answers = answer_set(
            {
                **self.files,
                "serial-1/x.yaml": "b: 1\n",
                "serial-1/meta-data": "a: 1\n",
                "spare/network-config": "match: {serial: '*'}\nversion: 2\n",
            }
        )
        for part, expected in (
            ("meta-data", b'instance-id: "52-54-00-00-00-01"\n'),
            ("network-config", b""),
        ):
            target = f"/ubuntu/{MAC}/{part}?serial=serial-1"
            self.assertEqual(answered(answers, target)[:3], (expected, part, MAC))

    def test_parts_of_the_nearest_group(self) -> None:
        """Of those that the user-data stands on; its own part goes before, and may extend one."""
        answers = answer_set(
            {
                "groups/base/x.yaml": "a: 1\n",
                "groups/base/meta-data": "a: base\n",
                "groups/base/vendor-data": "a: base\n",
                "groups/rack/x.yaml": f"extends: base\nmembers: ['{OTHER}', '{MAC}']\n",
                "groups/rack/network-config": "extends: rack-net\na: rack\n",
                "groups/rack-net/network-config": "b: rack-net\n",
                "groups/rack/vendor-data": "a: rack\n",
                f"{MAC}/x.yaml": "extends: base\nb: 1\n",
                "default/x.yaml": "extends: rack\n",
                "default/vendor-data": "a: default\n",
            }
        )
        for target, expected in (
            (f"/ubuntu/{OTHER}/meta-data", b"a: base\n"),
            (f"/ubuntu/{OTHER}/vendor-data", b"a: rack\n"),
            (f"/ubuntu/{OTHER}/network-config", b"b: rack-net\na: rack\n"),
            (f"/ubuntu/{MAC}/vendor-data", b"a: base\n"),
            (f"/ubuntu/{MAC}/network-config", b""),
            ("/ubuntu/meta-data", b"a: base\n"),
            ("/ubuntu/vendor-data", b"a: default\n"),
        ):
            self.assertEqual(answered(answers, target)[0], expected, target)

    def test_parts_of_what_is_broken(self) -> None:
        """Nobody knows what it stands on: no other group's parts go with it, nor made-up ones."""
        answers = answer_set(
            {
                f"{MAC}/x.yaml": "extends: h\na: [\n",
                f"{MAC}/meta-data": "a: 1\n",
                "groups/g/x.yaml": f"members: ['{MAC}']\n",
                "groups/g/network-config": "version: 2\n",
            }
        )
        for part in ("user-data", "meta-data", "vendor-data", "network-config"):
            with self.assertRaises(MalformedDocument) as caught:
                answered(answers, f"/ubuntu/{MAC}/{part}")
            self.assertIn(f"{MAC}/x.yaml: ", str(caught.exception))

    def test_a_part_is_never_the_user_data(self) -> None:
        """A machine that has parts and no user data has nothing for cloud-init."""
        answers = answer_set({f"{MAC}/meta-data": "a: 1\n"})
        for path in (f"/ubuntu/{MAC}/user-data", f"/ubuntu/{MAC}/meta-data", f"/{MAC}"):
            with self.assertRaises(NotFound):
                answered(answers, path)

    def test_parts_of_a_machine_nobody_claims(self) -> None:
        """The default has an instance too: what the request says of the machine, if it does."""
        for path, expected in (
            ("/ubuntu/52-54-00-00-00-09/meta-data", b'instance-id: "52:54:00:00:00:09"\n'),
            ("/ubuntu/meta-data?serial=S1", b'instance-id: "S1"\n'),
            ("/ubuntu/meta-data", b'instance-id: "default"\n'),
        ):
            self.assertEqual(answered(self.answers, path)[0], expected)

    def test_what_a_stranger_says_is_one_yaml_string(self) -> None:
        body, *_ = answered(self.answers, "/ubuntu/meta-data?serial=a%22%0Ab: c")
        self.assertEqual(body, b'instance-id: "a\\"\\nb: c"\n')

    def test_without_user_data_there_are_no_parts(self) -> None:
        with self.assertRaises(NotFound):
            answered(answer_set({"default/x.ks": ""}), "/ubuntu/meta-data")

    def test_other_formats_have_no_parts(self) -> None:
        self.assertEqual(answered(self.answers, f"/ks/{MAC}/meta-data")[0], b"k")
