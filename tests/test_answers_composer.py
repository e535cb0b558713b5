"""Tests for ``rescriptum.answers.composer``."""

from gc import collect
from weakref import ref

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.composer import Composer, compose
from rescriptum.answers.documents import Document
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.answers.template import Template
from rescriptum.errors import MalformedDocument


def document(text: str, name: str = "m/x", extension: str = "json") -> Document:
    return Document.of(f"{name}.{extension}", BY_EXTENSION[extension], text.encode())


class ComposeTests(SynchronousTestCase):
    def test_one_document_is_served_as_it_is_stored(self) -> None:
        """Byte for byte, where there is nothing to fill and nothing to strip."""
        self.assertEqual(compose([document('{"a":1}')]), b'{"a":1}')
        self.assertNotIn(b"extends", compose([document('{"a":1,"extends":"x"}')]))
        self.assertIsInstance(compose([document('{"a":"{{ b }}"}')]), Template)

    def test_a_broken_layer(self) -> None:
        """Whichever it is: its source and its reason."""
        good, bad = document('{"a":1}'), document("{", "groups/g/x")
        for layers in ([bad], [bad, good], [good, bad]):
            with self.assertRaises(MalformedDocument) as caught:
                compose(layers)
            self.assertTrue(str(caught.exception).startswith("groups/g/x.json: "))

    def test_layers_that_do_not_go_together(self) -> None:
        """All their sources, the highest first."""
        layers = [document("<a/>", "groups/g/x", "xml"), document("<b/>", "m/x", "xml")]
        with self.assertRaises(MalformedDocument) as caught:
            compose(layers)
        self.assertTrue(str(caught.exception).startswith("m/x.xml over groups/g/x.xml: "))


class ComposerTests(SynchronousTestCase):
    def test_the_same_documents_are_composed_once(self) -> None:
        """A document of the same bytes is another one; so is the same under another."""
        composer = Composer()
        below, above = document('{"a":1}'), document('{"b":1}')
        self.assertIsNone(composer.known((below, above)))
        body = composer.body((below, above))
        self.assertIs(composer.body((below, above)), body)
        self.assertIs(composer.known((below, above)), body)
        self.assertIsNone(composer.known((above, below)))
        self.assertIsNone(composer.known((below, document('{"b":1}'))))

    def test_what_costs_nothing_is_not_remembered(self) -> None:
        composer = Composer()
        self.assertEqual(composer.known((document("{}"),)), b"{}")
        composer.body((document("{}"),))
        self.assertEqual(len(composer), 0)

    def test_documents_that_are_no_more_are_let_go(self) -> None:
        """A group that names ten thousand members is edited all day: one of them is held."""
        composer = Composer()
        above = document('{"b":1}')
        edited = [document(f'{{"a":{n}}}', "groups/g/x") for n in range(3)]
        gone = [ref(each) for each in edited]
        for each in edited:
            composer.body((each, above))
        del each, edited[:2]
        collect()
        self.assertEqual([each() is None for each in gone], [True, True, False])
        self.assertIsNotNone(composer.known((edited[0], above)))

    def test_room_is_bounded(self) -> None:
        """What was not asked for the longest goes first."""
        layers = [(document('{"a":"x"}'), document(f'{{"b":{n}}}')) for n in range(4)]
        composer = Composer(room=2 * 600)
        composer.body(layers[0])
        composer.body(layers[1])
        self.assertEqual(len(composer), 2)
        composer.known(layers[0])
        composer.body(layers[2])
        self.assertEqual(len(composer), 2)
        self.assertIsNone(composer.known(layers[1]))
        self.assertIsNotNone(composer.known(layers[0]))

    def test_text_counts_as_it_is_held(self) -> None:
        """Four bytes a character, where one of them wants so many."""
        text = "\N{CHART WITH UPWARDS TREND}" * 1000
        layers = (document(f'{{"a":"{text} {{{{ b }}}}"}}'),)
        for room, kept in ((4000, 0), (6000, 1)):
            composer = Composer(room)
            composer.body(layers)
            self.assertEqual(len(composer), kept, room)

    def test_one_that_has_no_room_at_all_is_served(self) -> None:
        composer = Composer(room=10)
        layers = document('{"a":"x"}'), document('{"b":1}')
        self.assertIn(b'"b"', composer.body(layers))
        self.assertEqual(len(composer), 0)
