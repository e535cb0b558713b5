"""Tests for ``rescriptum.envfile``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.envfile import Line, edited, parse


class ParseTests(SynchronousTestCase):
    def test_reads_the_grammar(self) -> None:
        """Quotes go, inner blanks stay, nothing expands, ``#`` is data within a line."""
        values, problems = parse(
            "# comment\n\nexport A=1\nB = 'two words '\nC=\"$HOME\"\nD=a#b\n", "f"
        )
        self.assertEqual(problems, [])
        self.assertEqual(
            values,
            {
                "A": Line("1", 3),
                "B": Line("two words ", 4),
                "C": Line("$HOME", 5),
                "D": Line("a#b", 6),
            },
        )

    def test_names_the_line_and_never_the_value(self) -> None:
        _, problems = parse("A=1\nsecret words\nA=2\n", "f")
        self.assertEqual(
            [str(each) for each in problems], ["f:2: want KEY=value", "f:3: A stands in line 1 too"]
        )

    @settings(max_examples=200, deadline=None)
    @given(st.text())
    def test_takes_any_text(self, text: str) -> None:
        parse(text, "f")


class EditedTests(SynchronousTestCase):
    def test_replaces_in_place_and_keeps_the_rest(self) -> None:
        self.assertEqual(edited("# top\nA=1\nB=2\n", {"A": "3"}), "# top\nA=3\nB=2\n")

    def test_a_line_ends_where_systemd_ends_it(self) -> None:
        """Not at what Unicode calls a line end: that is a letter of a comment or a value."""
        text = "# a\x85b\x0cc\nRESCRIPTUM_LOG=all\r\n"
        self.assertEqual(parse(text, "f"), ({"RESCRIPTUM_LOG": Line("all", 2)}, []))
        self.assertEqual(edited(text, {}), text)

    def test_takes_a_commented_setting_into_use(self) -> None:
        """A packaged file holds every setting, commented: it is uncommented where it stands."""
        self.assertEqual(edited("#A=1\n# words\n", {"A": "3"}), "A=3\n# words\n")

    def test_comments_out_what_is_unset(self) -> None:
        self.assertEqual(edited("A=1\nB=2\n", {"A": None}), "#A=1\nB=2\n")

    @settings(max_examples=200, deadline=None)
    @given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
    def test_what_is_written_is_read_back(self, value: str) -> None:
        values, problems = parse(edited("A=1\n", {"A": value}), "f")
        self.assertEqual(problems, [])
        self.assertEqual(values["A"].value, value)
