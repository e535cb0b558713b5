"""What one disk can do to itself, the best of it first; never what erases nothing."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from attrs import define, field, frozen

from ...contract.ramdisk import WipeMode
from ...contract.structure import JSON
from ...errors import RescriptumError
from ..disks import BlockDevice
from ..tools import Ran, Tools
from .certificate import Try
from .drives import AtaAbilities, NvmeAbilities, hidden, namespaces

#: Seconds that an erase of an NVMe drive, or a secure discard, may take.
ERASING: Final = 3 * 3600.0
_ASKING: Final = 30.0
#: The password that a SATA drive has for as long as it erases itself: one that stands on every
#: drive whose erase was cut off, so that the next try gets in (W267).
PASSWORD: Final = "rescriptum"
_OLD_PASSWORDS: Final = (PASSWORD, "NULL", "")
#: Ways to a disk that ATA commands are not sent: no such drive, or a bridge that may make anything
#: of them (W270).
_NO_ATA: Final = ("virtio", "mmc", "usb", "fc", "iscsi")


@frozen
class Method:
    """
    :ivar erase: does it, and returns why it did not; empty: it says that it did.
    :ivar seconds: that it takes, as far as anybody knows; 0: nobody does.
    """

    name: str
    erase: Callable[[], Awaitable[str]]
    seconds: float = 0.0


@define
class Methods:
    """
    Of one disk.

    :ivar wiped: how many namespaces of its controller are to be wiped.
    :ivar siblings: whether it has others, as far as the kernel sees (W262).
    :ivar left: seconds until all has to be over.
    :ivar tries: what is out of the question, and why. :ivar abilities: what it says that it can.
    """

    device: BlockDevice
    mode: WipeMode
    tools: Tools
    left: Callable[[], float]
    wiped: int = 1
    siblings: bool = False
    tries: list[Try] = field(factory=list)
    abilities: JSON = field(factory=dict)

    async def find(self) -> list[Method]:
        """:returns: in the order of trying."""
        found: list[Method] = []
        if self.device.transport == "nvme" or self.device.name.startswith("nvme"):
            found += await self._nvme()
        elif self.device.name.startswith("sd") and self.device.transport not in _NO_ATA:
            found += await self._ata()
        return [*found, Method("blkdiscard-secure", self._secure_discard)]

    def _not(self, method: str, why: str) -> list[Method]:
        self.tries.append(Try(method, why))
        return []

    async def _nvme(self) -> list[Method]:
        path = self.device.path
        ran = await self._ask("nvme", "id-ctrl", path, "--output-format=json")
        able = NvmeAbilities.of(ran.stdout) if ran.ok else None
        if able is None:
            return self._not("nvme-erase", f"it does not say what it can do: {ran.said}")
        self.abilities |= {"oacs": able.oacs, "fna": able.fna}
        if not able.formats:
            return self._not("nvme-erase", "the controller has no such command (W261)")
        if able.all_namespaces and await self._reaches_others():
            why = "it would reach another namespace, which is not to be wiped (W262)"
            return self._not("nvme-erase", why)
        found: list[Method] = []
        if self.mode is WipeMode.CRYPTO:
            if able.crypto:
                found.append(Method("nvme-crypto-erase", partial(self._format, "2")))
            else:
                self._not("nvme-crypto-erase", "it cannot (W261)")
        return [*found, Method("nvme-erase", partial(self._format, "1"))]

    async def _reaches_others(self) -> bool:
        argv = ("nvme", "list-ns", self.device.path, "--all", "--output-format=json")
        listed = await self._ask(*argv)
        self.abilities["namespaces"] = count = namespaces(listed.stdout)
        return self.siblings or count > self.wiped

    async def _format(self, how: str) -> str:
        argv = ("nvme", "format", self.device.path, f"--ses={how}", "--force")
        seconds = self._within(ERASING)
        ran = await self.tools.run(*argv, f"--timeout={int(seconds * 1000)}", seconds=seconds)
        if "ACCESS_DENIED" in ran.stderr.upper().replace(" ", "_"):
            return f"locked: the number on its label (PSID) alone sets it free (W263): {ran.said}"
        return _why(ran)

    async def _ata(self) -> list[Method]:
        path, sectors = self.device.path, self.device.size // self.device.sector
        able = AtaAbilities.of((await self._ask("hdparm", "-I", path)).stdout)
        said = await self._ask("hdparm", "-N", path)
        self.abilities["hidden_sectors"] = hidden(said.stdout, sectors)
        if able is None or not able.supported:
            return self._not("ata-erase", "it has no security feature set (W270)")
        self.abilities["ata"] = able.document
        if able.frozen:
            return self._not(
                "ata-erase", "frozen by the firmware until the next power cycle (W266)"
            )
        if able.locked and not await self._unlocked():
            return self._not("ata-erase", "locked, by a password that is not ours (W267)")
        found: list[Method] = []
        for name, enhanced in (("ata-enhanced-erase", True), ("ata-erase", False)):
            if enhanced and not able.enhanced:
                continue
            took = able.took(enhanced)
            if took > self.left():
                why = f"it takes {took / 60:.0f} minutes by its own word, and there is less (W269)"
                self._not(name, why)
            else:
                erase = partial(self._security_erase, able, enhanced)
                found.append(Method(name, erase, took))
        return found

    async def _unlocked(self) -> bool:
        for each in _OLD_PASSWORDS:
            await self._user("--security-unlock", each)
            able = AtaAbilities.of((await self._ask("hdparm", "-I", self.device.path)).stdout)
            if able is not None and not able.locked:
                return True
        return False

    async def _security_erase(self, able: AtaAbilities, enhanced: bool) -> str:
        # Whoever finds it locked afterwards reads here by what: before it is.
        self.abilities["ata_password"] = PASSWORD
        ran = await self._user("--security-set-pass", PASSWORD)
        if not ran.ok:
            return ran.said
        option = "--security-erase-enhanced" if enhanced else "--security-erase"
        try:
            ran = await self._user(option, PASSWORD, seconds=self._within(able.allowed(enhanced)))
        except RescriptumError as e:
            return f"{e}; it may be at it still, and has the password {PASSWORD!r} (W269)"
        # An erase takes the password away. One that was refused leaves it, and the drive would be
        # locked at its next power cycle.
        await self._user("--security-disable", PASSWORD)
        now = AtaAbilities.of((await self._ask("hdparm", "-I", self.device.path)).stdout)
        if now is not None and now.enabled:
            return f"{_why(ran) or 'refused'}; it has the password {PASSWORD!r} now (W267)"
        del self.abilities["ata_password"]
        return _why(ran)

    async def _user(self, option: str, password: str, seconds: float = _ASKING) -> Ran:
        argv = ("hdparm", "--user-master", "u", option, password, self.device.path)
        return await self.tools.run(*argv, seconds=seconds)

    async def _secure_discard(self) -> str:
        argv = ("blkdiscard", "--secure", "--force", self.device.path)
        return _why(await self.tools.run(*argv, seconds=self._within(ERASING)))

    def _within(self, seconds: float) -> float:
        """Not beyond the end: what has no certificate then has done nothing for anybody."""
        return max(min(seconds, self.left()), 1.0)

    async def _ask(self, *argv: str) -> Ran:
        try:
            return await self.tools.run(*argv, seconds=_ASKING)
        except RescriptumError as e:
            return Ran(argv, 127, stderr=str(e))


def _why(ran: Ran) -> str:
    return "" if ran.ok else ran.said
