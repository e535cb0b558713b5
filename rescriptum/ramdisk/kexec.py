"""``boot.kexec``: the kernel of the installed system, started without the firmware in between."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from attrs import frozen

from ..contract.commands import Result
from ..contract.ramdisk import Kexec
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from ..interfaces import Anew
from .command import MachineKind, Running
from .disks import BlockDevice
from .installed.files import Files
from .installed.kernels import Kernel, newest
from .installed.partitions import boots_of, root_of
from .tools import Ran, Tools

#: Seconds that loading a kernel may take.
_LOADING: Final = 120.0


@frozen
class Around:
    """
    What starting another kernel asks of the world.

    :ivar installed: the disk that an image was written to in this boot.
    :ivar files: of a partition. :ivar loaded: what ``/sys/kernel/kexec_loaded`` says: of the slot
        that is booted, not of the one for crashes (W306).
    :ivar leave: runs these, one after the other, when the gateway has this command's result.
    :ivar systemd: whether that is what runs here. :ivar nics: that are up.
    """

    installed: Callable[[], Awaitable[BlockDevice]]
    files: Callable[[BlockDevice], Files]
    tools: Tools
    loaded: Callable[[], bool]
    leave: Callable[[Sequence[tuple[str, ...]]], None]
    systemd: bool
    nics: Callable[[], Sequence[str]]


class StartInstalled(MachineKind):
    """
    Its result is told before it is done: afterwards there is nobody to tell it.

    Satisfies :class:`rescriptum.agent.kinds.Kind`.
    """

    name = "boot.kexec"
    payload = Kexec
    timeout_s = 600.0

    def __init__(self, around: Around) -> None:
        self._around = around

    async def run(self, context: Running, payload: Kexec) -> JSON:
        """
        :returns: what will be started.
        :raises Rejected: ``not-found`` without a kernel; ``kexec-refused``, with what both ways
            of loading it said.
        """
        around = self._around
        disk = await around.installed()
        root = root_of(disk)
        found, kernel, initrd = await self._copied(disk, root, payload)
        line = " ".join(filter(None, (f"root=UUID={root.uuid} ro", payload.args.strip())))
        await self._load(kernel, initrd, line)
        # A card that is left running writes into the memory of the next kernel (W305).
        quiet = [("ip", "link", "set", each, "down") for each in around.nics()]
        away = ("systemctl", "kexec") if around.systemd else ("kexec", "-e")
        around.leave([*quiet, away])
        return {
            "disk": root.name,
            "kernel": found.kernel,
            "initrd": found.initrd or "",
            "arguments": line,
        }

    async def _copied(
        self, disk: BlockDevice, root: BlockDevice, payload: Kexec
    ) -> tuple[Kernel, str, str | None]:
        """:returns: the kernel, and where copies of it and of its initrd are."""
        for place, directory in boots_of(disk, root):
            files = self._around.files(place)
            try:
                found = newest(await files.listed(directory), directory)
                if payload.kernel:
                    found = Kernel(payload.kernel, payload.initrd or None)
                if found is None:
                    continue
                initrd = payload.initrd or found.initrd
                kernel = await files.copied(found.kernel, "kernel")
                copy = None if initrd is None else await files.copied(initrd, "initrd")
                return Kernel(found.kernel, initrd), kernel, copy
            finally:
                await files.done()
        raise Rejected("not-found", f"{disk.name}: no kernel in /boot, nor in a partition for it")

    async def _load(self, kernel: str, initrd: str | None, line: str) -> None:
        """The file call first, which is all that Secure Boot allows; then the old one (W300)."""
        what = [f"--command-line={line}", *(() if initrd is None else (f"--initrd={initrd}",))]
        said = []
        for how in ("--kexec-file-syscall", "--kexec-syscall"):
            ran = await self._try(how, kernel, *what)
            # Exit codes of some releases say nothing: the kernel itself does (W303).
            if ran.ok and self._around.loaded():
                return
            said.append(f"{how[2:]}: {'no kernel is loaded' if ran.ok else ran.said}")
        raise Rejected("kexec-refused", "; ".join(said)[:1000])

    async def _try(self, how: str, kernel: str, *what: str) -> Ran:
        return await self._around.tools.run("kexec", "--load", how, kernel, *what, seconds=_LOADING)

    def resume(self, boot_id_then: str, boot_id_now: str) -> Result | Anew | None:
        """Nobody can tell how far it came; a machine that left is not asked."""
        return None
