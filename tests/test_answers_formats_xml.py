"""Tests for ``rescriptum.answers.formats.xml``, and for what it lays out and over what."""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.control import Control
from rescriptum.answers.criteria import Criterion
from rescriptum.answers.facts import Facts
from rescriptum.answers.formats.family import Value
from rescriptum.answers.formats.markup import MAX_DEPTH
from rescriptum.answers.formats.xml import compose, read, values
from rescriptum.answers.template import Template
from rescriptum.errors import MalformedDocument

CONFIG = 'xmlns:config="http://www.suse.com/1.0/configns"'
PROFILE = f"""\
<?xml version="1.0"?>
<!DOCTYPE profile>
<!-- Everybody's. -->
<profile xmlns="http://www.suse.com/1.0/yast2ns" {CONFIG}>
  <general>
    <mode>
      <confirm config:type="boolean">false</confirm>   <!-- nobody is there -->
    </mode>
  </general>
  <users config:type="list">
    <user>
      <username>root</username>
    </user>
    <user>
      <username>ann</username>
    </user>
  </users>
</profile>
<!-- End. -->
"""
UNATTEND = """\
<unattend xmlns="urn:schemas-microsoft-com:unattend">
  <settings pass="windowsPE">
    <component name="Setup" processorArchitecture="amd64">
      <UserData><AcceptEula>true</AcceptEula></UserData>
    </component>
    <component name="Setup" processorArchitecture="arm64">
      <UserData><AcceptEula>false</AcceptEula></UserData>
    </component>
  </settings>
  <settings pass="specialize">
    <component name="Shell" processorArchitecture="amd64">
      <ComputerName>*</ComputerName>
    </component>
  </settings>
</unattend>
"""


def composed(*layers: str) -> str:
    """What has no placeholder."""
    whole = compose([each.encode("utf-8") for each in layers])
    assert isinstance(whole, bytes)
    return whole.decode("utf-8")


def filled(*layers: str, **facts: str) -> str:
    whole = compose([each.encode("utf-8") for each in layers])
    assert isinstance(whole, Template)
    return whole.fill(Facts.of((), tuple(facts.items())))


def plain(text: str) -> str:
    """Without what only lays out, comments too."""
    canonical: str = etree.canonicalize(text, strip_text=True)
    return canonical


class RefusalCase(SynchronousTestCase):
    def refuse(self, data: str | bytes, *words: str) -> None:
        with self.assertRaises(MalformedDocument) as caught:
            read(data.encode("utf-8") if isinstance(data, str) else data)
        for word in words:
            self.assertIn(word, str(caught.exception))


