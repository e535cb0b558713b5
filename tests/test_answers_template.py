"""Tests for ``rescriptum.answers.template``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.facts import Facts
from rescriptum.answers.template import FILTERS, MAX_OUTPUT, MAX_VALUE, Template
from rescriptum.errors import MalformedDocument, Unfillable


def fill(text: str, **query: str) -> str:
    return Template.parse(text).fill(Facts.of(("seg",), tuple(query.items())))


class FillTests(SynchronousTestCase):
    def test_a_value_in_its_place(self) -> None:
        """Blanks inside the braces do not matter, nor does the case of the name."""
        for place in ("{{ name }}", "{{name}}", "{{\tNAME  }}"):
            self.assertEqual(fill(f"a {place} z", name="v"), "a v z")

    def test_the_first_of_several_values(self) -> None:
        facts = Facts.of((), (("a", "1"), ("a", "2")))
        self.assertEqual(Template.parse("{{a}}{{ a }}").fill(facts), "11")

    def test_names_may_be_dotted(self) -> None:
        facts = Facts.of((), body=b'{"dmi": {"asset-tag": "A_1"}}')
        self.assertEqual(Template.parse("{{ dmi.asset-tag }}").fill(facts), "A_1")

    def test_single_braces_are_text(self) -> None:
        """iPXE's own settings, shell, and closing braces alone stay as they are."""
        text = "set x ${net0/mac} }} { {a} %{x}\n"
        self.assertEqual(fill(text), text)

    def test_a_missing_value_names_what_there_is(self) -> None:
        """
        Never an empty string. Names that could not be asked for, hostile ones too, are left out
        of the message.
        """
        with self.assertRaises(Unfillable) as caught:
            fill("{{ serial }}", mac="x", uuid="y", **{"bad\nname": "z"})
        self.assertEqual(
            str(caught.exception),
            'template needs {{ serial }}, but this request carries no "serial"; '
            "it carries file, mac, path, segment, uuid",
        )

    def test_the_message_is_bounded(self) -> None:
        with self.assertRaises(Unfillable) as caught:
            fill("{{ x }}", **{f"n{at}": "v" for at in range(500)})
        self.assertLess(len(str(caught.exception)), 500)

    def test_controls_are_refused(self) -> None:
        """A line end in a value would begin a line of the document; filters do not launder it."""
        for value in ("a\nb", "a\rb", "\x00", "\x1b[2J", "\x7f", "\x85", "\u2028", "\udcff"):
            for place in ("{{ x }}", '{{ x | replace("\udcff","") | default("y") }}'):
                with self.assertRaises(Unfillable):
                    fill(place, x=value)

    def test_letters_of_any_script_are_fine(self) -> None:
        self.assertEqual(fill("{{ x }}", x="Straße 5, 東京 \u00ad"), "Straße 5, 東京 \u00ad")

    def test_a_filled_value_is_not_read_again(self) -> None:
        """What a request carries is data: braces in it stay braces."""
        self.assertEqual(fill("{{ x }}", x="{{ y }}"), "{{ y }}")

    def test_a_long_value(self) -> None:
        self.assertEqual(fill("{{ x }}", x="v" * MAX_VALUE), "v" * MAX_VALUE)
        with self.assertRaises(Unfillable):
            fill("{{ x }}", x="v" * (MAX_VALUE + 1))

    def test_a_long_document(self) -> None:
        """A stranger's value times many places is bounded."""
        places = "{{ x }}" * (MAX_OUTPUT // MAX_VALUE)
        self.assertEqual(len(fill(places, x="v" * MAX_VALUE)), MAX_OUTPUT)
        with self.assertRaises(Unfillable):
            fill(places + "!", x="v" * MAX_VALUE)


class FilterTests(SynchronousTestCase):
    def test_default(self) -> None:
        """Stands in for a fact that is not there, and for none that is; it may be empty."""
        self.assertEqual(fill('{{ x | default("d e") }}'), "d e")
        self.assertEqual(fill('{{ x|default("d") }}', x="v"), "v")
        self.assertEqual(fill('[{{ x | default("") }}]'), "[]")

    def test_lower_and_upper(self) -> None:
        self.assertEqual(fill("{{ x | lower }}{{ x | upper }}", x="aB"), "abAB")

    def test_replace(self) -> None:
        self.assertEqual(fill('{{ mac | replace(":", "-") }}', mac="a:b:c"), "a-b-c")
        self.assertEqual(fill('{{ mac | replace( ":" ,"" )|upper }}', mac="a:b:c"), "ABC")

    def test_filters_run_from_left_to_right(self) -> None:
        """A missing value passes through until a default makes one of it."""
        self.assertEqual(fill('{{ x | lower | default("Aa") | upper }}'), "AA")
        self.assertEqual(fill('{{ x | upper | replace("A","b") }}', x="a"), "b")

    def test_quotes_in_arguments(self) -> None:
        r"""``\"`` and ``\\`` are a quote and a backslash; braces and bars are themselves."""
        self.assertEqual(fill(r'{{ x | default("\"\\}}|{{") }}'), r'"\}}|{{')

    def test_literal_braces(self) -> None:
        self.assertEqual(fill('{{ "{{" }} .Node {{"}}"}}'), "{{ .Node }}")

    def test_every_filter_is_exercised(self) -> None:
        self.assertEqual(set(FILTERS), {"default", "lower", "upper", "replace"})


class ParseTests(SynchronousTestCase):
    def test_what_cannot_be_read_names_its_line(self) -> None:
        """Every mistake is found when the document is loaded, none when a machine asks."""
        for place in (
            "{{ x",
            "{{ x\n}}",
            "{{}}",
            "{{ }}",
            "{{ a b }}",
            "{{ a/b }}",
            "{{ ä }}",
            "{{ x | trim }}",
            "{{ x | default }}",
            "{{ x | default() }}",
            "{{ x | default(y) }}",
            '{{ x | default("a","b") }}',
            '{{ x | lower("a") }}',
            '{{ x | replace("a") }}',
            '{{ x | replace("","a") }}',
            '{{ x | default("a\nb") }}',
            r'{{ x | default("\n") }}',
            "{{ x | }}",
            "{{ x }",
            '{{ "x" }}',
            "{{{ x }}}",
        ):
            with self.assertRaises(MalformedDocument, msg=place) as caught:
                Template.parse(f"one\ntwo {place} three\n")
            self.assertTrue(str(caught.exception).startswith("line 2: "), str(caught.exception))

    def test_the_message_says_what_was_found(self) -> None:
        with self.assertRaises(MalformedDocument) as caught:
            Template.parse("{{ x | trim }}")
        self.assertEqual(str(caught.exception), "line 1: no filter | trim")
        with self.assertRaises(MalformedDocument) as caught:
            Template.parse("{{ a b }} c }}")
        self.assertIn("'{{ a b }}' is not", str(caught.exception))

    @settings(max_examples=300, deadline=None)
    @given(st.text(alphabet='{}| "\\,()\nabdeflortuw\x00é', max_size=60))
    def test_anything_parses_or_is_malformed(self, text: str) -> None:
        """And what parses fills, or is unfillable; without ``{{`` it stays what it is."""
        try:
            template = Template.parse(text)
        except MalformedDocument:
            return
        try:
            filled = template.fill(Facts.of((), (("a", "1"),)))
        except Unfillable:
            return
        if "{{" not in text:
            self.assertEqual(filled, text)

    @settings(max_examples=200, deadline=None)
    @given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]), max_size=30))
    def test_arguments_survive_quoting(self, text: str) -> None:
        """Any printable text can be a default."""
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        self.assertEqual(fill(f'{{{{ x | default("{quoted}") }}}}'), text)

    @settings(max_examples=200, deadline=None)
    @given(
        st.lists(st.text(alphabet="ab \n${}", max_size=8).filter(lambda t: "{" not in t)),
        st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=20),
    )
    def test_text_around_places_stays(self, texts: list[str], value: str) -> None:
        self.assertEqual(fill("{{ x }}".join(texts), x=value), value.join(texts))
