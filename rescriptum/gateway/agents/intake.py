"""What agents say within a session, recorded: one transaction a request, answered afterwards."""

from collections.abc import Callable, Sequence
from typing import Final

from attrs import define, field, frozen
from sqlalchemy import Connection

from ...contract.commands import AttestedResult
from ...contract.frames import (
    Accepted,
    Ack,
    AgentFrame,
    Heartbeat,
    Journalled,
    Refused,
    Release,
    ResultFrame,
    Status,
)
from ...contract.jose import opened
from ...contract.keys import public_key, trusted
from ...contract.refusals import Rejected
from ...contract.structure import JSON, structured
from ..records import CommandRow, Node, SessionRow
from ..stores import commands, events, leases, nodes, sessions

#: Frames of one request that are told of as refused; of the others it is told how many.
TOLD: Final = 8


@frozen
class Taken:
    """What was recorded. :ivar session: whose it was."""

    session: SessionRow
    accepted: Accepted


def take(
    connection: Connection, session: str, token_digest: str, frames: Sequence[AgentFrame], now: int
) -> Taken:
    """
    Record all that can be.

    A frame that cannot be recorded is told among the events and answered like the others: sent
    again it would be no better.

    :raises Rejected: ``unknown-session``, ``superseded`` or ``unknown-node``.
    """
    row = sessions.by_token(connection, session, token_digest)
    sessions.heard(connection, [row.id], now)
    taking = _Taking(connection, row, now)
    beats = [each for each in frames if isinstance(each, Heartbeat)]
    if beats:
        taking.beat(beats[-1])
    for frame in frames:
        taking.frame(frame)
    taking.tell()
    return Taken(row, taking.accepted())


@define
class _Taking:
    _connection: Connection
    _session: SessionRow
    _now: int
    _ack: Ack | None = field(default=None, init=False)
    _results: list[str] = field(factory=list, init=False)
    _released: list[int] = field(factory=list, init=False)
    _journalled: list[str] = field(factory=list, init=False)
    _events: list[tuple[str, str, JSON]] = field(factory=list, init=False)
    _refused: int = field(default=0, init=False)

    def accepted(self) -> Accepted:
        return Accepted(
            self._ack, tuple(self._results), tuple(self._released), tuple(self._journalled)
        )

    def _node(self) -> Node:
        """All that is known of it: more than a heartbeat needs."""
        return nodes.get(self._connection, self._session.node)

    def beat(self, frame: Heartbeat) -> None:
        """The newest alone: what it proves, the others prove as well."""
        site, session = self._session.site, self._session.id
        if frame.epoch and leases.record(self._connection, site, frame.epoch, session):
            self._ack = Ack(frame.beat, frame.epoch)

    def frame(self, frame: AgentFrame) -> None:
        if isinstance(frame, Release):
            leases.release(self._connection, self._session.site, frame.epoch, self._session.node)
            self._released.append(frame.epoch)
        elif isinstance(frame, Journalled):
            self._recorded(frame.command_id, lambda: self._journal(frame))
            self._journalled.append(frame.command_id)
        elif isinstance(frame, ResultFrame):
            self._recorded(frame.command_id, lambda: self._result(frame))
            self._results.append(frame.command_id)
        elif isinstance(frame, Refused):
            self._recorded(frame.command_id, lambda: self._refusal(frame))
            self._results.append(frame.command_id)
        elif isinstance(frame, Status):
            self._recorded(self._session.node, lambda: self._status(frame))

    def _recorded(self, subject: str, record: Callable[[], None]) -> None:
        try:
            with self._connection.begin_nested():  # what was written of it goes with it
                record()
        except Rejected as e:
            self._refused += 1
            if self._refused <= TOLD:
                self._tell(
                    "frame.refused", self._session.node, about=subject, code=e.code, detail=e.detail
                )

    def _tell(self, what: str, subject: str, /, **data: object) -> None:
        self._events.append((what, subject, data))

    def tell(self) -> None:
        """Last of all: whoever appends events holds up everybody else who does."""
        if self._refused > TOLD:
            self._tell("frame.refused", self._session.node, more=self._refused - TOLD)
        for kind, subject, data in self._events:
            said = {"node": self._session.node, **data}
            events.append(self._connection, kind, self._session.site, subject, said, self._now)

    def _journal(self, frame: Journalled) -> None:
        commands.journalled(self._connection, frame.command_id, self._session.node, self._now)

    def _result(self, frame: ResultFrame) -> None:
        row = commands.get(self._connection, frame.command_id)
        attestation = frame.attestation if row.attested else None
        if row.attested:
            self._attested(row, frame)
        first = commands.finished(
            self._connection, row.id, self._session.node, frame.result, self._now, attestation
        )
        if first:
            self._ended(
                "command.done" if frame.result.ok else "command.failed", row, frame.result.code
            )

    def _attested(self, row: CommandRow, frame: ResultFrame) -> None:
        if frame.attestation is None:
            raise Rejected("bad-signature", "the result is not attested")
        key = public_key(self._node().jwk, "Ed25519")
        said = structured(AttestedResult, opened("result", frame.attestation, trusted(key)).claims)
        if (said.command_id, said.node_id) != (row.id, self._session.node):
            raise Rejected("bad-signature", "the attestation is for another command or node")
        if said.command_digest != row.digest:
            raise Rejected("bad-signature", "the attestation is for other octets")
        if said.result != frame.result:
            raise Rejected("bad-signature", "another result is attested")

    def _refusal(self, frame: Refused) -> None:
        row = commands.get(self._connection, frame.command_id)
        code, detail, node = frame.code, frame.detail, self._session.node
        if commands.refused(self._connection, row.id, node, code, detail, self._now):
            self._ended("command.refused", row, code)

    def _ended(self, what: str, row: CommandRow, code: str) -> None:
        self._tell(what, row.id, kind=row.kind, workflow=row.workflow, code=code)

    def _status(self, frame: Status) -> None:
        before = {each.name: each.state for each in self._node().sections}
        nodes.report(self._connection, self._session.node, frame.report, self._now)
        for each in frame.report.sections:
            if before.get(each.name) is not each.state:
                self._tell(
                    "node.section",
                    self._session.node,
                    section=each.name,
                    state=each.state.value,
                    reason=each.reason,
                )