class ReadTests(RefusalCase):
    def test_control(self) -> None:
        """In the namespace of the document or in none; comments in it do not matter."""
        for space in ("", ' xmlns="urn:x"'):
            control = read(
                f"""<unattend{space}>
                  <answer-meta extends=" base ">
                    <member>52-54-00-12-34-56</member><!-- the first -->
                    <member> A<!-- -->1 </member>
                    <match product="R6*" site="x"/>
                    <match Site="!y"/>
                    <example product="R640 &amp; more"/>
                  </answer-meta>
                  <answer-meta><match peer="192.0.2.0/24"/></answer-meta>
                </unattend>""".encode()
            ).control
            self.assertEqual(
                control,
                Control(
                    "base",
                    ("52-54-00-12-34-56", "A1"),
                    (
                        Criterion.of("product", ["R6*"]),
                        Criterion.of("site", ["x", "!y"]),
                        Criterion.of("peer", ["192.0.2.0/24"]),
                    ),
                    ((("product", "R640 & more"),),),
                ),
            )

    def test_only_at_the_top(self) -> None:
        self.assertEqual(read(b'<a><b><answer-meta extends="c"/></b></a>').control, Control())

    def test_wrong_control_is_named(self) -> None:
        def meta(inner: str, attributes: str = "") -> str:
            return f"<a>\n<answer-meta{attributes}>\n{inner}\n</answer-meta></a>"

        self.refuse(meta("", ' extend="x"'), "line 2", "extends", "not extend")
        self.refuse(meta("", ' extends=" "'), "line 2: extends")
        self.refuse('<a><answer-meta extends="x"/>\n<answer-meta extends="y"/></a>', "line 2")
        self.refuse(meta("52-54-00-12-34-56"), "line 2", "member, match and example")
        self.refuse(meta("<members>x</members>"), "line 3", "member, match and example", "members")
        self.refuse(meta("<member/>"), "line 3: member")
        self.refuse(meta("<member>a, b</member>"), "line 3: member: want one identity")
        self.refuse(meta("<match/>"), "line 3: match", "attributes")
        self.refuse(meta("\n<match a='--'/>"), "line 4: match.a")
        self.refuse(meta("<example/>"), "line 3: example")

    def test_messages_are_bounded(self) -> None:
        with self.assertRaises(MalformedDocument) as caught:
            read(b"<a><answer-meta><member>" + b"a," * 9999 + b"</member></answer-meta></a>")
        self.assertLess(len(str(caught.exception)), 300)

    def test_placeholders(self) -> None:
        """
        In texts and attributes; not in comments and instructions, and not in what is never
        served. A character reference is the character.
        """
        for data in (
            "<a>{{ x }}</a>",
            "<a><b/>{{ x }}</a>",
            "<a><!-- -->{{ x }}</a>",
            '<a b="{{ x }}"/>',
            "<a><![CDATA[{{ x }}]]></a>",
            "<a>&#123;{ x }}</a>",
        ):
            self.assertTrue(read(data.encode()).placeholders, data)
        for data in (
            "<!-- {{ --><a><!-- {{ x --><?b {{ x ?></a>",
            "<a><answer-meta><member>{{ x</member></answer-meta></a>",
            "<a>{ { x } }</a>",
        ):
            self.assertFalse(read(data.encode()).placeholders, data)

    def test_wrong_placeholders_are_named_by_their_line(self) -> None:
        self.refuse("<a>\n<b>\n{{ x | y }}</b></a>", "line 3", "no filter | y")
        self.refuse('<a>\n<b c="{{ x"/></a>', "line 2: {{ without }}")
        self.refuse("<a>\n<b>\n<c>\n</c>\n</b>\n{{ x</a>", "line 6")
        self.refuse("<a>{{ x }}\n<b>{{ y }\n</b></a>", "line 2")
        self.refuse("<a>\n<!--\n-->\n{{ x</a>", "line 4")
        self.refuse("<a>\r\n<b\r\n c='d'>\r\n{{ x</b></a>", "line 4")


