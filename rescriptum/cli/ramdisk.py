"""``rescriptum ramdisk``: what a ramdisk has done, looked at without it and without a gateway."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, TextIO

from twisted.python.usage import UsageError

from ..config import Reading
from ..errors import ConfigError
from ..values import Problem, printable
from .gateway.keyfiles import content
from .options import Command, Group

if TYPE_CHECKING:
    from ..ramdisk.wipe.claims import DiskClaim
    from ..ramdisk.wipe.verdict import Expected, Verdict

#: What stands before the lines of one disk that follow its first.
_BEHIND: Final = " " * 10


def _at(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s after 1970"


def as_text(verdict: "Verdict") -> str:
    """:returns: what is claimed, for people; nothing, where nobody has signed it."""
    return "".join(f"{printable(line)}\n" for line in _lines(verdict))


def _lines(verdict: "Verdict") -> Iterator[str]:
    result, claims = verdict.result, verdict.claims
    if result is None or claims is None:
        return
    yield f"node      {result.node_id}, by the key {verdict.signer}"
    yield f"command   {result.command_id}, {claims.mode.value}, in boot {result.boot_id}"
    yield f"finished  {_at(result.finished_at)}"
    for each in claims.disks:
        yield from _disk(each)
    if claims.not_listed:
        yield f"{'…':<10}{claims.not_listed} more disks, for which there was no room"
    for left in claims.left_alone:
        yield f"{left.disk:<10}left alone: {left.reason}"
    for complaint in claims.complaints:
        yield f"complaint {complaint}"


def _disk(each: "DiskClaim") -> Iterator[str]:
    from ..ramdisk.wipe.certificate import leaves_out

    names = ", ".join([each.disk, *each.paths])
    serial = f", serial {each.serial}" if each.serial else ""
    yield f"{names:<9} {each.model or 'a disk'}{serial}, {each.size} bytes"
    if each.verified:
        yield f"{_BEHIND}verified: {each.method}, in {each.seconds:g} s"
    else:
        yield f"{_BEHIND}NOT VERIFIED: {each.why_not}"
    for tried in each.tries[:-1]:
        yield f"{_BEHIND}before: {tried.method or 'it'}: {tried.outcome}"
    if each.sampled is not None:
        looked = each.sampled
        yield (
            f"{_BEHIND}looked at: {looked.places - looked.unmarked} of {looked.places} places of"
            f" {looked.bytes} bytes, seed {looked.seed}"
        )
    zeros = sum(place[1] for place in each.zeroed if len(place) == 2)
    if zeros:
        yield f"{_BEHIND}read back as zeros: {zeros} bytes in {len(each.zeroed)} places"
    hidden = each.abilities.get("hidden_sectors")
    if isinstance(hidden, int) and hidden > 0:
        yield f"{_BEHIND}not covered: {hidden} sectors are hidden at this moment (HPA)"
    if each.verified:
        for said in leaves_out(each.method) or ():
            yield f"{_BEHIND}not covered: {said}"


def as_json(verdict: "Verdict") -> dict[str, Any]:
    """:returns: the same, for programs."""
    from ..contract.structure import plain

    made: dict[str, Any] = {
        "good": not verdict.problems,
        "problems": list(verdict.problems),
        "thumbprint": verdict.signer,
    }
    if verdict.result is not None and verdict.claims is not None:
        made |= {
            "node": verdict.result.node_id,
            "command": verdict.result.command_id,
            "boot": verdict.result.boot_id,
            "finished_at": _at(verdict.result.finished_at),
            **plain(verdict.claims),
        }
    return made


class VerifyWipeOptions(Command):
    """``ramdisk verify-wipe``."""

    synopsis = (
        "Usage: rescriptum ramdisk verify-wipe FILE [--node FILE | --thumbprint TEXT] [--json]"
    )
    longdesc = (
        "Checks the certificate of a wipe, asking nobody. FILE is what 'rescriptum gateway command"
        " show ID --json' told of the wipe, or the signed text in it; - is standard input. Exit"
        " codes: 0 every disk is verified, and who signed it was expected; 1 not so; 2 it is no"
        " certificate."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["node", "n", None, "A file: what 'rescriptum gateway node show NODE --json' told."],
        ["thumbprint", "t", None, "Of the node's key: 'jkt' of the same."],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]
    file: str

    def parseArgs(self, *words: str) -> None:
        if len(words) != 1:
            raise UsageError("which FILE?" if not words else f"one too many: {words[1]!r}")
        self.file = words[0]

    def postOptions(self) -> None:
        if self["node"] is not None and self["thumbprint"] is not None:
            raise UsageError("--node or --thumbprint: --node has the thumbprint as well")
        if self["thumbprint"] == "":
            raise UsageError("--thumbprint is empty: 'jkt' of the node belongs there")

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        from ..ramdisk.wipe.verdict import NoCertificate, judged

        try:
            verdict = judged(content(self.file), self._expected())
        except NoCertificate as e:
            raise ConfigError([Problem(self.file, str(e))]) from None
        if self["json"]:
            out.write(json.dumps(as_json(verdict), indent=1) + "\n")
        else:
            out.write(as_text(verdict))
            for problem in verdict.problems:
                err.write(f"error: {Problem(self.file, problem)}\n")
            if verdict.claims is not None and not verdict.problems:
                disks = len(verdict.claims.disks) + verdict.claims.not_listed
                out.write(
                    f"good: {disks} verified, {len(verdict.claims.left_alone)} left alone; signed"
                    " by whom was expected\n"
                )
        return 1 if verdict.problems else 0

    def _expected(self) -> "Expected | None":
        from ..ramdisk.wipe.verdict import Expected, NoCertificate

        if self["node"] is not None:
            try:
                return Expected.of(content(self["node"]))
            except NoCertificate as e:
                raise ConfigError([Problem(self["node"], str(e))]) from None
        return None if self["thumbprint"] is None else Expected(self["thumbprint"])


class RamdiskOptions(Group):
    """The group."""

    synopsis = "Usage: rescriptum ramdisk COMMAND [options]"
    longdesc = "What ramdisks have done; 'twistd -n rescriptum ramdisk' is the agent itself."
    subCommands: ClassVar[list[list[object]]] = [
        ["verify-wipe", None, VerifyWipeOptions, "Is the certificate of a wipe to be believed?"],
    ]
