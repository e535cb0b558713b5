"""Tests for ``rescriptum.answers.formats.places``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.formats.places import wrong


class WrongTests(SynchronousTestCase):
    def test_a_placeholder_without_quotes_is_the_usual_reason(self) -> None:
        self.assertEqual(
            str(wrong("a: 1\nb: {{ mac }}\n", 2, "odd")),
            'line 2: odd; a placeholder stands in quotes: "{{ mac }}"',
        )
        self.assertEqual(str(wrong("b: '{{ mac }}'\n", 1, "odd")), "line 1: odd")

    def test_quotes_within_quotes(self) -> None:
        """They end the text in the middle of the placeholder, which is seldom seen at once."""
        text = 'b: "x-{{ mac | replace(":", "") }}"\n'
        self.assertEqual(
            str(wrong(text, 1, "odd")),
            "line 1: odd; a placeholder with quotes in it stands in the others: "
            '\'{{ mac | replace(":", "") }}\'',
        )
        self.assertEqual(
            str(wrong(text, 1, "odd", "")),
            "line 1: odd; quotes in a placeholder have a backslash before them: "
            '{{ mac | replace(\\":\\", \\"\\") }}',
        )
        for fine in (r'"{{ x | default(\"y\") }}"', "'{{ x | default(\"y\") }}'", '"{{ x }}"'):
            self.assertEqual(str(wrong(fine, 1, "odd")), "line 1: odd")

    def test_a_line_of_braces_is_looked_at_once(self) -> None:
        """A million of them: not once for each of them to the end."""
        for line in ("{" * 1_000_000, "{{ x" * 250_000):
            self.assertEqual(str(wrong(line, 1, "odd")), "line 1: odd")