class SyntaxTests(RefusalCase):
    def test_what_is_no_xml(self) -> None:
        self.refuse("", "line 1: not XML")
        self.refuse(
            "<a>\n<b>\n</a>", "line 3: not XML: Opening and ending tag mismatch: b line 2 and a"
        )
        self.refuse("<a>1 < 2 & 3</a>", "line 1")
        self.refuse("<a/><b/>", "line 1")
        self.refuse("<a:b/>", "line 1")
        self.refuse("\n<?xml version='1.0'?><a/>", "line 2")
        self.refuse(b"<a>\n\0</a>", "line 2")

    def test_entities_weld_nothing(self) -> None:
        """The five, and those by number, in texts and in attributes."""
        text = '<a b="&lt;&quot;&#x41;">1 &lt; 2 &amp; 3 &#65;&gt;&apos;</a>'
        for whole in (composed(text), composed(text, "<a><c/></a>"), composed("<a/>", text)):
            root = etree.fromstring(whole.encode())
            self.assertEqual(root.get("b"), '<"A')
            self.assertIn(root.text, ("1 < 2 & 3 A>'", "\n  "))
        self.assertEqual(etree.fromstring(composed("<a/>", text).encode()).text, "1 < 2 & 3 A>'")

    def test_other_entities_are_refused(self) -> None:
        """Wherever they are used, and whoever would say what they are."""
        for doctype in ("", "<!DOCTYPE a>", '<!DOCTYPE a SYSTEM "a.dtd">', "<!DOCTYPE a [ %x; ]>"):
            self.refuse(f"{doctype}<a>\n&b;</a>", "not XML: ")
            self.refuse(f'{doctype}<a>\n<b c="&b;"/></a>', "not XML: ")
        for declared in ('b "c"', 'b SYSTEM "c"', '% b "c"', '% b SYSTEM "c"'):
            self.refuse(f"<!DOCTYPE a [\n<!ENTITY {declared}> ]><a>&b;</a>", "line 2")
            self.refuse(f'<!DOCTYPE a [\n<!ENTITY {declared}> ]><a b="&b;"/>', "line 2")
            self.refuse(f"<!DOCTYPE a [\n<!ENTITY {declared}> ]><a/>", "line 2", "entities")

    def test_no_bomb_goes_off(self) -> None:
        laughs = '<!ENTITY a0 "ha">' + "".join(
            f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(12)
        )
        self.refuse(f"<!DOCTYPE a [{laughs}]><a>&a12;</a>", "line 1")
        self.refuse(f'<!DOCTYPE a [{laughs}]><a b="&a12;"/>', "line 1")

    def test_nothing_is_fetched(self) -> None:
        """A DOCTYPE's files are neither read nor missed."""
        here = Path(self.mktemp())
        here.write_text('<!ATTLIST a b CDATA "read"><!ENTITY c "read">')
        for address in (here.absolute().as_uri(), "http://127.0.0.1:9/a.dtd", "/nonexistent"):
            text = f'<!DOCTYPE a SYSTEM "{address}">\n<a/>\n'
            self.assertEqual(composed(text, "<a/>"), text)
            self.refuse(f'<!DOCTYPE a SYSTEM "{address}"><a>&c;</a>', "Entity")
        include = f'<a xmlns:x="http://www.w3.org/2001/XInclude"><x:include href="{here}"/></a>\n'
        self.assertEqual(composed(include, "<a/>"), include)

    def test_depth(self) -> None:
        """A bound of ours: what follows elements downwards ends."""

        def nested(depth: int) -> str:
            return '<a t="list">' * depth + "</a>" * depth

        self.assertEqual(plain(composed(nested(MAX_DEPTH), "<a/>")), '<a t="list"></a>')
        values(nested(MAX_DEPTH).encode())
        for depth in (MAX_DEPTH + 1, 300, 100_000):
            self.refuse(nested(depth), "line 1")

    def test_encodings(self) -> None:
        """What is declared or begins with a mark is read; all that is written is UTF-8."""
        for encoding in (
            "utf-8",
            "UTF8",
            "utf-8-sig",
            "utf-16",
            "utf-16-le",
            "utf-32",
            "ISO-8859-1",
            "windows-1252",
        ):
            declared = encoding.removesuffix("-sig").removesuffix("-le")
            text = f'<?xml version="1.0" encoding="{declared}"?>\n<a b="ä">é</a>\n'
            whole = compose([text.encode(encoding), b"<a/>"])
            self.assertEqual(
                whole, '<?xml version="1.0" encoding="UTF-8"?>\n<a b="ä">é</a>\n'.encode(), encoding
            )
        self.assertEqual(compose(["<a>é</a>".encode("utf-16")] * 2), "<a>é</a>\n".encode())

    def test_other_encodings_are_refused(self) -> None:
        self.refuse(b"<a>\n\xe9</a>", "line 2: not utf-8")
        for name in (b"klingon", b"hex", b"idna", b"utf-7", b"iso-8859-99"):
            self.refuse(b'<?xml version="1.0" encoding="%s"?><a/>' % name, "line 1", name.decode())


