"""Tests that ``docs/protocol.md`` is the contract: tables, schemas, and each of its examples."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from jsonschema import Draft202012Validator
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.protocol import MESSAGES, filled, schemas, types
from rescriptum.contract.frames import AGENT_FRAMES, SERVER_FRAMES, Received
from rescriptum.contract.frames import agent_frames as read_agent_frames
from rescriptum.contract.frames import server_frame as read_server_frame
from rescriptum.contract.refusals import REFUSALS
from rescriptum.contract.schema import agent_frames, schema, server_frame
from rescriptum.contract.structure import structured

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGE = (DOCS / "protocol.md").read_text("utf-8")
#: A section by its heading, up to the next one of whatever depth.
_SECTION = re.compile(r"^##+ (.+?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"```json\n(.*?)```", re.DOTALL)
_FIELDS = re.compile(r"<!-- made: fields (\w+) -->")


def sections() -> dict[str, str]:
    return {name.strip(): text for name, text in _SECTION.findall(PAGE)}


def examples() -> Iterator[tuple[str, str]]:
    for name, text in sections().items():
        for each in _EXAMPLE.findall(text):
            yield name, each


class MadeTests(SynchronousTestCase):
    """``make reference`` writes them anew."""

    def test_the_tables_are_what_the_types_say(self) -> None:
        self.assertEqual(filled(PAGE), PAGE)

    def test_the_schemas_are_what_the_types_say(self) -> None:
        there = {path.name: path.read_text("utf-8") for path in (DOCS / "schemas").iterdir()}
        self.assertEqual(there, schemas())

    def test_a_field_that_changes_is_seen(self) -> None:
        """What is between the marks does not count, what the types have does."""
        self.assertEqual(filled(PAGE.replace("| `boot_id` | text, 1 to 128 |", "| old |")), PAGE)


class WholeTests(SynchronousTestCase):
    def test_every_message_and_part_has_its_fields(self) -> None:
        """Below a heading of its own name; ``Received`` is how an agent reads any server frame."""
        told = {name: _FIELDS.findall(text) for name, text in sections().items()}
        self.assertEqual(
            sorted(name for found in told.values() for name in found),
            sorted(name for name, each in types().items() if each is not Received),
        )
        for name, found in told.items():
            self.assertIn(found, ([], [name]))

    def test_every_message_has_an_example(self) -> None:
        self.assertLessEqual({each.__name__ for each in MESSAGES}, {name for name, _ in examples()})

    def test_every_path_is_told(self) -> None:
        told = set(re.findall(r"^\| `(GET|POST) /(\S+)` \|", PAGE, re.MULTILINE))
        source = (ROOT / "rescriptum" / "gateway" / "agents" / "resource.py").read_text()
        served = {
            (method.upper(), path.replace("<session>", "SESSION"))
            for method, path in re.findall(r'@routes\.(\w+)\("(\S+)"\)', source)
        }
        self.assertEqual(told, served)

    def test_codes_that_are_named_exist(self) -> None:
        """Words in backticks and brackets, as the steps of verification name them."""
        for group in re.findall(r"\((`[a-z`, -]+`)\)", PAGE):
            for code in re.findall(r"`([a-z-]+)`", group):
                self.assertIn(code, REFUSALS)


class ExampleTests(SynchronousTestCase):
    def test_messages_are_read_and_valid(self) -> None:
        read = 0
        for name, text in examples():
            kind = types().get(name)
            if kind is not None:
                message = json.loads(text)
                Draft202012Validator(schema(kind)).validate(message)
                structured(kind, message)
                read += 1
        self.assertGreaterEqual(read, len(MESSAGES))

    def test_server_frames(self) -> None:
        """One of each, in the order of their numbers."""
        [text] = _EXAMPLE.findall(sections()["Server frames"])
        for number, line in enumerate(text.splitlines()):
            Draft202012Validator(server_frame()).validate(json.loads(line))
            self.assertEqual(read_server_frame(line.encode()).seq, number)
        told = {json.loads(line)["type"] for line in text.splitlines()}
        self.assertEqual(told, set(SERVER_FRAMES))

    def test_agent_frames(self) -> None:
        [text] = _EXAMPLE.findall(sections()["Agent frames"])
        for each in json.loads(text):
            Draft202012Validator(agent_frames()).validate(each)
        told = [type(each) for each in read_agent_frames(text.encode())]
        self.assertEqual(set(told), set(AGENT_FRAMES.values()))
