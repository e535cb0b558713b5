"""Tests for ``rescriptum.answers.resolution`` and ``rescriptum.answers.nocloud``."""

import json

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import AnswerSet, Listing
from rescriptum.answers.facts import Facts
from rescriptum.answers.resolution import resolve
from rescriptum.errors import MalformedDocument, NotFound, Unfillable

from .test_answers_documents import folder
from .test_answers_facts import PROXMOX

MAC = "52-54-00-00-00-01"


def answer_set(**machines: dict[str, bytes]) -> AnswerSet:
    return AnswerSet.of(
        Listing(tuple(folder(name.replace("_", "-"), **files) for name, files in machines.items()))
    )


def asked(answers: AnswerSet, target: str, body: bytes = b"") -> tuple[bytes, str, str, str]:
    """:returns: body, extension, machine and group of what ``target`` is answered with."""
    path, _, query = target.partition("?")
    pairs = tuple((name, value) for name, _, value in (p.partition("=") for p in query.split("&")))
    segments = tuple(each for each in path.split("/") if each)
    answer = resolve(answers, Facts.of(segments, pairs, body))
    return answer.body, answer.format.extension, answer.machine, answer.group


class SelectionTests(SynchronousTestCase):
    def test_the_machine_that_is_named(self) -> None:
        """In the path, the query or the body."""
        answers = answer_set(m={"ks": b"no"}, **{MAC: {"toml": b"a = 1", "ks": b"yes"}})
        expected = (b"yes", "ks", MAC, "")
        self.assertEqual(asked(answers, f"/rhel/{MAC}/ks.cfg"), expected)
        self.assertEqual(asked(answers, "/rhel/ks?mac=52:54:00:00:00:01"), expected)
        self.assertEqual(asked(answers, "/ks", b"I am 525400000001"), expected)

    def test_proxmox(self) -> None:
        """S44: what it posts claims a machine by address, by serial or by UUID."""
        body = json.dumps(PROXMOX).encode()
        for name in ("bc:24:11:00:00:02", "4c4c4544-0050-4810-8033-b2c04f4d3132", "board-1"):
            answers = answer_set(**{name: {"toml": b"[global]"}}, default={"toml": b""})
            self.assertEqual(
                asked(answers, "/proxmox/answer", body), (b"[global]", "toml", name, "")
            )

    def test_the_alias_filters(self) -> None:
        """A machine that has no document of what is asked for gets the default of that format."""
        answers = answer_set(**{MAC: {"preseed": b"p"}}, default={"ks": b"d", "ipxe": b"i"})
        self.assertEqual(asked(answers, f"/rhel/{MAC}"), (b"d", "ks", "", "default"))
        self.assertEqual(asked(answers, f"/debian/{MAC}"), (b"p", "preseed", MAC, ""))
        with self.assertRaises(NotFound) as caught:
            asked(answers, f"/ubuntu/{MAC}/")
        self.assertEqual(
            str(caught.exception),
            f"{MAC} has no document for it and there is no default (yaml, yml)",
        )

    def test_without_an_alias_the_table_decides_among_equals(self) -> None:
        """Never chance: the most specific claim, then the order of the formats, then the name."""
        files = {"ipxe": b"i", "preseed": b"p", "ks": b"k"}
        answers = answer_set(**{MAC: files}, default=files)
        self.assertEqual(asked(answers, f"/{MAC}")[:2], (b"k", "ks"))
        self.assertEqual(asked(answers, "/nobody")[:2], (b"k", "ks"))
        two = answer_set(**{MAC: {"ipxe": b"i"}, "52-54-00-00-00-02": {"toml": b""}})
        self.assertEqual(asked(two, f"/{MAC}/525400000002")[1], "toml")
        twins = answer_set(**{MAC: {"ks": b"a"}, "52-54-00-00-00-02": {"ks": b"b"}})
        self.assertEqual(asked(twins, f"/525400000002/{MAC}")[2], MAC)

    def test_the_more_specific_claim_comes_before_the_format(self) -> None:
        answers = answer_set(**{"rack-1": {"toml": b""}, MAC: {"ipxe": b"i"}})
        self.assertEqual(asked(answers, f"/rack-1/{MAC}")[1:3], ("ipxe", MAC))

    def test_the_order_of_an_alias(self) -> None:
        """``/json`` prefers ``.json``, ``/ignition`` prefers ``.ign``."""
        answers = answer_set(**{MAC: {"ign": b'"i"', "json": b'"j"'}})
        self.assertEqual(asked(answers, f"/json/{MAC}")[1], "json")
        self.assertEqual(asked(answers, f"/ignition/{MAC}")[1], "ign")

    def test_a_broken_document_never_falls_through(self) -> None:
        """Not to the default, nor to another document of the machine."""
        answers = answer_set(**{MAC: {"seed": b"s", "preseed": b"{{"}}, default={"preseed": b"d"})
        with self.assertRaises(MalformedDocument):
            asked(answers, f"/debian/{MAC}")

    def test_one_that_cannot_be_filled_does_not_either(self) -> None:
        answers = answer_set(**{MAC: {"ks": b"{{ rack }}"}}, default={"ks": b"d"})
        with self.assertRaises(Unfillable):
            asked(answers, f"/ks/{MAC}")

    def test_machine_is_a_fact_of_its_own_document(self) -> None:
        """As its directory is spelt; a default has no machine, a query cannot give it one."""
        files = {"ks": b"{{ machine }}"}
        answers = answer_set(**{MAC: files}, default=files)
        self.assertEqual(asked(answers, "/ks?mac=52:54:00:00:00:01&machine=x")[0], MAC.encode())
        with self.assertRaises(Unfillable):
            asked(answers, "/ks?machine=x")

    def test_an_empty_set(self) -> None:
        with self.assertRaises(NotFound) as caught:
            asked(answer_set(), "/ks")
        self.assertEqual(str(caught.exception), "no machine claims it and there is no default (ks)")


