"""What the gateway is to be told, and is told again until it says that it has heard it."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from attrs import evolve

from ..contract.commands import AttestedResult, Result
from ..contract.frames import (
    FRAMES,
    Accepted,
    AgentFrame,
    Journalled,
    Refused,
    Release,
    ResultFrame,
    agent_fields,
)
from ..contract.jose import sign
from ..contract.keys import Key, public_jwk
from ..contract.refusals import Rejected
from ..contract.structure import plain, rendered
from .journal import Entry

#: Bytes of frames in one request, unless one alone has more.
BATCH: Final = 512 * 1024
#: Frames that wait, of each sort: what is dropped, the oldest first, the gateway asks for again.
RELEASES, COMMANDS, RESULTS = 16, 512, 64

#: What a frame is about: told again until the gateway names it.
_About: TypeAlias = tuple[type[AgentFrame], str | int]


def result_frame(entry: Entry, node_id: str, key: Key) -> ResultFrame:
    """
    :param entry: of a command that is done.
    :param key: of the node, which signs where the command wants that.
    """
    assert entry.result is not None
    assert entry.finished_at is not None
    frame = ResultFrame(entry.command.command_id, entry.result, entry.finished_at)
    if not entry.command.attested:
        return frame
    try:
        return evolve(frame, attestation=_attested(entry, entry.result, node_id, key))
    except Rejected as e:
        told = Result(False, "too-large", f"done, and its result cannot be signed: {e}")
        return evolve(frame, result=told, attestation=_attested(entry, told, node_id, key))


def _attested(entry: Entry, result: Result, node_id: str, key: Key) -> str:
    assert entry.finished_at is not None
    claims = AttestedResult(
        entry.command.command_id,
        entry.digest,
        node_id,
        entry.boot_id or "",
        result,
        entry.finished_at,
        dict(public_jwk(key)),
    )
    return sign("result", plain(claims), key)


class Outbox:
    """
    Frames in the order in which they are told: releases first, since somebody waits for the lease.

    Nothing is on a disk: results are in the journal, and for all else the gateway asks again.
    """

    def __init__(self) -> None:
        self._releases: dict[_About, AgentFrame] = {}
        self._commands: dict[_About, AgentFrame] = {}
        self._results: dict[_About, AgentFrame] = {}
        self._singly = False

    def __len__(self) -> int:
        return len(self._releases) + len(self._commands) + len(self._results)

    def release(self, epoch: int) -> None:
        """This epoch is never served again: on any later session as well."""
        _put(self._releases, (Release, epoch), Release(epoch), RELEASES)

    def journalled(self, command_id: str) -> None:
        """A command is in the journal, though it may have been refused before."""
        self._commands.pop((Refused, command_id), None)
        _put(self._commands, (Journalled, command_id), Journalled(command_id), COMMANDS)

    def refused(self, command_id: str, error: Rejected) -> None:
        """A command was not taken."""
        frame = Refused(command_id, error.code, error.detail[:2048])
        _put(self._commands, (Refused, command_id), frame, COMMANDS)

    def results(self, frames: Iterable[ResultFrame]) -> None:
        """Results of the journal that the gateway does not have."""
        for each in frames:
            _put(self._results, (ResultFrame, each.command_id), each, RESULTS)

    def batch(self) -> list[AgentFrame]:
        """:returns: what is to be told next, within the bounds of one request."""
        made: list[AgentFrame] = []
        size = 0
        for queue in (self._releases, self._commands, self._results):
            for frame in queue.values():
                size += len(rendered(agent_fields(frame))) + 1
                if made and (size > BATCH or len(made) >= (1 if self._singly else FRAMES - 1)):
                    return made
                made.append(frame)
        return made

    def told(self, batch: Sequence[AgentFrame], answer: Accepted) -> list[str]:
        """
        :param batch: that ``answer`` is the answer to.
        :returns: ids of commands whose results the gateway has.
        """
        self._singly = False
        for epoch in answer.released:
            self._releases.pop((Release, epoch), None)
        for command_id in answer.journalled:
            self._commands.pop((Journalled, command_id), None)
        for command_id in answer.results:
            self._commands.pop((Refused, command_id), None)
        self._commands.pop((Refused, ""), None)  # of no name: nobody can say that it was heard
        own = {each.command_id for each in batch if isinstance(each, ResultFrame)}
        done = [command_id for command_id in answer.results if command_id in own]
        for command_id in done:
            self._results.pop((ResultFrame, command_id), None)
        return done

    def spurned(self, batch: Sequence[AgentFrame]) -> None:
        """
        The gateway does not understand something in ``batch``: tell it one by one from now on, and
        what it was last of all, so that it stands in nobody's way.
        """
        self._singly = True
        if len(batch) == 1:
            for queue in (self._releases, self._commands, self._results):
                for about, frame in queue.items():
                    if frame is batch[0]:
                        queue[about] = queue.pop(about)
                        return


def _put(queue: dict[_About, AgentFrame], about: _About, frame: AgentFrame, most: int) -> None:
    queue.setdefault(about, frame)
    if len(queue) > most:
        del queue[next(iter(queue))]