class KeptTests(SynchronousTestCase):
    def test_the_base_stays_as_it_is_written(self) -> None:
        """But for the declaration, which says what is now the case."""
        expected = PROFILE.replace('"1.0"?', '"1.0" encoding="UTF-8"?')
        self.assertEqual(composed(PROFILE), expected)
        self.assertEqual(
            composed(PROFILE, "<profile xmlns='http://www.suse.com/1.0/yast2ns'/>"), expected
        )
        self.assertEqual(composed("<a\n b='c'\r\n/>"), '<a b="c"/>\n')

    def test_a_declaration_of_any_layer(self) -> None:
        for layers in (
            ("<?xml version='1.0'?><a/>", "<a/>"),
            ("<a/>", "<?xml version='1.0' ?>\n<a/>"),
        ):
            self.assertEqual(composed(*layers), '<?xml version="1.0" encoding="UTF-8"?>\n<a/>\n')
        self.assertEqual(composed("<?xml-stylesheet b?><a/>"), "<?xml-stylesheet b?><a/>\n")

    def test_a_doctype_of_any_layer(self) -> None:
        """The lowest one, with all that it says."""
        doctype = '<!DOCTYPE b [\n<!-- "]>\' -->\n<!ELEMENT a ANY>\n<!ATTLIST a c CDATA ">]">\n]>'
        self.assertEqual(composed(f"<!-- x -->\n{doctype}\n<a/>"), f"<!-- x -->\n{doctype}\n<a/>\n")
        self.assertEqual(
            composed("<!-- x -->\n<a/>", f"{doctype}<a/>"), f"{doctype}\n<!-- x -->\n<a/>\n"
        )
        self.assertEqual(composed("<!DOCTYPE a>\n<a/>", f"{doctype}<a/>"), "<!DOCTYPE a>\n<a/>\n")

    def test_control_goes_with_its_line(self) -> None:
        for before, after in (
            ('<a>\n  <answer-meta extends="b"/>\n  <c/>\n</a>', "<a>\n  <c/>\n</a>"),
            ('<a>\n  <c/>\n  <answer-meta extends="b"/>\n</a>', "<a>\n  <c/>\n</a>"),
            ('<a>\n  <answer-meta extends="b"/>\n</a>', "<a>\n</a>"),
            ('<a><answer-meta extends="b"/></a>', "<a></a>"),
            ('<a><c/><answer-meta extends="b"/>d</a>', "<a><c/>d</a>"),
            ('<a>e<answer-meta extends="b"/></a>', "<a>e</a>"),
            ('<a>\n<!-- d -->\n<answer-meta extends="b"/>\n</a>', "<a>\n<!-- d -->\n</a>"),
        ):
            self.assertEqual(composed(before).replace("<a/>", "<a></a>"), after + "\n")

    def test_cdata(self) -> None:
        """What nothing comes over stays one; what is copied or filled says the same."""
        script = '<a><b><![CDATA[x < 1 && "y"]]></b></a>'
        self.assertEqual(composed(script), script + "\n")
        root = etree.fromstring(composed("<a/>", script).encode())
        self.assertEqual(root.findtext("b"), 'x < 1 && "y"')
        self.assertIn(
            "<b>x &lt; <1</b>".replace("<1", "1"),
            filled("<a><b><![CDATA[x < {{ y }}]]></b></a>", y="1"),
        )