class NoCloudTests(SynchronousTestCase):
    """What cloud-init asks for beside ``user-data`` (families C8)."""

    def setUp(self) -> None:
        self.answers = answer_set(
            **{MAC: {"yaml": b"#cloud-config\n", "ks": b"k"}}, default={"yml": b"#cloud-config\n"}
        )

    def test_parts_of_a_machine(self) -> None:
        """The document is the user data; the others are there at once, and empty or minimal."""
        for part, expected in (
            ("user-data", b"#cloud-config\n"),
            ("meta-data", b'instance-id: "52-54-00-00-00-01"\n'),
            ("vendor-data", b""),
            ("network-config", b""),
        ):
            body, extension, machine, _ = asked(self.answers, f"/ubuntu/{MAC}/{part}")
            self.assertEqual((body, extension, machine), (expected, "yaml", MAC))

    def test_parts_of_a_machine_nobody_claims(self) -> None:
        """The default has an instance too: what the request says of the machine, if it does."""
        for path, expected in (
            ("/ubuntu/52-54-00-00-00-09/meta-data", b'instance-id: "52:54:00:00:00:09"\n'),
            ("/ubuntu/meta-data?serial=S1", b'instance-id: "S1"\n'),
            ("/ubuntu/meta-data", b'instance-id: "default"\n'),
        ):
            self.assertEqual(asked(self.answers, path)[0], expected)

    def test_what_a_stranger_says_is_one_yaml_string(self) -> None:
        body, *_ = asked(self.answers, '/ubuntu/meta-data?serial=a"\nb: c')
        self.assertEqual(body, b'instance-id: "a\\"\\nb: c"\n')

    def test_without_user_data_there_are_no_parts(self) -> None:
        with self.assertRaises(NotFound):
            asked(answer_set(default={"ks": b""}), "/ubuntu/meta-data")

    def test_other_formats_have_no_parts(self) -> None:
        self.assertEqual(asked(self.answers, f"/ks/{MAC}/meta-data")[0], b"k")
