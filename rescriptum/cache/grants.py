"""
Grants: who may read cached images, and until when.

A grant is a random token in a URL that a machine or a BMC is given. Grants are in memory alone, so
a restart forgets them all, and nothing but the first digits of a token's digest is ever logged.
"""

from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from typing import Final, Generic, TypeVar

from attrs import field, frozen

from ..errors import Refused, Unavailable
from ..interfaces import Fence
from ..values import MAC

#: Seconds: of a boot grant whose entry says nothing, and of a firmware grant.
BOOT, FIRMWARE = 6 * 3600.0, 2 * 3600.0
#: Grants of each sort; with one more, the one that lapses first is gone.
MOST: Final = 1024
#: Characters of what is looked up at all.
_LONGEST: Final = 64


@frozen
class _Grant:
    """
    :ivar token: what stands in the URL.
    :ivar lapses: seconds, of the clock that the table of grants has.
    """

    token: str = field(repr=False)
    lapses: float

    @cached_property
    def key(self) -> bytes:
        """What it is found by."""
        return _key(self.token)

    @property
    def name(self) -> str:
        """What logs call it."""
        return self.key.hex()[:8]


@frozen
class BootGrant(_Grant):
    """
    Any cached image, for one machine that boots.

    :ivar epoch: of the boot lease at the issue: under no other one is it redeemed.
    """

    mac: MAC
    epoch: int


@frozen
class FirmwareGrant(_Grant):
    """One image, for a BMC: not bound to the boot lease. :ivar digest: SHA-256 in hex."""

    digest: str


def _key(token: str) -> bytes:
    # Looked up by digest: how long that takes tells nobody how much of a token is right.
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


_G = TypeVar("_G", bound=_Grant)


class _Table(Generic[_G]):
    """Grants of one sort."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._grants: dict[bytes, _G] = {}

    def __len__(self) -> int:
        return len(self._grants)

    def live(self) -> list[_G]:
        now = self._seconds()
        return [each for each in self._grants.values() if now < each.lapses]

    def add(self, grant: _G) -> None:
        """:param grant: in place of an earlier one of the same token."""
        self._grants.pop(grant.key, None)
        if len(self._grants) >= MOST:
            self._grants = {each.key: each for each in self.live()}
        while len(self._grants) >= MOST:
            del self._grants[min(self._grants.values(), key=lambda each: each.lapses).key]
        self._grants[grant.key] = grant

    def find(self, token: str) -> _G:
        """:raises Refused: unless there is one that has not lapsed."""
        grant = self._grants.get(_key(token)) if len(token) <= _LONGEST else None
        if grant is None:
            raise Refused("no such grant: it lapsed, or was given before a restart")
        if self._seconds() >= grant.lapses:
            del self._grants[grant.key]
            raise Refused(f"grant {grant.key.hex()[:8]} has lapsed")
        return grant

    def drop(self, grant: _G) -> None:
        self._grants.pop(grant.key, None)


class Grants:
    """The grants of one agent process."""

    def __init__(
        self, fence: Fence, new_token: Callable[[], bytes], seconds: Callable[[], float]
    ) -> None:
        """
        :param new_token: 16 bytes that nobody can guess, and never the same twice.
        :param seconds: of a clock that nobody sets.
        """
        self._fence = fence
        self._new_token = new_token
        self._seconds = seconds
        self._boot: _Table[BootGrant] = _Table(seconds)
        self._firmware: _Table[FirmwareGrant] = _Table(seconds)

    def __len__(self) -> int:
        return len(self._boot) + len(self._firmware)

    @property
    def digests(self) -> frozenset[str]:
        """Of images that a BMC may still come for."""
        return frozenset(each.digest for each in self._firmware.live())

    def boot(self, mac: MAC, lasting: float | None = None) -> BootGrant:
        """
        Grant a machine what it boots from. One that asks again under the same epoch has the same
        token: whoever asks in its name takes nothing away from it.

        :param lasting: seconds until its boot entry lapses; None: it does not, and six hours do.
        """
        epoch = self._fence.epoch
        lapses = self._seconds() + (BOOT if lasting is None else lasting)
        known = next((each for each in self._of(mac) if each.epoch == epoch), None)
        token = known.token if known else self._new_token().hex()
        grant = BootGrant(token, lapses, mac, epoch)
        self._boot.add(grant)
        return grant

    def withdraw(self, mac: MAC) -> None:
        """The machine's boot entry is gone, and what it was granted is too."""
        for each in self._of(mac):
            self._boot.drop(each)

    def _of(self, mac: MAC) -> list[BootGrant]:
        return [each for each in self._boot.live() if each.mac == mac]

    def firmware(self, digest: str) -> FirmwareGrant:
        """Grant a BMC one image for two hours."""
        grant = FirmwareGrant(self._new_token().hex(), self._seconds() + FIRMWARE, digest)
        self._firmware.add(grant)
        return grant

    def withdraw_firmware(self, grant: FirmwareGrant) -> None:
        """The BMC needs it no more."""
        self._firmware.drop(grant)

    def redeem_boot(self, token: str) -> BootGrant:
        """
        :param token: as a stranger sent it.
        :raises Refused: when it is no boot grant, has lapsed, or is of another epoch.
        :raises Unavailable: while the fence is closed.
        """
        grant = self._boot.find(token)
        if not self._fence.is_open():
            raise Unavailable("the boot lease is not held")
        if grant.epoch != self._fence.epoch:
            raise Refused(f"grant {grant.name} is of epoch {grant.epoch} of the boot lease")
        return grant

    def redeem_firmware(self, token: str, digest: str) -> FirmwareGrant:
        """
        :param token: as a stranger sent it; so is ``digest``.
        :raises Refused: when it is no firmware grant, has lapsed, or is for another image.
        """
        grant = self._firmware.find(token)
        if grant.digest != digest:
            raise Refused(f"grant {grant.name} is for another image")
        return grant


@frozen
class EpochFence:
    """
    Open while the fence is, and the epoch is still the same.

    Satisfies :class:`rescriptum.interfaces.Fence`.
    """

    epoch: int
    _fence: Fence

    def is_open(self) -> bool:
        return self._fence.epoch == self.epoch and self._fence.is_open()

    def sent(self) -> None:
        self._fence.sent()
