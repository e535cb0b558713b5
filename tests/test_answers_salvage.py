"""Tests for ``rescriptum.answers.salvage``."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import MAX_DOCUMENT, Document
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.answers.salvage import Salvaged, breaks_off, salvage

A, B, C = "52-54-00-12-34-56", "98:fa:9b:50:d8:10", "SN 4711/A"


def members(family: str, text: str) -> tuple[str, ...]:
    return salvage(family, text.encode("utf-8")).members


def doubtful(family: str, text: str) -> bool:
    return salvage(family, text.encode("utf-8")).doubtful


class StructuredTests(SynchronousTestCase):
    def test_toml(self) -> None:
        """What is broken is elsewhere, or the list itself, in each of the ways it is mistyped."""
        for text in (
            f'keyboard = de"\nmembers = ["{A}", \'{B}\', "{C}"]\n[global]\nfqdn = "x"\n',
            f'members = [\n  "{A}", # the first\n  "{B}",\n\n  "{C}",\n]\na = \n',
            f'members = ["{A}", "{B}", "{C}"\n[global]\nfqdn = "x"\n',
            f'members = ["{A}", "{B}", "{C}",\nfqdn = "x"\n',
            f'members = ["{A}" "{B}"\n"{C}"]\nfqdn = "x"\n',
            f'members = "{A}", "{B}", "{C}"\nfqdn = "x"\n',
            f'members = [{A}, {B}, {C}]\nfqdn = "x"\n',
            f'members = [\n"{A}",\n"{B},\n"{C}"\n]\nfqdn = "x"\n',
            f'members = [\n{A}\n{B}\n"{C}"\n',
            f'members ["{A}", "{B}", "{C}"]\n',
            f'members == ["{A}", "{B}", "{C}"]\n',
            f'"members" = ["{A}", "{B}"]\nmember = "{C}"\n[',
        ):
            self.assertEqual(members("toml", text), (A, B, C), text)
            self.assertFalse(doubtful("toml", text), text)

    def test_json(self) -> None:
        for text in (
            f'{{"extends": "x", "members": ["{A}", "{B}", "{C}"], "a": "{{{{ x"}}',
            f'{{"members": ["{A}", "{B}", "{C}"], "a": 1,}}',
            f'{{\n  "members": [\n    "{A}",\n    "{B}"\n    "{C}"\n  ]\n  "a": ["b"]\n}}',
            f'{{"members":\n["{A}", "{B}", "{C}"',
            f'{{"members": ["{A}", "{B}", "{C}", "a": 1}}',
            f'{{"members" ["{A}", "{B}", "{C}"]}}',
            f'{{members: ["{A}", "{B}", "{C}"]}}',
            f'{{"members": ["{A}", "{B}", "{C}"]',
        ):
            self.assertEqual(members("json", text), (A, B, C), text)
            self.assertFalse(doubtful("json", text), text)
        self.assertEqual(
            members("json", '{"members": ["Stra\\u00dfe", "\\x", 4711'), ("Straße", "\\x", "4711")
        )

    def test_yaml(self) -> None:
        for text in (
            f"members:\n- {A}\n- {B} # why\n- {C}\nkeyboard: [\n",
            f"members:\n  # three\n\n  - '{A}'\n  - \"{B}\"\n  -{C}\n---\n- x\n",
            f"members: &rack\n\t- {A}\n\t- {B}\n   - {C}\n",
            f"members: !!seq [{A}, {B}, {C}]\n a\n",
            f"members: [{A},\n  {B}, # why\n  '{C}'\n\nautoinstall:\n  version: 1\n",
            f"members:\n  [{A}, {B}, {C}]\n\ta\n",
            f"{{extends: x, members: [{A}, {B}, {C}], a: ]}}",
            f"members:\n  - mac: {A}\n  - {B}\n  - {C}\n",
            f"members:\n- {A}\n  {B}\n- '{C}'\n{{",
            f"members: {A}\nmember:\n  - {B}\n  -\n    '{C}'\n:",
        ):
            self.assertEqual(members("yaml", text), (A, B, C), text)
            self.assertFalse(doubtful("yaml", text), text)

    def test_the_rest_of_a_document_is_no_member(self) -> None:
        for family, text in (
            ("toml", '# members = ["a"]\n# members: a\nremembers = "a"\nmembers2 = ["b"]\na = '),
            (
                "yaml",
                "runcmd:\n- echo members of\n- members are here\nusers: [a]\nb: {member-of: c",
            ),
            ("json", '{"a": ["member", "b"], "roles": ["members"], "x": {"members-only": ["c"]'),
        ):
            self.assertEqual(salvage(family, text.encode()), Salvaged((), False), text)

    def test_a_list_without_an_end(self) -> None:
        """Ends where words follow each other that no comma parts."""
        text = f"members: [{A}, {B}\n{C[3:7]}\nwords of the rest, and more\nmore, words"
        self.assertEqual(members("yaml", text), (A, B, C[3:7]))

    def test_no_members(self) -> None:
        for text in ("members = []\na = ", "members = [ # none\n\n]\n[", '"members": [],', ""):
            self.assertEqual(members("toml", text), ())
        self.assertFalse(doubtful("toml", "members = []\na = "))

    def test_members_that_cannot_be_made_out(self) -> None:
        for family, text in (
            ("toml", "a = 1\nmembers = "),
            ("toml", "members = [\n"),
            ("json", '{"members": {"a": 1}}'),
            ("yaml", "members: *rack\na: ["),
            ("yaml", "members: [a, *rack]\na: ["),
            ("yaml", "members:\nother: ["),
        ):
            self.assertTrue(doubtful(family, text), text)

    def test_match(self) -> None:
        """Whoever speaks of it may claim anything."""
        for family, texts in (
            (
                "toml",
                (
                    "[match]",
                    "[ match ]",
                    "[match",
                    '["match"]',
                    "[[match]]",
                    "match.product = 1",
                    "match = {",
                    " match =",
                ),
            ),
            ("yaml", ("match:", "match : {}", " match: {", "{match: {}", "'match': x", "match")),
            ("json", ('{"match": {', '{"a": 1, "match" {', '{\n\t"match"')),
        ):
            for text in texts:
                self.assertTrue(doubtful(family, f"{text}\n"), text)
                self.assertTrue(doubtful(family, text), text)
        for family, text in (
            ("toml", "# match\nrematch = 1\nmatches = 2\n[matches]\na = "),
            ("yaml", "a: match\nmatching: x\n- b: [\n"),
            ("json", '{"a": "rematch", "matches": 1'),
        ):
            self.assertFalse(doubtful(family, text), text)


class XmlTests(SynchronousTestCase):
    def test_members(self) -> None:
        for text in (
            f"<a><answer-meta><member>{A}</member><member>{B}</member><member> {C} </member>",
            f"<a><answer-meta>\n<member>{A}\n<member>{B}</membr>\n<member>{C}",
            f"<a><answer-meta><members>{A}, {B}</members><x:member y='z'>{C}</x:member></a>",
            f"<answer-meta>{A}<member>{B}, {C}</member></answer-meta",
            f"< member >{A}</member><member><![CDATA[{B}]]></member>"
            f"<member>{C.replace('/', '&#47;')}<",
            f"<member>{A}</member><!-- <member>{B}</member> <member>{C}</member>",
            f"<!-- a -- ><member>{A}</member><member>{B}</member><member>{C}</member><!-- b -->",
        ):
            found = tuple(each.removesuffix("]]>") for each in members("xml", text))
            self.assertEqual(found, (A, B, C), text)
            self.assertFalse(doubtful("xml", text), text)

    def test_comments_within(self) -> None:
        self.assertIn("AB", members("xml", "<member>A<!-- x -->B</member>"))

    def test_the_rest_of_a_document_is_no_member(self) -> None:
        text = "<profile><users><user>member</user><membership>x</membership></users>"
        self.assertEqual(salvage("xml", text.encode()), Salvaged((), False))

    def test_match(self) -> None:
        for text in ("<match", "< match a=", "<x:match>", "<answer-meta><match a='b'/>"):
            self.assertTrue(doubtful("xml", text), text)
        self.assertFalse(doubtful("xml", "<matches><rematch> match <member>"))

    def test_other_encodings(self) -> None:
        text = f"<member>{A}</member>"
        for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"):
            self.assertEqual(salvage("xml", text.encode(encoding)), Salvaged((A,), False), encoding)


class TextTests(SynchronousTestCase):
    def test_members(self) -> None:
        """A wrong placeholder elsewhere, or a verb that is misspelt."""
        for text in (
            f"#!ipxe\n# answer: member {A}, {B}\n//answer:members {C}\n{{{{ x\n",
            f"# ANSWER:  Membrs {A},{B},,{C}\n",
            f"# answer: extends\n# answer: member {A}\r\n# answer: member {B}, {C}\r\n",
        ):
            self.assertEqual(members("text", text), (A, B, C), text)
            self.assertFalse(doubtful("text", text), text)

    def test_a_forgotten_comma(self) -> None:
        self.assertLessEqual({A, B}, set(members("text", f"# answer: member {A} {B}\n")))
        self.assertEqual(
            members("text", "# answer: member 98 FA 9B 50 D8 10"), ("98 FA 9B 50 D8 10",)
        )

    def test_match(self) -> None:
        for text in (
            "# answer: match\n",
            "// answer: matches a=b",
            "# answer: mtch a=b",
            "#answer:match",
        ):
            self.assertTrue(doubtful("text", text), text)

    def test_the_rest_of_a_document_is_no_member(self) -> None:
        text = "# answer: extend base\n# answer: examle a=b\nmembers a\n# member b\n# match a=b\n"
        self.assertEqual(salvage("text", text.encode()), Salvaged((), False))


class BytesTests(SynchronousTestCase):
    def test_nothing(self) -> None:
        for family in ("toml", "yaml", "json", "xml", "text"):
            self.assertEqual(salvage(family, b""), Salvaged((), True))

    def test_the_mark_of_an_editor(self) -> None:
        data = f'members = ["{A}"'.encode("utf-8-sig")
        self.assertEqual(salvage("toml", data), Salvaged((A,), False))

    def test_what_is_no_text(self) -> None:
        """Nobody can say what it claims, and what can be read of it is."""
        data = b'\xff\xe9\nmembers = ["%s"]\n' % A.encode()
        self.assertEqual(salvage("toml", data), Salvaged((A,), True))
        self.assertTrue(salvage("xml", "<member>é</member>".encode("latin-1")).doubtful)
        self.assertTrue(salvage("json", b"\xff\xfe{").doubtful)


def toml(names: Sequence[str], many: bool) -> str:
    listed = ",".join(f'\n  "{each}"' if many else f' "{each}"' for each in names)
    return (
        f'extends = "base"\nmembers = [{listed}]  # ours\n\n[global]\nkeyboard = "de"\nx = ["y"]\n'
    )


def json_(names: Sequence[str], many: bool) -> str:
    listed = ",".join(f'\n  "{each}"' if many else f'"{each}"' for each in names)
    return f'{{"extends": "base", "members": [{listed}], "global": {{"x": ["y"], "z": 1}}}}\n'


def yaml(names: Sequence[str], many: bool) -> str:
    listed = "".join(f"\n- {each}" for each in names) if many else f" [{', '.join(names)}]"
    return f"#cloud-config\nextends: base\nmembers:{listed}\nglobal:\n  keyboard: de\n  x: [y]\n"


def xml(names: Sequence[str], many: bool) -> str:
    listed = ("\n" if many else "").join(f"<member>{each}</member>" for each in names)
    return f'<a>\n<answer-meta extends="base">{listed}</answer-meta>\n<b>c</b></a>\n'


def text(names: Sequence[str], many: bool) -> str:
    listed = names if many else [", ".join(names)]
    return "#!ipxe\n" + "".join(f"# answer: member {each}\n" for each in listed) + "echo x\n"


IDENTITIES = st.from_regex(r"[0-9a-fXYZ]{1,3}([:.-][0-9a-fXYZ]{2}){0,5}Q", fullmatch=True)


class CutTests(SynchronousTestCase):
    @settings(max_examples=400, deadline=None)
    @given(
        st.sampled_from(
            [("toml", toml), ("json", json_), ("yaml", yaml), ("xml", xml), ("preseed", text)]
        ),
        st.lists(IDENTITIES, min_size=1, max_size=5, unique=True),
        st.booleans(),
        st.data(),
    )
    def test_no_member_before_the_cut_is_lost(
        self, form: tuple[str, object], names: list[str], many: bool, data: st.DataObject
    ) -> None:
        """
        Of a sound document that breaks off, whatever is whole is found, and nothing else but
        the member that it breaks off in. Whoever stands behind that may be claimed too.
        """
        extension, write = form
        assert callable(write)
        whole = write(names, many)
        family = BY_EXTENSION[extension].family
        self.assertEqual(family.read(whole.encode()).control.members, tuple(names))
        self.assertEqual(salvage(family.name, whole.encode()), Salvaged(tuple(names), False))
        lines = [at + 1 for at, each in enumerate(whole[:-1]) if each == "\n"]
        cut = data.draw(st.integers(0, len(whole) - 1) | st.sampled_from(lines or [0]))
        left = Document.of("groups/g/x", BY_EXTENSION[extension], whole[:cut].encode())
        salvaged = salvage(family.name, left.data)
        found = salvaged.members
        if left.error:
            self.assertTrue(salvaged.doubtful or breaks_off(family.name, left.data), left.data)
        at, standing = whole.index("member"), []
        for name in names:
            at = whole.index(name, at) + len(name)
            if at <= cut:
                standing.append(name)
        self.assertEqual(list(found[: len(standing)]), standing)
        for broken in found[len(standing) :]:
            self.assertTrue(names[len(standing)].startswith(broken), broken)
            self.assertEqual(len(found), len(standing) + 1)

    def test_what_is_whole(self) -> None:
        """A slip of the pen is told from a missing end, wherever it is."""
        for family, text in (
            ("toml", 'members = ["a"\nb = 1\n'),
            ("yaml", "a: [\nb: 1\r\n"),
            ("json", '{"a": "}]", "b": "\\"{", "members": ["a"],}\n'),
            ("json", '{"a": 1}}'),
            ("xml", '<?xml version="1.0"?><!DOCTYPE a><x:a><b></c></x:a >\n'),
            ("text", "# answer: nope\n"),
        ):
            self.assertFalse(breaks_off(family, text.encode()), text)

    def test_what_breaks_off(self) -> None:
        for family, text in (
            *(
                (each, blank)
                for each in ("toml", "yaml", "json", "xml", "text")
                for blank in ("", " \n")
            ),
            ("toml", "members = [\n"),
            ("toml", 'members = [\n  "a",\n'),
            ("toml", "a = 1\nb"),
            ("yaml", "members:\n- a\n-"),
            ("json", '{"a": {"b": "}}'),
            ("json", '{"a": 1, "b": {"c": []}'),
            ("xml", "<a><b/>"),
            ("xml", "<!-- <a> "),
            ("text", "# answer: mem"),
        ):
            self.assertTrue(breaks_off(family, text.encode()), text)


class HostileTests(SynchronousTestCase):
    @settings(max_examples=300, deadline=None)
    @given(
        st.sampled_from(["toml", "yaml", "json", "xml", "text"]),
        st.binary(max_size=80)
        | st.text("membrsatch:=[]{}\"',-#\\ \n<>!&*/a1", max_size=80).map(str.encode)
        | st.lists(
            st.sampled_from(
                [
                    "members",
                    "match",
                    ":",
                    "=",
                    "[",
                    "]",
                    '"',
                    "'",
                    ",",
                    "\n",
                    "- ",
                    "#",
                    "a1",
                    "<member>",
                    "<!--",
                    "# answer: ",
                ]
            )
        ).map(lambda words: "".join(words).encode()),
    )
    def test_anything_is_salvaged(self, family: str, data: bytes) -> None:
        for each in salvage(family, data).members:
            self.assertRegex(each, "[0-9A-Za-z]")
            self.assertEqual(each, each.strip())

    def test_the_largest_documents(self) -> None:
        """Steps grow with the length: what backtracks or begins anew would not end today."""
        for family, start, unit in (
            ("yaml", "", "members: [a,\n"),
            ("yaml", "", '{"members: ['),
            ("yaml", "members:\n- ", " \n"),
            ("yaml", "members: [", " "),
            ("yaml", "members: [", "'a"),
            ("yaml", "members: &", "&"),
            ("yaml", "match", " "),
            ("xml", "", "<member "),
            ("xml", "", "<!--"),
            ("xml", "<", "x."),
            ("json", '"', '\\"'),
            ("json", "", '{"'),
            ("xml", "<a>", "</a "),
            ("text", "# answer: m", " "),
            ("text", "# answer: member ", ","),
        ):
            data = (start + unit * (MAX_DOCUMENT // len(unit)))[:MAX_DOCUMENT].encode()
            salvage(family, data)
            breaks_off(family, data)
