"""
Boot entries: what the control plane prepared for a machine, by its MAC.

A machine without a *live* entry is left alone. An entry is bound to the boot lease under which it
was made, so that one which was left behind does not come back to life under a later lease.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, Self

from attrs import field, fields, frozen

from ..errors import Malformed
from ..values import MAC

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class BootKind(Enum):
    """What becomes of a machine that has an entry."""

    RAMDISK = "ramdisk"
    SANBOOT = "sanboot"
    LOCAL = "local"


@frozen
class BootEntry:
    """
    What one machine is to boot.

    :ivar workflow: that prepared it.
    :ivar token_ref: the secret that is the machine's join token; empty: it gets none.
    :ivar uuid: what is said of the machine where it does not say it itself.
    :ivar sanboot_sha256: of the image that a ``sanboot`` entry boots, in hex; empty elsewhere.
    :ivar cmdline: more for the ramdisk's kernel.
    :ivar epoch: of the boot lease under which it was made; 0: bound to none.
    :ivar not_after: Unix time at which it lapses; 0: it does not.
    :ivar step: and ``command``: of the workflow, that the token is asked for by.
    """

    mac: MAC
    kind: BootKind
    workflow: str = ""
    token_ref: str = field(default="", repr=False)
    uuid: str = ""
    sanboot_sha256: str = ""
    cmdline: str = field(default="", repr=False)
    epoch: int = 0
    not_after: int = 0
    step: str = ""
    command: str = ""

    def __attrs_post_init__(self) -> None:
        """:raises Malformed: when it cannot be booted as it says."""
        digest = self.sanboot_sha256
        if digest and not _DIGEST.fullmatch(digest):
            raise Malformed("sanboot_sha256: not 32 bytes in lower-case hex")
        if bool(digest) is not (self.kind is BootKind.SANBOOT):
            raise Malformed(f"sanboot_sha256: entries of kind {self.kind.value} have none")
        if self.epoch < 0 or self.not_after < 0:
            raise Malformed("epoch and not_after: not below 0")

    def live(self, epoch: int, now: float) -> bool:
        """
        :param epoch: of the boot lease that this agent has.
        :param now: Unix time.
        """
        lapse = self.not_after
        return (not self.epoch or self.epoch == epoch) and (not lapse or now < lapse)

    def lapsed(self, now: float) -> bool:
        """:param now: Unix time."""
        return bool(self.not_after) and now >= self.not_after

    def plain(self) -> dict[str, str | int]:
        """:returns: what :meth:`from_plain` makes an equal entry of."""
        return {
            "mac": str(self.mac),
            "kind": self.kind.value,
            "workflow": self.workflow,
            "token_ref": self.token_ref,
            "uuid": self.uuid,
            "sanboot_sha256": self.sanboot_sha256,
            "cmdline": self.cmdline,
            "epoch": self.epoch,
            "not_after": self.not_after,
            "step": self.step,
            "command": self.command,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, object]) -> Self:
        """
        :raises Malformed: unless every key is one of an entry's, and of its type.
        """
        types = {each.name: int if each.type is int else str for each in fields(cls)}
        for name, value in plain.items():
            if type(value) is not types.get(name):
                raise Malformed(f"boot entry: {name[:40]!r} is not a field of that type")
        given: dict[str, Any] = {**plain, "mac": None, "kind": None}
        del given["mac"], given["kind"]
        try:
            mac = MAC.parse(str(plain.get("mac", "")))
            kind = BootKind(plain.get("kind", BootKind.RAMDISK.value))
        except ValueError as e:
            raise Malformed(f"boot entry: {e}") from None
        return cls(mac, kind, **given)


class BootEntries:
    """
    The table: at most one entry a MAC.

    :ivar changes: how often it has changed: who looked before has nothing to look up again.
    """

    def __init__(self, entries: Iterable[BootEntry] = ()) -> None:
        """:param entries: as they were kept; of two for one MAC the later counts."""
        self._entries = {each.mac.bare: each for each in entries}
        self.changes = 0

    def __iter__(self) -> Iterator[BootEntry]:
        """By MAC."""
        return iter(sorted(self._entries.values(), key=lambda each: each.mac))

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, entry: BootEntry) -> None:
        """Another entry of the same MAC is replaced."""
        self._entries[entry.mac.bare] = entry
        self.changes += 1

    def remove(self, mac: MAC) -> BootEntry | None:
        """:returns: what was there; None: nothing."""
        self.changes += 1
        return self._entries.pop(mac.bare, None)

    def prune(self, epoch: int, now: float) -> tuple[BootEntry, ...]:
        """
        Remove those that nothing brings to life again: lapsed ones, and those of leases before
        ``epoch``.

        :returns: what was removed.
        """
        gone = tuple(
            each for each in self if each.lapsed(now) or (each.epoch and each.epoch < epoch)
        )
        for each in gone:
            del self._entries[each.mac.bare]
        self.changes += len(gone)
        return gone

    def get(self, mac: MAC) -> BootEntry | None:
        """:returns: what was prepared for ``mac``, live or not; None: nothing."""
        return self._entries.get(mac.bare)

    def live(self, mac: MAC, epoch: int, now: float) -> BootEntry | None:
        """:returns: what ``mac`` is to boot now; None: it is left alone."""
        entry = self._entries.get(mac.bare)
        return entry if entry is not None and entry.live(epoch, now) else None
