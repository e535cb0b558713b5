"""Tests for ``rescriptum.contract.frames``: what travels in a session."""

import json

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.frames import (
    AGENT_FRAMES,
    FRAMES,
    SERVER_FRAMES,
    STATUSES,
    Ack,
    Heartbeat,
    Ping,
    Received,
    Release,
    Status,
    agent_fields,
    agent_frames,
    server_fields,
    server_frame,
)
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.reports import DISCOVERED, Discovered, StatusReport
from rescriptum.contract.structure import LONGEST_FRAME, plain, rendered

from .contract_values import DOCUMENTS, values


def _seen(machines: int) -> dict[str, object]:
    found = tuple(Discovered("52:54:00:00:00:01") for _ in range(min(machines, DISCOVERED)))
    fields = agent_fields(Status(StatusReport(discovered=found)))
    report = fields["report"]
    assert isinstance(report, dict)
    report["discovered"] += [plain(found[0])] * (machines - len(found))
    return fields


class ServerFrameTests(SynchronousTestCase):
    def code(self, line: bytes) -> str:
        return str(self.assertRaises(Rejected, server_frame, line).code)

    @given(st.data())
    def test_each_reads_back(self, data: st.DataObject) -> None:
        frame = data.draw(values(data.draw(st.sampled_from(list(SERVER_FRAMES.values())))))
        ack = data.draw(st.none() | values(Ack))
        line = {"seq": 7, "ack": None if ack is None else plain(ack), **server_fields(frame)}
        self.assertEqual(server_frame(rendered(line)), Received(7, frame, ack))

    def test_an_ack_may_be_left_out(self) -> None:
        self.assertEqual(server_frame(b'{"seq":0,"type":"ping"}'), Received(0, Ping(), None))

    def test_what_is_none(self) -> None:
        for line in (
            b"[]",
            b"{}",
            b'{"seq":0}',
            b'{"seq":0,"type":"other"}',
            b'{"seq":0,"type":["ping"]}',
            b'{"type":"ping"}',
            b'{"seq":-1,"type":"ping"}',
            b'{"seq":true,"type":"ping"}',
            b'{"seq":0,"type":"ping","more":1}',
            b'{"seq":0,"type":"ping","ack":{"beat":1,"epoch":0}}',
            b'{"seq":0,"type":"ping","ack":[]}',
        ):
            self.assertEqual(self.code(line), "invalid-message", line)
        self.assertEqual(self.code(b"ping"), "malformed-json")

    def test_the_bound_of_a_line(self) -> None:
        start = b'{"seq":0,"type":"close","reason":"x"'
        self.assertTrue(server_frame(start + b" " * (LONGEST_FRAME - len(start) - 1) + b"}"))
        self.assertEqual(self.code(start + b" " * (LONGEST_FRAME - len(start)) + b"}"), "too-large")

    @given(st.binary(max_size=80) | DOCUMENTS.map(rendered))
    def test_garbage_is_refused_and_nothing_else(self, line: bytes) -> None:
        try:
            server_frame(line)
        except Rejected as e:
            self.assertIn(e.code, ("malformed-json", "invalid-message"))


class AgentFrameTests(SynchronousTestCase):
    def code(self, body: bytes) -> str:
        return str(self.assertRaises(Rejected, agent_frames, body).code)

    @given(st.data())
    def test_each_reads_back(self, data: st.DataObject) -> None:
        kinds = data.draw(st.lists(st.sampled_from(list(AGENT_FRAMES.values())), max_size=4))
        sent = [data.draw(values(each)) for each in kinds]
        self.assertEqual(agent_frames(rendered([agent_fields(each) for each in sent])), sent)

    def test_all_or_none(self) -> None:
        """A list with one frame that is wrong says nothing."""
        good, bad = agent_fields(Heartbeat(1)), {"type": "heartbeat"}
        self.assertEqual(self.code(rendered([good, bad])), "invalid-message")

    def test_what_is_none(self) -> None:
        for body in b"{}", b"[1]", b"[[]]", b'["ping"]', b'[{"type":"release","epoch":0}]':
            self.assertEqual(self.code(body), "invalid-message", body)

    def test_the_bound_of_a_list(self) -> None:
        status = [agent_fields(Status(StatusReport()))]
        self.assertEqual(len(agent_frames(json.dumps(status * STATUSES).encode())), STATUSES)
        for many in (status * (STATUSES + 1), [_seen(DISCOVERED + 1)]):
            with self.assertRaises(Rejected):
                agent_frames(json.dumps(many).encode())
        agent_frames(json.dumps([_seen(DISCOVERED)]).encode())
        frames = [agent_fields(Release(1))] * FRAMES
        self.assertEqual(len(agent_frames(json.dumps(frames).encode())), FRAMES)
        self.assertEqual(self.code(json.dumps([*frames, frames[0]]).encode()), "too-large")

    @given(st.binary(max_size=80) | st.lists(DOCUMENTS, max_size=3).map(rendered))
    def test_garbage_is_refused_and_nothing_else(self, body: bytes) -> None:
        try:
            agent_frames(body)
        except Rejected as e:
            self.assertIn(e.code, ("malformed-json", "invalid-message"))
