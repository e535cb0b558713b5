"""``rescriptum gateway site|lease|token|node``: sites, who may join them, and who has."""

import json
from typing import ClassVar

from twisted.python.usage import UsageError

from ..options import Group
from .asking import Asked, Listing, Removing, Showing, done, seconds
from .client import Gateway
from .screen import Columns, Screen


class SiteCreate(Asked):
    """``site create``."""

    synopsis = "Usage: rescriptum gateway site create NAME [--ttl-ms N] [--label KEY=VALUE]…"
    longdesc = "Makes a site: a place with machines, where one site agent at a time boots them."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["ttl-ms", None, None, "What its boot lease lives without a heartbeat: 3000 to 60000."],
    ]
    takes = ("NAME",)

    def __init__(self) -> None:
        super().__init__()
        self.labels: dict[str, str] = {}

    def opt_label(self, text: str) -> None:
        """KEY=VALUE, for people and programs of yours; as often as there are labels."""
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"not KEY=VALUE: {text!r}")
        self.labels[name] = value

    def postOptions(self) -> None:
        text = self["ttl-ms"]
        self.ttl = {} if text is None else {"ttl_ms": whole("ttl-ms", text)}

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        body = {"name": self.words[0], "labels": self.labels, **self.ttl}
        made = await gateway.post("sites", body=body)
        name = made["name"]
        return done(screen, made, f"made site {name}; next: rescriptum gateway token create {name}")


class SiteList(Listing):
    """``site list``."""

    synopsis = "Usage: rescriptum gateway site list"
    longdesc = "All sites, and who boots machines at each."
    path, key = ("sites",), "sites"
    columns: ClassVar[Columns] = [
        ("name", "name"),
        ("nodes", "nodes"),
        ("live", "live"),
        ("lease", "lease.state"),
        ("held by", "lease.node"),
        ("epoch", "lease.epoch"),
        ("ttl ms", "ttl_ms"),
    ]


class SiteShow(Showing):
    """``site show``."""

    synopsis = "Usage: rescriptum gateway site show NAME"
    longdesc = "One site."
    path, takes = ("sites",), ("NAME",)


class SiteRemove(Removing):
    """``site remove``."""

    synopsis = "Usage: rescriptum gateway site remove NAME"
    longdesc = "Removes a site that has no nodes, machines or running workflows any more."
    path, takes = ("sites",), ("NAME",)


class SiteOptions(Group):
    """``site``."""

    synopsis = "Usage: rescriptum gateway site COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["create", None, SiteCreate, "Make one."],
        ["list", None, SiteList, "All of them."],
        ["show", None, SiteShow, "One of them."],
        ["remove", None, SiteRemove, "Remove one that has nothing."],
    ]


class LeaseShow(Asked):
    """``lease show``."""

    synopsis = "Usage: rescriptum gateway lease show SITE"
    longdesc = "Who boots machines at SITE, and who did."
    takes = ("SITE",)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        screen.fields(await gateway.get("sites", self.words[0], "lease"))
        return 0


class LeaseMove(Asked):
    """``lease move``."""

    synopsis = "Usage: rescriptum gateway lease move SITE [NODE]"
    longdesc = (
        "Says that NODE is to boot machines at SITE, as soon as whoever does now has given that up "
        "or is gone for sure. Without NODE: whoever can."
    )
    takes = ("SITE", "[NODE]")

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        site, *node = self.words
        body = {"node": node[0]} if node else {}
        told = await gateway.post("sites", site, "lease", "move", body=body)
        who = told.get("wanted_node", "whoever can")
        return done(screen, told, f"{site}: {who} is to hold the lease; now: {held(told)}")


class LeaseQuarantine(Asked):
    """``lease quarantine``."""

    synopsis = "Usage: rescriptum gateway lease quarantine [SITE]"
    longdesc = (
        "After the gateway's database was restored from a copy: nobody's hold on the lease of "
        "before counts any more, at SITE or, without it, at every site. Machines boot again when "
        "the longest ttl is over."
    )
    takes = ("[SITE]",)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        names = list(self.words) or [each["name"] for each in await gateway.pages("sites", "sites")]
        told = [await gateway.post("sites", name, "lease", "quarantine") for name in names]
        screen.told({"leases": told})
        for each in told:
            screen.said(f"{each['site']}: quarantined, epoch {each['epoch']}")
        return 0