class LayerTests(SynchronousTestCase):
    def lay(self, *layers: str) -> None:
        """The last is what is expected, whatever its layout."""
        *layers_, expected = layers
        self.assertEqual(plain(composed(*layers_)), plain(expected))

    def test_attributes(self) -> None:
        self.lay('<a b="1" c="2"/>', '<a c="3" d="4"/>', '<a b="1" c="3" d="4"/>')

    def test_text(self) -> None:
        """Replaced by one that is not blank: there is no way to take something away."""
        self.lay("<a><b>1</b></a>", "<a><b>2</b></a>", "<a><b>2</b></a>")
        self.lay("<a><b>1</b></a>", "<a><b> \n</b></a>", "<a><b>1</b></a>")
        self.lay("<a><b/></a>", "<a><b>2</b></a>", "<a><b>2</b></a>")
        self.lay("<a>1<!-- x -->2</a>", "<a>3<!-- y -->4</a>", "<a>34</a>")

    def test_text_and_elements_replace_each_other(self) -> None:
        self.lay("<a><b>1</b></a>", "<a><b><c/></b></a>", "<a><b><c/></b></a>")
        self.lay("<a><b><c/></b></a>", "<a><b>1</b></a>", "<a><b>1</b></a>")
        self.lay("<a>1<b/>2</a>", "<a>3<c/>4</a>", "<a>3<c/>4</a>")

    def test_elements_of_one_name(self) -> None:
        self.lay("<a><b><c/></b></a>", "<a><b><d/></b><e/></a>", "<a><b><c/><d/></b><e/></a>")

    def test_discriminators(self) -> None:
        """In any case; the first of the five that is there; with the element's name."""
        for name in ("name", "id", "key", "alias", "pass", "NAME", "Pass"):
            self.lay(
                f'<a><b {name}="1"><c>x</c></b><b {name}="2"/><d {name}="1"/></a>',
                f'<a><b {name}="3"/><b {name}="1"><c>y</c></b></a>',
                f'<a><b {name}="1"><c>y</c></b><b {name}="2"/><d {name}="1"/><b {name}="3"/></a>',
            )
        self.lay(
            '<a><b pass="1" name="x">p</b><b pass="1" name="y">q</b></a>',
            '<a><b pass="1" name="y">r</b></a>',
            '<a><b pass="1" name="x">p</b><b pass="1" name="y">r</b></a>',
        )
        self.lay(
            '<a><b name="1">x</b></a>',
            '<a><b id="1">y</b></a>',
            '<a><b name="1">x</b><b id="1">y</b></a>',
        )
        self.lay('<a><b name="1">x</b></a>', "<a><b>y</b></a>", '<a><b name="1">x</b><b>y</b></a>')

    def test_windows(self) -> None:
        """
        Passes are told apart, components by name, and those of one name by what else is the
        same.
        """
        machine = """<unattend xmlns="urn:schemas-microsoft-com:unattend">
          <settings pass="specialize"><component name="Shell"><ComputerName>n1</ComputerName>
          </component></settings>
          <settings pass="windowsPE"><component name="Setup" processorArchitecture="arm64">
          <UserData><AcceptEula>maybe</AcceptEula></UserData></component></settings>
          <settings pass="oobeSystem"/></unattend>"""
        expected = UNATTEND.replace("*", "n1").replace("false", "maybe")
        expected = expected.replace("</unattend>", '<settings pass="oobeSystem"/></unattend>')
        self.lay(UNATTEND, machine, expected)

    def test_marked_lists(self) -> None:
        """Both of AutoYaST's marks, on either side; an empty list is one."""
        marks = (f'{CONFIG} config:type="list"', 't="list"')
        for mark in marks:
            for below, above in ((mark, ""), ("", mark), (mark, mark)):
                for new in ("", "<c>9</c>", "<c>8</c><c>9</c>", "<d/>"):
                    self.lay(
                        f"<a><b {below}><c>1</c><c>2</c></b></a>",
                        f"<a><b {above}>{new}</b></a>",
                        f"<a><b {mark}>{new}</b></a>",
                    )
        self.lay(f"<a {marks[0]}/>", f"<a {marks[1]}/>", f"<a {marks[1]}/>")
        self.lay(f"<a {marks[1]}/>", f"<a {marks[0]}/>", f"<a {marks[0]}/>")

    def test_elements_that_repeat_are_a_list(self) -> None:
        """On either side; where they stood, and everything beside them stays."""
        one, two, three = ("".join(f"<c>{n}</c>" for n in range(count)) for count in (1, 2, 3))
        new = "<c>7</c>", "<c>8</c><c>9</c>", "<c>7</c><c>8</c><c>9</c>"
        for old in (two, three):
            for each in new:
                self.lay(f"<a><b/>{old}<d/></a>", f"<a>{each}</a>", f"<a><b/>{each}<d/></a>")
        for each in new:
            self.lay(f"<a><b/>{one}<d/></a>", f"<a>{each}</a>", f"<a><b/>{each}<d/></a>")
            self.lay("<a><b/></a>", f"<a>{each}</a>", f"<a><b/>{each}</a>")

    def test_different_roots(self) -> None:
        for other in ("<b/>", '<a xmlns="urn:x"/>'):
            with self.assertRaises(MalformedDocument) as caught:
                composed("<a/>", other)
            self.assertIn("different root elements: a, then ", str(caught.exception))

    def test_namespaces(self) -> None:
        """By what they are, not by their prefixes; an attribute's prefix comes with it."""
        self.lay(
            '<a xmlns="urn:1"><b c="1"/></a>',
            '<x:a xmlns:x="urn:1" xmlns:y="urn:2"><x:b y:d="2"/><y:e/></x:a>',
            '<a xmlns="urn:1" xmlns:y="urn:2"><b c="1" y:d="2"/><y:e/></a>',
        )
        whole = composed("<a><b/></a>", f'<a {CONFIG}><b config:type="list"/></a>')
        self.assertEqual(whole, f'<a {CONFIG}><b config:type="list"/></a>\n')
        clash = composed('<a xmlns:y="urn:1" y:c="1"/>', '<a xmlns:y="urn:2" y:c="2"/>')
        root = etree.fromstring(clash.encode())
        self.assertEqual(dict(root.attrib), {"{urn:1}c": "1", "{urn:2}c": "2"})
        language = composed("<a/>", '<a xml:lang="de"/>')
        self.assertEqual(language, '<a xml:lang="de"/>\n')

    def test_three_layers(self) -> None:
        self.lay(
            "<a><b>1</b></a>",
            "<a><b>2</b><c>2</c></a>",
            "<a><c>3</c></a>",
            "<a><b>2</b><c>3</c></a>",
        )


