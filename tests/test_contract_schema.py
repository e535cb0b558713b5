"""Tests for ``rescriptum.contract.schema``: schemas say what the types take."""

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.bounds import NAME, SIGNED
from rescriptum.contract.commands import Command, Envelope, Result
from rescriptum.contract.frames import (
    AGENT_FRAMES,
    SERVER_FRAMES,
    Ack,
    agent_fields,
    server_fields,
)
from rescriptum.contract.joining import JoinRequest, TrustBundle
from rescriptum.contract.schema import agent_frames, definitions, schema, server_frame
from rescriptum.contract.sessions import Welcome
from rescriptum.contract.structure import JSON, plain, structured

from .contract_values import KINDS, values


def properties(kind: type) -> dict[str, dict[str, object]]:
    found = schema(kind)["properties"]
    assert isinstance(found, dict)
    return found


class SchemaTests(SynchronousTestCase):
    def test_every_message_has_one(self) -> None:
        """By its own rules, of draft 2020-12."""
        self.assertGreater(len(KINDS), 30)
        for kind in KINDS:
            Draft202012Validator.check_schema(schema(kind))

    @given(st.data())
    def test_what_is_sent_is_valid(self, data: st.DataObject) -> None:
        """A value of each type fits its schema, and reads back as itself."""
        kind = data.draw(st.sampled_from(KINDS))
        value = data.draw(values(kind))
        message = plain(value)
        Draft202012Validator(schema(kind)).validate(message)
        self.assertEqual(structured(kind, message), value)

    def test_bounds_are_the_validators_own(self) -> None:
        self.assertEqual(properties(Welcome)["heartbeat_ms"]["minimum"], 100)
        self.assertEqual(properties(Welcome)["heartbeat_ms"]["maximum"], 60_000)
        self.assertEqual(properties(Command)["node_id"]["maxLength"], NAME)
        self.assertEqual(properties(Envelope)["signed"]["maxLength"], SIGNED)
        self.assertEqual(properties(Envelope)["signed"]["type"], ["string", "null"])
        self.assertEqual(properties(Envelope)["approvals"]["maxItems"], 16)

    def test_names(self) -> None:
        validator = Draft202012Validator(properties(Command)["node_id"])
        for good in "n-1", "a.b:c_d", "~", "x" * NAME:
            self.assertTrue(validator.is_valid(good), good)
        for bad in "", "a b", "a/b", "\u00e9", "x" * (NAME + 1), "a\x1b":
            self.assertFalse(validator.is_valid(bad), bad)

    def test_what_is_missing_or_unknown_is_invalid(self) -> None:
        message = plain(Result(True, "ok"))
        validator = Draft202012Validator(schema(Result))
        self.assertTrue(validator.is_valid({"ok": True, "code": "ok"}))
        self.assertFalse(validator.is_valid({"ok": True}))
        self.assertFalse(validator.is_valid({**message, "more": 1}))

    def test_docstrings_are_told(self) -> None:
        self.assertEqual(properties(TrustBundle)["approvers"]["description"], "JWKs.")
        self.assertEqual(schema(TrustBundle)["description"], "Whom an agent takes commands from.")
        self.assertEqual(properties(JoinRequest)["token"]["description"], "a JoinToken, sealed.")

    def test_one_name_is_one_type(self) -> None:
        """Of two rooms, whose definitions are to stand in one document."""
        other = type("Result", (), {"__attrs_attrs__": ()})
        self.assertRaises(ValueError, definitions, [Result, other], "#/")


class FrameTests(SynchronousTestCase):
    @given(st.data())
    def test_server_frames(self, data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from(list(SERVER_FRAMES.values())))
        ack = data.draw(st.none() | values(Ack))
        line: JSON = {
            "seq": 1,
            "ack": None if ack is None else plain(ack),
            **server_fields(data.draw(values(kind))),
        }
        Draft202012Validator(server_frame()).validate(line)

    @given(st.data())
    def test_agent_frames(self, data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from(list(AGENT_FRAMES.values())))
        frame = agent_fields(data.draw(values(kind)))
        Draft202012Validator(agent_frames()).validate(frame)

    def test_a_frame_has_a_type_and_a_number(self) -> None:
        validator = Draft202012Validator(server_frame())
        self.assertTrue(validator.is_valid({"seq": 0, "type": "ping"}))
        self.assertFalse(validator.is_valid({"type": "ping"}))
        self.assertFalse(validator.is_valid({"seq": 0, "type": "pong"}))
        self.assertFalse(validator.is_valid({"seq": 0, "type": "ping", "more": 1}))
