"""``boot.kexec``: the kernel of the installed system, started without the firmware in between."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from attrs import evolve, frozen

from ..contract.commands import Result
from ..contract.ramdisk import Kexec
from ..contract.refusals import Rejected
from ..contract.structure import JSON
from ..errors import Malformed
from ..interfaces import Anew
from .command import MachineKind, Running
from .disks import BlockDevice
from .installed.entries import DIRECTORY, LONGEST, MOST, NAME, STAMP, BootEntry, entry, latest
from .installed.files import Entry, Files, checked
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
    :ivar reboot: starts the machine anew, then as well.
    :ivar systemd: whether that is what runs here. :ivar nics: those with hardware behind them.
    """

    installed: Callable[[], Awaitable[BlockDevice]]
    files: Callable[[BlockDevice], Files]
    tools: Tools
    loaded: Callable[[], bool]
    leave: Callable[[Sequence[tuple[str, ...]]], None]
    reboot: Callable[[], None]
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
        :returns: what will be started, and how.
        :raises Rejected: ``not-found`` without a kernel; ``kexec-refused``, with what both ways
            of loading it said, where the machine is not to reboot then.
        """
        for path in filter(None, (payload.kernel, payload.initrd)):
            try:
                checked(path)
            except Malformed as e:
                raise Rejected("invalid-payload", str(e)) from None
        if not payload.args.isprintable():
            raise Rejected("invalid-payload", "args: want one line of printable text")
        around = self._around
        disk = await around.installed()
        root = root_of(disk)
        found, kernel, initrd = await self._copied(disk, root, payload)
        line = _line(root, found.arguments, payload.args)
        said: JSON = {
            "way": "kexec",
            "disk": root.name,
            "kernel": found.kernel.kernel,
            "initrd": found.kernel.initrd or "",
            "arguments": line,
        }
        try:
            await self._load(kernel, initrd, line)
        except Rejected as e:
            if not payload.reboot or e.code != "kexec-refused":
                raise
            around.reboot()
            return {**said, "way": "reboot", "refused": e.detail}
        # A card that is left running writes into the memory of the next kernel (W305).
        quiet = [("ip", "link", "set", each, "down") for each in around.nics()]
        away = ("systemctl", "kexec") if around.systemd else ("kexec", "-e")
        around.leave([*quiet, away])
        return said

    async def _copied(
        self, disk: BlockDevice, root: BlockDevice, payload: Kexec
    ) -> tuple[BootEntry, str, str | None]:
        """:returns: the kernel, and where copies of it and of its initrd are."""
        for place, directory in boots_of(disk, root):
            files = self._around.files(place)
            try:
                found = await _found(files, directory, payload)
                if found is None:
                    continue
                kernel = await files.copied(found.kernel.kernel, "kernel")
                initrd = found.kernel.initrd
                copy = None if initrd is None else await files.copied(initrd, "initrd")
                return found, kernel, copy
            finally:
                await files.done()
        wanted = payload.kernel or "kernel in /boot, nor in a partition for it"
        raise Rejected("not-found", f"{disk.name}: no {wanted}")

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


async def _found(files: Files, directory: str, payload: Kexec) -> BootEntry | None:
    """
    :param directory: of kernels, in this file system.
    :returns: the kernel that is named; else that of a boot entry; else the newest one.
    """
    if payload.kernel:
        kernel = _there(payload.kernel, directory)
        if not await _has(files, kernel):
            return None
        initrd = _there(payload.initrd, directory) if payload.initrd else None
        return BootEntry(Kernel(kernel, initrd), "", "")
    best = await _entry(files, directory)
    if best is None:
        newer = newest(await files.listed(directory), directory)
        best = None if newer is None else BootEntry(newer, "", "")
    if best is not None and payload.initrd:
        initrd = _there(payload.initrd, directory)
        best = evolve(best, kernel=evolve(best.kernel, initrd=initrd))
    return best


async def _entry(files: Files, directory: str) -> BootEntry | None:
    above = directory.rstrip("/")
    where = f"{above}/{DIRECTORY}"
    there = await files.listed(where)
    names = [each.name for each in there if each.regular and NAME.fullmatch(each.name)][:MOST]
    if not names:
        return None
    beside = {each.name for each in await files.listed(directory)}
    read: dict[str, BootEntry] = {}
    for name in names:
        made = entry(await files.read(f"{where}/{name}", LONGEST), STAMP in beside)
        if made is not None:
            read[name] = made
    for each in latest(read):
        if await _has(files, each.kernel.kernel):
            return each
    return None


async def _has(files: Files, path: str) -> bool:
    above, _, name = path.rpartition("/")
    return Entry(name, True) in await files.listed(above or "/")


def _there(path: str, directory: str) -> str:
    """:returns: as a path in the installed system is called in a file system of its kernels."""
    return path.removeprefix("/boot") if directory == "/" else path


def _line(root: BlockDevice, arguments: str, more: str) -> str:
    """
    An entry that says where the root is knows better: of a volume, or a tree in it.

    :raises Rejected: ``not-found`` when nobody can say it.
    """
    known = any(each.startswith(("root=", "ostree=")) for each in arguments.split())
    own = "" if known else f"root=UUID={root.uuid} ro"
    if own and not root.uuid:
        if not any(each.startswith("root=") for each in more.split()):
            raise Rejected("not-found", f"{root.name} has no UUID to boot by: want root= in args")
        own = "ro"
    return " ".join(filter(None, (own, arguments, more.strip())))