class LayoutTests(SynchronousTestCase):
    def test_new_elements(self) -> None:
        """Behind the others, as far in as they are; what is in them two blanks more a level."""
        self.assertEqual(
            composed(
                "<a>\n    <b/> <!-- why -->\n</a>",
                "<a><b><d/></b><c><d>1</d><!-- lost? --><e f='g'><h/></e></c></a>",
            ),
            "<a>\n    <b>\n      <d/>\n    </b> <!-- why -->\n    <c>\n      <d>1</d>\n"
            '      <!-- lost? -->\n      <e f="g">\n        <h/>\n      </e>\n    </c>\n</a>\n',
        )

    def test_in_a_line(self) -> None:
        self.assertEqual(
            composed("<a><b/></a>", "<a><c><d/></c></a>"),
            "<a><b/>\n  <c>\n    <d/>\n  </c>\n</a>\n",
        )

    def test_lists(self) -> None:
        machine = """<profile xmlns="http://www.suse.com/1.0/yast2ns">
<users t="list"><user><username>bob</username></user></users>
<general><mode><confirm>true</confirm></mode></general></profile>"""
        expected = PROFILE.replace(">false<", ">true<").replace('"1.0"?', '"1.0" encoding="UTF-8"?')
        at, end = expected.index("  <users"), expected.index("</profile>")
        users = """  <users t="list">
    <user>
      <username>bob</username>
    </user>
  </users>
"""
        self.assertEqual(composed(PROFILE, machine), expected[:at] + users + expected[end:])
        self.assertEqual(
            composed("<a>\n <b>1</b>\n <b>2</b>\n <c/>\n</a>", "<a><b/><b/><b><d/></b></a>"),
            "<a>\n <b/>\n <b/>\n <b>\n   <d/>\n </b>\n <c/>\n</a>\n",
        )
        self.assertEqual(
            composed("<a>\n <b>1</b>\n <b>2</b>\n</a>", "<a><b>3</b></a>"), "<a>\n <b>3</b>\n</a>\n"
        )

    def test_text_between_elements_is_no_layout(self) -> None:
        self.assertEqual(
            composed("<a>1 <b/> 2</a>", "<a><c><d/></c></a>"), "<a>1 <b/> 2<c><d/></c></a>\n"
        )
        self.assertEqual(
            composed("<a>1 <b/>2<b/>3</a>", "<a><b>x</b><b/><b/></a>"),
            "<a>1 <b>x</b>2<b/><b/>3</a>\n",
        )
        self.assertEqual(
            composed("<a/>", "<a><b>1 <c/> 2</b></a>"), "<a>\n  <b>1 <c/> 2</b>\n</a>\n"
        )


class FillTests(SynchronousTestCase):
    VALUE = "a\"b'c<d>e&f ]]> é"

    def test_what_a_request_says_is_text_everywhere(self) -> None:
        text = (
            '<?xml version="1.0"?><a b="&lt;{{ x }}\'&#10;&quot;"><c>&amp;{{ x }}&#13;</c>'
            "<d/>{{ x }}<!-- {{ x }} --> {{ x }}<e><![CDATA[<&{{ x }}]]></e></a>"
        )
        for whole in (filled(text, x=self.VALUE), filled("<a/>", text, x=self.VALUE)):
            root = etree.fromstring(whole.encode("utf-8"))
            self.assertEqual(root.get("b"), f"<{self.VALUE}'\n\"")
            self.assertEqual(root.findtext("c"), f"&{self.VALUE}\r")
            self.assertEqual(root[1].tail, self.VALUE)
            self.assertEqual(root[2].tail, f" {self.VALUE}")
            self.assertEqual(root.findtext("e"), f"<&{self.VALUE}")
            self.assertIn("<!-- {{ x }} -->", whole)

    def test_what_is_replaced_needs_no_filling(self) -> None:
        self.assertEqual(composed("<a><b>{{ x }}</b></a>", "<a><b>1</b></a>"), "<a><b>1</b></a>\n")

    def test_braces_that_mean_themselves(self) -> None:
        self.assertEqual(composed('<a>{{ "{{" }} x }}</a>'), "<a>{{ x }}</a>\n")

    def test_a_document_cannot_forge_a_stand_in(self) -> None:
        """Not in another encoding, nor by numbers."""
        for data in (
            "<a><b>filled0x0x</b><c>{{ x }}</c></a>".encode("utf-16"),
            b"<a><b>&#102;illed0x0x</b><c>{{ x }}</c></a>",
            b"<a><!-- filled0x0x --><b>filled0x0x</b><c>{{ x }}</c></a>",
        ):
            whole = compose([data])
            assert isinstance(whole, Template)
            root = etree.fromstring(whole.fill(Facts.of((), (("x", "1"),))).encode())
            self.assertEqual((root.findtext("b"), root.findtext("c")), ("filled0x0x", "1"))


