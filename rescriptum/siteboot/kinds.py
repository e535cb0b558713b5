"""``boot.prepareRamdisk`` and ``boot.clear``: what the control plane decides about a machine."""

from collections.abc import Awaitable
from typing import Final, Protocol

from attrs import field, frozen

from ..boot.entries import BootEntry, BootKind
from ..boot.scripts import word
from ..contract.bounds import number, text
from ..contract.commands import Command
from ..contract.joining import Role
from ..contract.kinds import KINDS
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from ..errors import Malformed
from ..values import MAC

_TIMEOUT: Final = 30.0
_LINE: Final = 1024


class Running(Protocol):
    """A command that runs; :class:`rescriptum.agent.kinds.Context` is one."""

    @property
    def command(self) -> Command: ...

    @property
    def epoch(self) -> int:
        """Of the boot lease, now."""


class Entries(Protocol):
    """Where boot entries are kept; see :class:`rescriptum.siteboot.store.Kept`."""

    def put(self, entry: BootEntry) -> Awaitable[None]:
        """:raises Rejected: when it cannot be kept; then it is not there."""

    def remove(self, mac: MAC, workflow: str) -> Awaitable[bool]:
        """:raises Rejected: when that cannot be written down; then it still is there."""


@frozen
class Prepared:
    """The payload: a boot entry as it travels."""

    mac: str = field(validator=text())
    kind: BootKind = BootKind.RAMDISK
    workflow: str = field(default="", validator=text(empty=True))
    token_ref: str = field(default="", repr=False, validator=text(empty=True))
    uuid: str = field(default="", validator=text(empty=True))
    sanboot_sha256: str = field(default="", validator=text(empty=True))
    cmdline: str = field(default="", repr=False, validator=text(_LINE, empty=True))
    epoch: int = field(default=0, validator=number())
    not_after: int = field(default=0, validator=number())

    def entry(self, step: str = "", command: str = "") -> BootEntry:
        """
        :param step: and ``command``: that its token is asked for by.
        :raises Rejected: ``invalid-payload``.
        """
        try:
            for each in self.cmdline.split():
                word(each)
            return BootEntry(
                MAC.parse(self.mac),
                self.kind,
                self.workflow,
                self.token_ref,
                self.uuid,
                self.sanboot_sha256.lower(),
                self.cmdline,
                self.epoch,
                self.not_after,
                step,
                command,
            )
        except (ValueError, Malformed) as e:
            raise Rejected("invalid-payload", str(e)) from None


@frozen
class Cleared:
    """The payload. :ivar workflow: whose entry goes; empty: whosever it is."""

    mac: str = field(validator=text())
    workflow: str = field(default="", validator=text(empty=True))


class _BootKind:
    roles: frozenset[Role]
    destructive: bool
    timeout_s = _TIMEOUT

    def __init__(self, name: str, entries: Entries) -> None:
        row = KINDS[name]
        self.name, self.roles, self.destructive = row.name, row.roles, row.destructive
        self._entries = entries


class PrepareRamdisk(_BootKind):
    """Puts a machine's boot entry in the place of the one that it had."""

    payload = Prepared

    def __init__(self, entries: Entries) -> None:
        super().__init__("boot.prepareRamdisk", entries)

    def resource(self, payload: Prepared) -> str:
        """:raises Rejected: ``invalid-payload``."""
        return f"boot {payload.entry().mac}"

    async def run(self, context: Running, payload: Prepared) -> JSON:
        """:raises Rejected: ``stale-epoch``, or ``invalid-payload`` for another's workflow."""
        command = context.command
        if payload.epoch and payload.epoch != context.epoch:
            raise Rejected("stale-epoch", f"epoch {payload.epoch}, and it is {context.epoch}")
        if payload.token_ref and payload.workflow != command.workflow:
            raise Rejected("invalid-payload", "workflow: not the one that the command is part of")
        await self._entries.put(payload.entry(command.step, command.command_id))
        return {"mac": str(MAC.parse(payload.mac)), "epoch": payload.epoch}


class ClearBoot(_BootKind):
    """Removes a machine's boot entry: it is left alone from then on."""

    payload = Cleared

    def __init__(self, entries: Entries) -> None:
        super().__init__("boot.clear", entries)

    def resource(self, payload: Cleared) -> str:
        """:raises Rejected: ``invalid-payload``."""
        return f"boot {_mac(payload.mac)}"

    async def run(self, context: Running, payload: Cleared) -> JSON:
        """:returns: whether there was one."""
        return {"cleared": await self._entries.remove(_mac(payload.mac), payload.workflow)}


def _mac(text: str) -> MAC:
    try:
        return MAC.parse(text)
    except ValueError as e:
        raise Rejected("invalid-payload", f"mac: {e}") from None


def kinds(entries: Entries) -> tuple[PrepareRamdisk, ClearBoot]:
    """:returns: both."""
    return PrepareRamdisk(entries), ClearBoot(entries)
