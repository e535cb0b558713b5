"""``disk.wipe``: the disks of this machine, one after the other, and a certificate of each."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from attrs import field, frozen

from ..contract.ramdisk import Wipe
from ..contract.refusals import Incomplete, Rejected
from ..contract.structure import JSON
from .command import REPORTS, MachineKind, Running
from .disks import BlockDevice, disks
from .wipe.certificate import DiskCertificate
from .wipe.erasing import Around, Erasing
from .wipe.holders import refuse_shared, taken_apart

#: Seconds that one step of taking apart may take.
_STEP: Final = 60.0
#: What tools say of what is not there any more: no news.
_GONE: Final = ("not mounted", "No such device", "not found", "Invalid argument", "not active")


@frozen
class _Chosen:
    """:ivar left: names of disks that nothing is done to, and why."""

    wiped: tuple[BlockDevice, ...]
    left: dict[str, str] = field(factory=dict)


def chosen(devices: Sequence[BlockDevice], names: Sequence[str]) -> _Chosen:
    """
    :param names: of disks; none: all of the machine's own.
    :returns: each once, however many paths lead to it (W276).
    :raises Rejected: ``not-found`` for a name that is no disk's, or a disk that nothing is ever
        done to; then nothing is.
    """
    wanted = {each.removeprefix("/dev/") for each in names}
    by_name = {each.name: each for each in devices}
    for name in sorted(wanted):
        if name not in by_name:
            there = ", ".join(each.name for each in disks(devices)) or "none"
            raise Rejected("not-found", f"there is no disk {name[:40]!r}; there is {there}")
        if by_name[name].left_alone:
            raise Rejected("not-found", f"{name}: {by_name[name].left_alone}")
    if wanted:
        return _Chosen(disks(by_name[name] for name in sorted(wanted)))
    left = {each.name: each.left_alone for each in devices if each.left_alone}
    return _Chosen(disks(each for each in devices if not each.left_alone), left)


def siblings(device: BlockDevice, devices: Sequence[BlockDevice], wiped: Sequence[str]) -> bool:
    """:returns: whether its controller has a namespace that is not to be wiped (W262)."""
    controller, found, _ = device.name.rpartition("n")
    if not found or not device.name.startswith("nvme"):
        return False
    others = (each.name for each in devices if each.name.rpartition("n")[0] == controller)
    return any(each not in wiped for each in others)


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
        :raises Incomplete: ``wipe-unverified``, with the same.
        :raises Rejected: before anything is touched.
        """
        devices = await self._devices()
        these = chosen(devices, payload.disks)
        refuse_shared(these.wiped)
        complaints = await self._apart(these.wiped)
        names = [each.name for each in these.wiped]
        made: list[DiskCertificate] = []
        for number, device in enumerate(these.wiped):
            said = self._telling(context, device, number, len(names))
            alone = not siblings(device, devices, names)
            erasing = Erasing(device, payload.mode, self._around, said, not alone)
            made.append(await erasing.run())
            await self._settled(device)
        data: JSON = {
            "mode": payload.mode.value,
            "disks": [each.document for each in made],
            "left_alone": [{"disk": name, "reason": why} for name, why in these.left.items()],
            "complaints": complaints,
        }
        wrong = [each.name for each in made if not each.verified]
        if wrong:
            raise Incomplete("wipe-unverified", f"not verified: {', '.join(wrong)}"[:500], data)
        return data

    async def _apart(self, devices: Sequence[BlockDevice]) -> list[str]:
        """:returns: what tools say of what would not come apart: the disk is busy then."""
        complaints = []
        for step in taken_apart(devices):
            ran = await self._around.tools.run(*step, seconds=_STEP)
            if not ran.ok and not any(each in ran.stderr for each in _GONE):
                complaints.append(ran.said)
        return complaints

    async def _settled(self, device: BlockDevice) -> None:
        """The kernel and udev see that there is nothing on it."""
        run = self._around.tools.run
        await run("blockdev", "--rereadpt", device.path, seconds=_STEP)
        await run("udevadm", "settle", seconds=_STEP)

    def _telling(
        self, context: Running, device: BlockDevice, number: int, disks: int
    ) -> Callable[[int, int], None]:
        began = context.seconds()
        last = began - REPORTS

        def told(done: int, total: int) -> None:
            nonlocal last
            now = context.seconds()
            if now - last < REPORTS and done < total:
                return
            last = now
            context.progress(
                {
                    "stage": "wipe",
                    "disk": device.name,
                    "number": number + 1,
                    "disks": disks,
                    "done": done,
                    "total": total,
                    "bytes_per_s": int(done / max(now - began, 0.001)),
                }
            )

        return told
