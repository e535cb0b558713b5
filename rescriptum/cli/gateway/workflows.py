"""``rescriptum gateway workflow|deploy|inspect|wipe|power``: what is done to a machine."""

import json
from typing import Any, ClassVar

from twisted.python.usage import UsageError

from ..options import Group
from .asking import Asked, Listing, Showing, done
from .client import Gateway
from .screen import Columns, Screen
from .watch import follow


class WorkflowList(Listing):
    """``workflow list``."""

    synopsis = "Usage: rescriptum gateway workflow list [--machine NAME] [--state STATE]"
    longdesc = "Workflows, the newest first."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["machine", "m", None, "About this machine."],
        ["state", "s", None, "running, done, failed or cancelled."],
    ]
    path, key, filters = ("workflows",), "workflows", ("machine", "state")
    columns: ClassVar[Columns] = [
        ("workflow", "id"),
        ("kind", "kind"),
        ("machine", "machine"),
        ("site", "site"),
        ("state", "state"),
        ("reason", "reason"),
        ("operator", "operator"),
        ("created", "created_at"),
    ]


class WorkflowShow(Showing):
    """``workflow show``."""

    synopsis = "Usage: rescriptum gateway workflow show ID"
    longdesc = "One workflow, step by step."
    path, takes = ("workflows",), ("ID",)


class WorkflowCancel(Asked):
    """``workflow cancel``."""

    synopsis = "Usage: rescriptum gateway workflow cancel ID"
    longdesc = (
        "Ends a workflow where it is. A wipe or the writing of an image that has begun stops, and "
        "leaves nothing that boots; what else an agent has begun goes on to its end."
    )
    takes = ("ID",)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        told = await gateway.post("workflows", self.words[0], "cancel")
        return done(screen, told, f"{told['id']} is {told['state']}")


class WorkflowOptions(Group):
    """``workflow``."""

    synopsis = "Usage: rescriptum gateway workflow COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["list", None, WorkflowList, "All of them, the newest first."],
        ["show", None, WorkflowShow, "One of them, step by step."],
        ["cancel", None, WorkflowCancel, "End one where it is."],
    ]


class _Start(Asked):
    """A command that starts a workflow. :cvar kind: of it."""

    optFlags: ClassVar[list[list[str | None]]] = [["watch", "w", "Follow it to its end."]]
    takes: ClassVar[tuple[str, ...]] = ("MACHINE",)
    kind: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.more: dict[str, Any] = {}

    def opt_set(self, text: str) -> None:
        """KEY=VALUE: any other parameter of the workflow; VALUE is JSON, or else a text."""
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"not KEY=VALUE: {text!r}")
        try:
            self.more[name] = json.loads(value)
        except (ValueError, RecursionError):
            self.more[name] = value

    def parameters(self) -> dict[str, Any]:
        """:returns: what the options say."""
        return {}

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        parameters = {**self.parameters(), **self.more}
        body = {"kind": self.kind, "machine": self.words[0], "parameters": parameters}
        made = await gateway.post("workflows", body=body)
        if self["watch"]:
            return await follow(gateway, screen, made["id"])
        ID = made["id"]
        return done(screen, made, f"{ID} is {made['state']}: rescriptum gateway watch {ID}")


class DeployOptions(_Start):
    """``deploy``."""

    synopsis = "Usage: rescriptum gateway deploy MACHINE --image NAME [options]"
    longdesc = (
        "ERASES the machine's disks, writes an image to one of them and starts it: network boot, "
        "power by its BMC where it has one, wipe, write, user data, kexec."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["image", "i", None, "One that the gateway knows."],
        ["user-data", "u", None, "The secret that is the user data."],
        ["wipe", None, None, "How thoroughly: quick, secure or crypto."],
    ]
    kind = "deploy"

    def postOptions(self) -> None:
        if self["image"] is None and not {"url", "sha256"} <= self.more.keys():
            raise UsageError("which image? --image NAME, or --set url=… --set sha256=…")

    def parameters(self) -> dict[str, Any]:
        return self.given(image="image", user_data_ref="user-data", wipe="wipe")


class InspectOptions(_Start):
    """``inspect``."""

    synopsis = "Usage: rescriptum gateway inspect MACHINE [--diagnose PARTS] [--watch]"
    longdesc = "Boots the machine's ramdisk, has it say what the machine has, and turns it off."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["diagnose", "d", None, "Try out too: memory, disk, cpu, gpu, with commas; or all."],
    ]
    kind = "inspect"

    def parameters(self) -> dict[str, Any]:
        parts = self["diagnose"]
        if parts is None:
            return {}
        return {"diagnose": [] if parts == "all" else parts.split(",")}


class WipeOptions(_Start):
    """``wipe``."""

    synopsis = "Usage: rescriptum gateway wipe MACHINE [--mode MODE] [--watch]"
    longdesc = "ERASES the machine's disks, and turns it off."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["mode", "m", None, "How thoroughly: quick, secure or crypto."],
    ]
    kind = "wipe"

    def parameters(self) -> dict[str, Any]:
        return self.given(wipe="mode")


class PowerOptions(_Start):
    """``power``."""

    synopsis = "Usage: rescriptum gateway power MACHINE on|off|soft-off|reset|cycle|nmi [--watch]"
    longdesc = "Asks the machine's BMC."
    takes = ("MACHINE", "ACTION")
    kind = "power"

    def parameters(self) -> dict[str, Any]:
        return {"action": self.words[1]}
