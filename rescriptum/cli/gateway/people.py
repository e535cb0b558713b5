"""``rescriptum gateway secret|operator|trust|pins``: who may do what, and with what."""

import sys
from getpass import getpass
from typing import ClassVar

from twisted.python.usage import UsageError

from ..options import Group
from .asking import Asked, Listing, Removing, done, text_of
from .client import Gateway
from .keyfiles import public
from .screen import Columns, Screen
from .sites import document

#: Bytes of a secret.
_LONGEST = 64 * 1024


class SecretSet(Asked):
    """``secret set``."""

    synopsis = "Usage: rescriptum gateway secret set NAME [--file FILE]"
    longdesc = (
        "Sets a secret, from FILE or from standard input, never from an argument: other users see "
        "those. One newline at its end is left out. Nobody is ever shown it again."
    )
    optParameters: ClassVar[list[list[str | None]]] = [["file", "f", None, "Where it is."]]
    takes = ("NAME",)

    def postOptions(self) -> None:
        """Read here: while the reactor runs nothing could interrupt it."""
        text = self._given()
        self._secret = text.removesuffix("\n").removesuffix("\r")
        if not self._secret or len(text.encode()) > _LONGEST:
            raise UsageError(f"the secret is empty, or longer than {_LONGEST} bytes")

    def _given(self) -> str:
        if self["file"] is not None:
            return text_of(self["file"], _LONGEST)
        if sys.stdin.isatty():
            return getpass(f"{self.words[0]}: ")
        try:
            return sys.stdin.buffer.read(_LONGEST + 1).decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError("the secret is not UTF-8: put it into base64") from None

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        name = self.words[0]
        await gateway.put("secrets", name, body={"value": self._secret})
        return done(screen, {"set": name}, f"set {name}")


class SecretList(Listing):
    """``secret list``."""

    synopsis = "Usage: rescriptum gateway secret list"
    longdesc = "Names of secrets, and when each was set."
    path, key = ("secrets",), "secrets"
    columns: ClassVar[Columns] = [
        ("name", "name"),
        ("created", "created_at"),
        ("changed", "changed_at"),
    ]


class SecretRemove(Removing):
    """``secret remove``."""

    synopsis = "Usage: rescriptum gateway secret remove NAME"
    longdesc = "Forgets a secret that no machine needs."
    path, takes = ("secrets",), ("NAME",)


class SecretOptions(Group):
    """``secret``."""

    synopsis = "Usage: rescriptum gateway secret COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["set", None, SecretSet, "From standard input or a file."],
        ["list", None, SecretList, "Their names."],
        ["remove", None, SecretRemove, "Forget one."],
    ]


class OperatorCreate(Asked):
    """``operator create``."""

    synopsis = "Usage: rescriptum gateway operator create NAME [--scope SCOPE]"
    longdesc = "Gives somebody a token. It is printed this once, on standard output and alone."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["scope", "s", "read", "read, operate (and read), or admin (and everything)."],
    ]
    takes = ("NAME",)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        body = {"name": self.words[0], "scope": self["scope"]}
        made = await gateway.post("operators", body=body)
        return done(screen, made, made["token"])


class OperatorList(Listing):
    """``operator list``."""

    synopsis = "Usage: rescriptum gateway operator list"
    longdesc = "Who has a token, and for what."
    path, key = ("operators",), "operators"
    columns: ClassVar[Columns] = [
        ("name", "name"),
        ("scope", "scope"),
        ("created", "created_at"),
    ]


class OperatorRemove(Removing):
    """``operator remove``."""

    synopsis = "Usage: rescriptum gateway operator remove NAME"
    longdesc = "Takes a token away, at once."
    path, takes = ("operators",), ("NAME",)


class OperatorOptions(Group):
    """``operator``."""

    synopsis = "Usage: rescriptum gateway operator COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["create", None, OperatorCreate, "Give somebody a token, and print it."],
        ["list", None, OperatorList, "All of them."],
        ["remove", None, OperatorRemove, "Take a token away."],
    ]


class TrustShow(Asked):
    """``trust show``."""

    synopsis = "Usage: rescriptum gateway trust show"
    longdesc = "Whom agents that join now take commands from."

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        screen.fields(await gateway.get("trust"))
        return 0


class TrustSet(Asked):
    """``trust set``."""

    synopsis = (
        "Usage: rescriptum gateway trust set [--root FILE]… [--approver FILE]… [--quorum N]\n"
        "       rescriptum gateway trust set FILE"
    )
    longdesc = (
        "Says whom agents that join from now on take commands from: workers that one of these"
        " command roots has certified, and for what destroys as many of these approvers. All of it"
        " is said at once: what is left out is trusted no more. Files have a key, of which the"
        " public half is taken. Or FILE is all of it, as 'trust show --json' tells it. Agents that"
        " have joined keep what they were given."
    )
    takes = ("[FILE]",)
    optParameters: ClassVar[list[list[str | None]]] = [
        ["quorum", "q", "1", "How many approvers a command that destroys needs."],
    ]

    def __init__(self) -> None:
        super().__init__()
        self._roots: list[str] = []
        self._approvers: list[str] = []

    def opt_root(self, file: str) -> None:
        """A command root's key; may be given again."""
        self._roots.append(file)

    def opt_approver(self, file: str) -> None:
        """An approver's key; may be given again."""
        self._approvers.append(file)

    def postOptions(self) -> None:
        if not (self["quorum"].isascii() and self["quorum"].isdigit()):
            raise UsageError(f"--quorum: not a number: {self['quorum']!r}")
        named = bool(self._roots or self._approvers)
        if named == bool(self.words):
            raise UsageError("whom? --root FILE and --approver FILE, or one FILE with all of it")
        self.bundle = None if named else document("FILE", text_of(self.words[0]))

    def _named(self) -> object:
        from ...contract.keys import public_jwk

        return {
            "command_roots": [public_jwk(public(each)) for each in self._roots],
            "approvers": [public_jwk(public(each)) for each in self._approvers],
            "quorum": int(self["quorum"]),
        }

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        told = await gateway.put("trust", body=self.bundle or self._named())
        roots, approvers = len(told["command_roots"]), len(told["approvers"])
        line = f"{roots} command roots; {told['quorum']} of {approvers} approvers"
        return done(screen, told, line)


class TrustOptions(Group):
    """``trust``."""

    synopsis = "Usage: rescriptum gateway trust COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["show", None, TrustShow, "Whom agents that join take commands from."],
        ["set", None, TrustSet, "Say whom."],
    ]


class PinsOptions(Asked):
    """``pins``."""

    synopsis = "Usage: rescriptum gateway pins"
    longdesc = "What the configuration of an agent pins, as lines of site.toml."

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        told = await gateway.get("pins")
        if screen.as_json:
            screen.told(told)
            return 0
        for name, value in told.items():
            key = "gateway_server_name" if name == "server_name" else name
            if value:
                screen.said(f'{key} = "{value}"')
        return 0