class ValuesTests(SynchronousTestCase):
    def test_values(self) -> None:
        """In order, control and layout left out; lists are one each."""
        self.assertEqual(
            values(
                f"""<a {CONFIG} b="c"><answer-meta extends="x"/><!-- y -->
                <d name="1" e="2" config:type="map"> {{{{ x }}}} <f/> </d>
                <g>1</g><h/><g i="3">2</g><k t="list"><l>1</l><l><m>2</m><n name="o">3</n></l></k>
                <p name="q">4</p><p name="r">5</p></a>""".encode()
            ),
            [
                Value("/a/@b", "c"),
                Value("/a/d[name=1]/@e", "2"),
                Value("/a/d[name=1]", "{{ x }}"),
                Value("/a/d[name=1]/f", ""),
                Value("/a/g", "[1, {@i: 3, 2}]"),
                Value("/a/h", ""),
                Value("/a/k", "[1, {m: 2, n[name=o]: 3}]"),
                Value("/a/p[name=q]", "4"),
                Value("/a/p[name=r]", "5"),
            ],
        )

    def test_of_a_composed_document(self) -> None:
        self.assertEqual(
            values(composed(PROFILE).encode())[-1],
            Value("/profile/users", "[{username: root}, {username: ann}]"),
        )


NAMES = st.sampled_from("abc")
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["name", "x", "t"]), st.sampled_from(["1", "2"]), max_size=2
)


def elements(depth: int) -> st.SearchStrategy[str]:
    """Each name is for one kind of content, as in what installers read; none repeats."""
    inner = (
        st.just("")
        if depth == 0
        else st.dictionaries(NAMES, elements(depth - 1), max_size=3).map(
            lambda found: "".join(found[name].replace("?", name) for name in sorted(found))
        )
    )
    return st.tuples(ATTRIBUTES, inner, st.sampled_from("12")).map(
        lambda each: (
            "<?"
            + "".join(f' {n}="{v}"' for n, v in each[0].items())
            + f">{each[1]}<v>{each[2]}</v></?>"
        )
    )


DOCUMENTS = elements(2).map(lambda text: f"<r>{text.replace('?', 'a')}</r>")


class PropertyTests(SynchronousTestCase):
    @settings(max_examples=100, deadline=None)
    @given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
    def test_layering_is_associative(self, first: str, second: str, third: str) -> None:
        """A chain may be composed from either end; and the highest layer is all there."""
        whole = composed(first, second, third)
        self.assertEqual(plain(composed(composed(first, second), third)), plain(whole))
        self.assertEqual(plain(composed(first, composed(second, third))), plain(whole))
        self.assertEqual(plain(composed(whole, third)), plain(whole))
        self.assertLessEqual(set(values(third.encode())), set(values(whole.encode())))

    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(st.text("<a b=\"'1'></!-[]&;#x{} \n", max_size=60), min_size=1, max_size=2),
        st.binary(max_size=60),
    )
    def test_anything_is_read_or_malformed(self, texts: Sequence[str], junk: bytes) -> None:
        """With a line; and what is read is composed with itself, and stays readable."""
        for data in [
            *(each.encode() for each in texts),
            *(f"<a>{each}</a>".encode() for each in texts),
            junk,
        ]:
            try:
                head = read(data)
            except MalformedDocument as e:
                self.assertRegex(str(e), r"^line \d+: ")
                continue
            for layers in ([data], [data, data]):
                whole = compose(layers)
                if isinstance(whole, Template):
                    self.assertTrue(head.placeholders)
                    continue
                read(whole)
            values(data)

    @settings(max_examples=200, deadline=None)
    @given(
        st.text(
            st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"),
            min_size=1,
        )
    )
    def test_every_text_comes_through(self, value: str) -> None:
        root = etree.fromstring(filled('<a b="{{ x }}">{{ x }}</a>', x=value).encode())
        self.assertEqual((root.get("b"), root.text), (value, value))
