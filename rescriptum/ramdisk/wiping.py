"""``disk.wipe``: the disks of this machine, one after the other, and a certificate of each."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from attrs import define, field

from ..contract.ramdisk import Wipe
from ..contract.refusals import Incomplete, Rejected
from ..contract.structure import JSON
from ..errors import RescriptumError
from .command import REPORTS, MachineKind, Running
from .disks import BlockDevice
from .wipe.certificate import DiskCertificate, document
from .wipe.erasing import Around, Erasing, Told
from .wipe.evidence import pieces
from .wipe.holders import Blank, refuse_shared, taken_apart, together
from .wipe.paths import Chosen, alike, chosen, namespaces, proved
from .wipe.places import ends

#: Seconds that one step of taking apart may take.
_STEP: Final = 60.0
#: Seconds before the end in which nothing more is begun: a certificate says how far it came.
_SPARE: Final = 300.0
#: What tools say of what is not there any more: no news.
_GONE: Final = ("not mounted", "No such device", "not found", "Invalid argument", "not active")


class WipeDisks(MachineKind):
    """
    Empties disks. Every one is tried; unless all are verified, the command fails, and its result
    has the certificate of each nevertheless.

    Satisfies :class:`rescriptum.agent.kinds.Kind`.
    """

    name = "disk.wipe"
    payload = Wipe
    timeout_s = 6 * 3600.0

    def __init__(
        self, devices: Callable[[], Awaitable[Sequence[BlockDevice]]], around: Around
    ) -> None:
        self._devices = devices
        self._around = around

    async def run(self, context: Running, payload: Wipe) -> JSON:
        """
        :returns: a certificate of each disk.
        :raises Incomplete: ``wipe-unverified``, or ``revoked`` in the middle, with the same.
        :raises Rejected: before anything is touched.
        """
        devices = await self._devices()
        these = chosen(devices, payload.disks)
        refuse_shared(these.wiped)
        if context.cancelled:
            raise Rejected("revoked")
        until = context.seconds() + self.timeout_s - _SPARE
        wiping = _Wiping(context, payload, self._around, devices, these, until)
        made = await wiping.run(self._devices)
        data = document(payload.mode, made, these.left, wiping.complaints)
        wrong = [each.name for each in made if not each.verified]
        if wrong or not made:
            code = "revoked" if context.cancelled else "wipe-unverified"
            detail = f"not verified: {', '.join(wrong)}" if made else "there is no disk to wipe"
            raise Incomplete(code, detail[:500], data)
        return data


@define
class _Wiping:
    """
    One wipe.

    :ivar devices: all that there are. :ivar until: when nothing more is begun.
    :ivar complaints: of what does not come apart, or cannot be settled.
    """

    context: Running
    wanted: Wipe
    around: Around
    devices: Sequence[BlockDevice]
    these: Chosen
    until: float
    complaints: list[str] = field(factory=list)
    _full: dict[str, str] = field(factory=dict)

    async def run(
        self, listed: Callable[[], Awaitable[Sequence[BlockDevice]]]
    ) -> list[DiskCertificate]:
        """:param listed: looks again what there is."""
        await self._apart(listed)
        each_once = await self._each_once()
        return [
            await self._one(number, len(each_once), device, paths)
            for number, (device, paths) in enumerate(each_once)
        ]

    async def _one(
        self, number: int, disks: int, device: BlockDevice, paths: Sequence[str]
    ) -> DiskCertificate:
        names = {each.name for each in self.these.wiped}
        beside = namespaces(device, self.devices)
        made = await Erasing(
            device,
            self.wanted.mode,
            self.around,
            self._telling(device, number, disks),
            self._stop,
            self._left,
            tuple(paths),
            sum(each in names for each in beside),
            not names.issuperset(beside),
            "; ".join(self._full[each.name] for each in device.all if each.name in self._full),
        ).run()
        if self._stop():
            return made
        # The kernel and udev see that there is nothing on it, by whichever path.
        for each in self.these.wiped:
            if each.name in (device.name, *paths):
                await self._tool("blockdev", "--rereadpt", each.path)
        await self._tool("udevadm", "settle")
        return made

    def _left(self) -> float:
        return self.until - self.context.seconds()

    def _stop(self) -> str:
        if self.context.cancelled:
            return "taken back"
        return "" if self._left() > 0 else "there is no time left"

    async def _apart(self, listed: Callable[[], Awaitable[Sequence[BlockDevice]]]) -> None:
        """What is busy still, cannot be opened: nothing of it is verified then."""
        for each in self.these.wiped:
            if each.read_only:  # the kernel may only have been told so (W284)
                await self._tool("blockdev", "--setrw", each.path)
        for step in taken_apart(self.these.wiped, self.these.others):
            if isinstance(step, Blank):
                await self._blank(step.device)
            else:
                await self._tool(*step)
        names = {each.name for each in self.these.wiped}
        try:
            now = [each for each in await listed() if each.name in names]
        except RescriptumError as e:
            self.complaints.append(f"nobody can tell what is on the disks still: {e}")
        else:
            self.complaints += [f"{name}: it is there still" for name in together(now)]

    async def _blank(self, device: BlockDevice) -> None:
        def work() -> None:
            disk = self.around.open(device)
            try:
                for each in pieces(ends(device)):
                    disk.zero(each.at, each.size)
                disk.sync()
            finally:
                disk.close()

        try:
            await self.around.workers.run(work)
        except RescriptumError as e:
            self._full[device.name] = f"{device.name} could not be emptied: {e}"
            self.complaints.append(self._full[device.name])

    async def _tool(self, *argv: str) -> None:
        try:
            ran = await self.around.tools.run(*argv, seconds=_STEP)
        except RescriptumError as e:
            self.complaints.append(str(e))
            return
        if not ran.ok and not any(each in ran.stderr for each in _GONE):
            self.complaints.append(ran.said)

    async def _each_once(self) -> list[tuple[BlockDevice, list[str]]]:
        """:returns: every disk, and the other names that lead to it (W276)."""
        found: list[tuple[BlockDevice, list[str]]] = []
        for device in self.these.wiped:
            for one, paths in found:
                if alike(one, device) and await self._same(one, device):
                    paths.append(device.name)
                    break
            else:
                found.append((device, []))
        return found

    async def _same(self, one: BlockDevice, other: BlockDevice) -> bool:
        def look(seed: int) -> bool:
            written = self.around.open(one)
            try:
                read = self.around.open(other)
                try:
                    return proved(written, read, seed)
                finally:
                    read.close()
            finally:
                written.close()

        try:
            return await self.around.workers.run(partial(look, self.around.seed()))
        except RescriptumError:
            return False  # nobody can tell: then it is wiped as well

    def _telling(self, device: BlockDevice, number: int, disks: int) -> Told:
        began = self.context.seconds()
        last = began - REPORTS
        before = ""

        def told(method: str, done: int, total: int, seconds: float = 0.0) -> None:
            nonlocal began, last, before
            now = self.context.seconds()
            if method == before and now - last < REPORTS and done < total:
                return
            if method != before:
                began, before = now, method
            last = now
            rate = done / max(now - began, 0.001)
            self.context.progress(
                {
                    "stage": "wipe",
                    "disk": device.name,
                    "number": number + 1,
                    "disks": disks,
                    "method": method,
                    "done": done,
                    "total": total,
                    "bytes_per_s": int(rate),
                    "seconds_left": round(seconds or ((total - done) / rate if rate else 0.0)),
                }
            )

        return told