class LeaseOptions(Group):
    """``lease``."""

    synopsis = "Usage: rescriptum gateway lease COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["show", None, LeaseShow, "Who boots machines at a site, and who did."],
        ["move", None, LeaseMove, "Say who is to."],
        ["quarantine", None, LeaseQuarantine, "After the database was restored."],
    ]


class TokenCreate(Asked):
    """``token create``."""

    synopsis = "Usage: rescriptum gateway token create SITE [--role ROLE] [--lifetime TIME]"
    longdesc = (
        "Makes a token by which one agent joins SITE, once. It is printed this once, on standard "
        "output and alone: redirect it into a file of mode 0600."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["role", "r", "site", "Of the agent: site, ramdisk or node."],
        ["lifetime", "l", "1h", "For which it may be used: 90, 30m, 12h, 7d."],
    ]
    takes = ("SITE",)

    def postOptions(self) -> None:
        self.lifetime = seconds(self["lifetime"])

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        body = {"site": self.words[0], "role": self["role"], "lifetime_s": self.lifetime}
        made = await gateway.post("tokens", body=body)
        screen.told(made)
        screen.said(made["token"])
        if not screen.as_json:
            screen.err.write(f"good once, for a {made['role']}, until {made['expires_at']}\n")
        return 0


class TokenList(Listing):
    """``token list``."""

    synopsis = "Usage: rescriptum gateway token list [--site SITE]"
    longdesc = "Join tokens, without what they are: when each was made, and whom it made."
    optParameters: ClassVar[list[list[str | None]]] = [["site", "s", None, "Of this site."]]
    path, key, filters = ("tokens",), "tokens", ("site",)
    columns: ClassVar[Columns] = [
        ("digest", "digest"),
        ("site", "site"),
        ("role", "role"),
        ("expires", "expires_at"),
        ("used", "used_at"),
        ("node", "node"),
    ]


class TokenRemove(Removing):
    """``token remove``."""

    synopsis = "Usage: rescriptum gateway token remove DIGEST"
    longdesc = "Takes a token back that nobody has used."
    path, takes = ("tokens",), ("DIGEST",)


class TokenOptions(Group):
    """``token``."""

    synopsis = "Usage: rescriptum gateway token COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["create", None, TokenCreate, "Make one, and print it."],
        ["list", None, TokenList, "All of them, without what they are."],
        ["remove", None, TokenRemove, "Take one back."],
    ]


class NodeList(Listing):
    """``node list``."""

    synopsis = "Usage: rescriptum gateway node list [--site SITE] [--role ROLE]"
    longdesc = "Agents that have joined, and whether each is there."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["site", "s", None, "Of this site."],
        ["role", "r", None, "Of this role: site, ramdisk or node."],
    ]
    path, key, filters = ("nodes",), "nodes", ("site", "role")
    columns: ClassVar[Columns] = [
        ("node", "id"),
        ("site", "site"),
        ("role", "role"),
        ("version", "version"),
        ("heard", "session.heard_at"),
        ("reported", "reported_at"),
        ("machine", "machine"),
    ]


class NodeShow(Showing):
    """``node show``."""

    synopsis = "Usage: rescriptum gateway node show NODE"
    longdesc = "One agent: its session, its status section by section, its inventory."
    path, takes = ("nodes",), ("NODE",)


class NodeRemove(Removing):
    """``node remove``."""

    synopsis = "Usage: rescriptum gateway node remove NODE"
    longdesc = "Ends an agent's identity: it has to join again, with a fresh token."
    path, takes = ("nodes",), ("NODE",)


class NodeOptions(Group):
    """``node``."""

    synopsis = "Usage: rescriptum gateway node COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["list", None, NodeList, "All of them."],
        ["show", None, NodeShow, "One of them."],
        ["remove", None, NodeRemove, "End one's identity."],
    ]


def whole(option: str, text: str) -> int:
    """:raises UsageError: for anything but a whole number."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise UsageError(f"--{option}: not a whole number: {text!r}")
    return int(text)


def document(option: str, text: str) -> dict[str, object]:
    """:raises UsageError: for anything but a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{option}: not JSON: {e}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{option}: not a JSON object")
    return found


def held(lease: dict[str, object]) -> str:
    """:returns: who has it, for people."""
    return f"{lease['state']} by {lease['node']}" if "node" in lease else str(lease["state"])
