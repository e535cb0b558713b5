"""``rescriptum gateway command|batch|approve``: what agents are told to do, and who agrees."""

import time
from typing import ClassVar

from twisted.python.usage import UsageError

from ...errors import Refused
from ..options import Group
from .asking import Asked, Listing, Showing, done, seconds, text_of
from .client import Gateway
from .keyfiles import private
from .keys import described, waiting
from .screen import Columns, Screen
from .sites import document

#: Bytes of a signed approval.
_LONGEST = 64 * 1024


class CommandSend(Asked):
    """``command send``."""

    synopsis = "Usage: rescriptum gateway command send NODE KIND [--payload JSON] [options]"
    longdesc = (
        "Sends a command to an agent. One of a kind that destroys waits until its approvers agree, "
        "where agents ask for that: 'rescriptum gateway batch list' shows it then."
    )
    optFlags: ClassVar[list[list[str | None]]] = [
        ["attested", None, "Have the agent sign the result."],
    ]
    optParameters: ClassVar[list[list[str | None]]] = [
        ["payload", "p", None, "As the kind wants it: JSON, or @FILE."],
        ["lifetime", "l", "15m", "After which it is not to be run any more: 90, 30m, 12h."],
        ["about", None, None, "For the people who approve it."],
    ]
    takes = ("NODE", "KIND")

    def __init__(self) -> None:
        super().__init__()
        self.refs: list[str] = []

    def opt_secret(self, text: str) -> None:
        """A secret that its agent may ask for while it runs; as often as there are such."""
        self.refs.append(text)

    def postOptions(self) -> None:
        self.lifetime = seconds(self["lifetime"])
        text = self["payload"] or "{}"
        if text.startswith("@"):
            text = text_of(text[1:])
        self.payload = document("--payload", text)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        node, kind = self.words
        body = {
            "node": node,
            "kind": kind,
            "payload": self.payload,
            "secret_refs": self.refs,
            "lifetime_s": self.lifetime,
            "attested": bool(self["attested"]),
            **self.given(about="about"),
        }
        made = await gateway.post("commands", body=body)
        where = f"; it waits for approval: batch {made['batch']}" if "batch" in made else ""
        return done(screen, made, f"{made['id']} is {made['state']}{where}")


class CommandList(Listing):
    """``command list``."""

    synopsis = "Usage: rescriptum gateway command list [--node NODE] [--state STATE]"
    longdesc = "Commands, the newest first."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["node", "n", None, "For this node."],
        ["state", "s", None, "waiting, queued, delivered, journalled, done, failed, refused, …"],
        ["workflow", "w", None, "Of this workflow."],
    ]
    path, key, filters = ("commands",), "commands", ("node", "state", "workflow")
    columns: ClassVar[Columns] = [
        ("command", "id"),
        ("node", "node"),
        ("kind", "kind"),
        ("state", "state"),
        ("code", "result.code"),
        ("issued", "issued_at"),
        ("finished", "finished_at"),
    ]


class CommandShow(Showing):
    """``command show``."""

    synopsis = "Usage: rescriptum gateway command show ID"
    longdesc = "One command, its payload, and what became of it."
    path, takes = ("commands",), ("ID",)


class CommandRevoke(Asked):
    """``command revoke``."""

    synopsis = "Usage: rescriptum gateway command revoke ID"
    longdesc = "Takes a command back, if its agent has not begun with it."
    takes = ("ID",)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        told = await gateway.post("commands", self.words[0], "revoke")
        return done(screen, told, f"{told['id']} is {told['state']}")


class CommandOptions(Group):
    """``command``."""

    synopsis = "Usage: rescriptum gateway command COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["send", None, CommandSend, "Send one."],
        ["list", None, CommandList, "All of them, the newest first."],
        ["show", None, CommandShow, "One of them."],
        ["revoke", None, CommandRevoke, "Take one back."],
    ]


class BatchList(Listing):
    """``batch list``."""

    synopsis = "Usage: rescriptum gateway batch list [--all]"
    longdesc = "What waits for approval; with --all, also what does not wait any more."
    optFlags: ClassVar[list[list[str | None]]] = [["all", "a", "Also what does not wait."]]
    columns: ClassVar[Columns] = [
        ("batch", "id"),
        ("about", "about"),
        ("approved", "approved"),
        ("quorum", "quorum"),
        ("created", "created_at"),
    ]

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        state = None if self["all"] else "waiting"
        found = await gateway.pages("batches", "batches", state=state)
        screen.rows("batches", found, self.columns)
        return 0


class BatchShow(Showing):
    """``batch show``."""

    synopsis = "Usage: rescriptum gateway batch show BATCH"
    longdesc = "What a batch would do, with the digests that approvers sign, and who has."
    path, takes = ("batches",), ("BATCH",)


class BatchOptions(Group):
    """``batch``."""

    synopsis = "Usage: rescriptum gateway batch COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["list", None, BatchList, "What waits for approval."],
        ["show", None, BatchShow, "What one would do."],
    ]


class ApproveOptions(Asked):
    """``approve``."""

    synopsis = "Usage: rescriptum gateway approve BATCH --key FILE | --approval FILE"
    longdesc = (
        "Approves what waits in a batch, which 'batch show' tells: by an approver's key that is on"
        " this host, or by an approval that 'rescriptum gateway keys sign' made elsewhere."
        " What is shown is what was approved: every command by its digest."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["key", "k", None, "The approver's private key."],
        ["approval", "a", None, "The signed approval."],
    ]
    takes = ("BATCH",)

    def postOptions(self) -> None:
        if (self["approval"] is None) == (self["key"] is None):
            raise UsageError("by what? --key FILE, or --approval FILE that is signed already")
        if self["approval"] is not None:
            self.approval = text_of(self["approval"], _LONGEST).strip()

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        batch = self.words[0]
        if self["key"] is not None:
            self.approval = await self._signed(gateway, batch, screen)
        told = await gateway.post("batches", batch, "approvals", body={"approval": self.approval})
        given, quorum = len(told["approvals"]), told["quorum"]
        state = "approved" if told["approved"] else "it waits"
        return done(screen, told, f"{batch}: {given} of {quorum} approvals; {state}")

    async def _signed(self, gateway: Gateway, batch: str, screen: Screen) -> str:
        from ...contract.refusals import Rejected
        from ...gateway.statements import approval

        key = private(self["key"])
        found = (await gateway.get("batches", batch))["commands"]
        wanted = waiting(found)
        for line in described(wanted.values()):
            screen.said(line)
        try:
            return approval(key, batch, wanted, int(time.time()))
        except Rejected as e:
            raise Refused(f"{batch}: {e.detail}") from None
