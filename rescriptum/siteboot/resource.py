"""``/boot/…`` and ``/healthz`` of a site's boot server: each answer asks the fence anew."""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from attrs import evolve, frozen
from twisted.logger import Logger

from ..boot.bootparams import BootParameters
from ..boot.entries import BootEntry, BootKind
from ..boot.events import InitrdSent, KernelSent, MediumRefused, ScriptSent, record
from ..boot.resource import LoaderTree
from ..contract.refusals import Rejected
from ..errors import Malformed, NotFound, RescriptumError, Unavailable
from ..interfaces import Fence
from ..values import MAC, Content, Extent
from ..web.reply import FileReply, Finished, Outcome, Reply
from ..web.request import Request
from ..web.routing import Routes
from . import scripts
from .asking import Asking
from .client import Asked
from .store import Kept
from .tokens import Vouching, assertion, request

_TYPE: Final = "text/plain; charset=us-ascii"
_FRESH: Final = (("Cache-Control", "no-store"),)
_LOADERS: Final = ("boot", "loaders")


class Images(Protocol):
    """The site's image cache, and who may read it."""

    def has(self, digest: str) -> bool:
        """:returns: whether it can be read now."""

    def grant(self, mac: MAC, lasting: float | None) -> str:
        """:param lasting: seconds; None: as long as ever. :returns: what stands in the URL."""


@frozen
class Ramdisk:
    """Files of one architecture. :ivar kernel: None: there is none."""

    kernel: Path | None
    initrd: Path | None


@frozen
class Place:
    """
    What the scripts of a site have in common.

    :ivar url: of the boot server, without a slash at the end; empty: there is no cache.
    :ivar parameters: of the ramdisk, as far as they are the same for all machines.
    :ivar cmdline: what its kernel is told beside ours.
    :ivar ramdisks: by ``-arm64`` and nothing.
    """

    url: str
    parameters: BootParameters
    cmdline: str
    ramdisks: Mapping[str, Ramdisk]


@frozen
class _Script:
    """What a reply was about. :ivar answer: whether the fence had to be open for it."""

    situation: str
    mac: MAC | None
    answer: bool


class BootTree:
    """
    Scripts, the ramdisk's files and loaders.

    :ivar loaders: None: there are none.
    """

    routes = Routes()
    _log = Logger()

    def __init__(
        self,
        place: Place,
        kept: Kept,
        fence: Fence,
        vouching: Vouching,
        asked: Asked,
        *,
        images: Images | None,
        loaders: LoaderTree | None,
        now: Callable[[], float],
        found: Callable[[], None],
    ) -> None:
        """
        :param images: None: there is no cache.
        :param now: Unix time.
        :param found: called when a machine was discovered that was not known.
        """
        self._place = place
        self._kept = kept
        self._fence = fence
        self._vouching = vouching
        self._asked = asked
        self._images = images
        self._loaders = loaders
        self._now = now
        self._found = found

    @routes.get("healthz")
    def health(self, request: Request) -> Reply:
        """Whether machines are answered here."""
        state = b"active\n" if self._fence.is_open() else b"standby\n"
        return Reply(state, headers=_FRESH)

    # Scripts.

    @routes.get("boot/ipxe")
    async def script(self, request: Request) -> Reply:
        """What the machine that asks is to do."""
        asking = Asking.of(request.query, request.peer[0])
        decided = self._decided(asking)
        if isinstance(decided, Reply):
            return decided
        epoch = self._fence.epoch
        try:
            token, key = await self._secrets(decided, epoch)
        except RescriptumError as e:
            self._log.warn(
                "Machine {mac} gets no token yet: {reason}", mac=decided.mac, reason=str(e)
            )
            return self._again(asking, f"Its join token cannot be had: {e.code}")
        # The lease, or the entry, may be another one by now; from here on nothing is waited for.
        again = self._decided(asking)
        if isinstance(again, Reply):
            return again
        if again is not decided or self._fence.epoch != epoch:
            return self._again(asking, "What this machine boots has just changed.")
        return self._ramdisk(asking, decided, token, key, epoch)

    def _decided(self, asking: Asking) -> Reply | BootEntry:
        """:returns: an entry of kind ramdisk, for which more has to be known; or what is said."""
        place, mac = self._place, asking.mac
        if not self._fence.is_open():
            text = scripts.standby(place.url, mac, asking.tries)
            return _reply(text, _Script("standby", mac, answer=False))
        if mac is None:
            return _reply(scripts.not_a_mac(), _Script("no-mac", None, answer=True))
        now = self._now()
        entry = self._kept.entries.live(mac, self._fence.epoch, now)
        if entry is None:
            discovered = self._kept.discovered
            if discovered.fetched(mac, asking.uuid, asking.architecture, asking.ip, now):
                self._found()
            return _reply(scripts.no_entry(mac), _Script("no-entry", mac, answer=True))
        if entry.kind is BootKind.LOCAL:
            return _reply(scripts.local(), _Script("local", mac, answer=True))
        if entry.kind is BootKind.SANBOOT:
            return self._sanboot(asking, entry)
        return entry

    def _sanboot(self, asking: Asking, entry: BootEntry) -> Reply:
        if self._images is None:
            return self._failed(entry, "This boot server has no image cache: set [boot] url.")
        if not self._images.has(entry.sanboot_sha256):
            text = scripts.not_cached(self._place.url, entry.mac)
            return _reply(text, _Script("not-cached", entry.mac, answer=True))
        grant = self._images.grant(entry.mac, self._lasting(entry))
        text = scripts.sanboot(self._place.url, grant, entry.sanboot_sha256, asking.bios)
        return _reply(text, _Script("sanboot", entry.mac, answer=True))

    async def _secrets(self, entry: BootEntry, epoch: int) -> tuple[str, bytes]:
        if not entry.token_ref:
            return "", b""
        token = await self._asked.token(request(entry, epoch))
        return token.reveal(), await self._asked.join_key()

    def _ramdisk(
        self, asking: Asking, entry: BootEntry, token: str, key: bytes, epoch: int
    ) -> Reply:
        place = self._place
        suffix = "-arm64" if asking.arm64 else ""
        if place.ramdisks[suffix].kernel is None:
            kind = asking.architecture or "x86_64"  # what all are taken for that do not say
            return self._failed(entry, f"This boot server has no ramdisk for {kind}")
        parameters = evolve(place.parameters, mac=str(entry.mac), jwk=key, token=token)
        try:
            if token:
                said = assertion(self._vouching, entry, asking, token, epoch)
                parameters = evolve(parameters, assertion=said)
            if self._images is not None:
                grant = self._images.grant(entry.mac, self._lasting(entry))
                parameters = evolve(parameters, cache=f"{place.url}/cache/t/{grant}")
            arguments = scripts.line((place.cmdline, entry.cmdline), parameters)
            text = scripts.ramdisk(place.url, suffix, arguments)
        except (Malformed, Rejected) as e:
            return self._failed(entry, f"The ramdisk cannot be booted: {e}")
        except Unavailable as e:
            return self._again(asking, str(e))
        return _reply(text, _Script("ramdisk", entry.mac, answer=True))

    def _lasting(self, entry: BootEntry) -> float | None:
        return entry.not_after - self._now() if entry.not_after else None

    def _again(self, asking: Asking, reason: str) -> Reply:
        text = scripts.again(self._place.url, asking.mac, reason, asking.tries)
        return _reply(text, _Script("not-yet", asking.mac, answer=self._fence.is_open()))

    def _failed(self, entry: BootEntry, reason: str) -> Reply:
        self._log.warn("Machine {mac} cannot boot: {reason}", mac=entry.mac, reason=reason)
        return _reply(scripts.failed(reason), _Script("failed", entry.mac, answer=True))

    # Files.

    @routes.get("boot/kernel")
    def kernel(self, request: Request) -> FileReply:
        """:raises NotFound: when there is none; so do the next three."""
        return self._file(self._place.ramdisks[""].kernel, "kernel")

    @routes.get("boot/kernel-arm64")
    def kernel_arm64(self, request: Request) -> FileReply:
        return self._file(self._place.ramdisks["-arm64"].kernel, "kernel-arm64")

    @routes.get("boot/initrd")
    def initrd(self, request: Request) -> FileReply:
        return self._file(self._place.ramdisks[""].initrd, "initrd")

    @routes.get("boot/initrd-arm64")
    def initrd_arm64(self, request: Request) -> FileReply:
        return self._file(self._place.ramdisks["-arm64"].initrd, "initrd-arm64")

    def _file(self, path: Path | None, name: str) -> FileReply:
        self._open()
        if path is None:
            raise NotFound(f"there is no {name}")
        return FileReply(content_of(path), about=name, fence=self._fence)

    @routes.get("boot/loaders/<name...>")
    def loader(self, request: Request, name: str) -> Reply | FileReply:
        """
        For UEFI HTTP boot; and the script that leads an iPXE without one of its own to ours.

        :raises NotFound: for what is no loader of the table.
        """
        self._open()
        if self._loaders is None:
            raise NotFound("there are no loaders: set [boot] tftp_root")
        reply = self._loaders.loader(request, f"loaders/{name}")
        if isinstance(reply, FileReply):
            return evolve(reply, fence=self._fence)
        return evolve(reply, about=_Script("autoexec", None, answer=True))

    def _open(self) -> None:
        """:raises Unavailable: while the fence is closed; iPXE waits that out (W166)."""
        if not self._fence.is_open():
            raise Unavailable("the boot lease is not held")

    # What became of it.

    def finished(self, done: Finished) -> None:
        """One exchange is over."""
        asked = done.request
        if isinstance(done.about, _Script):
            if done.about.answer and done.outcome is Outcome.SENT:
                self._fence.sent()
            sent = ScriptSent(
                peer=done.peer,
                script=done.about.situation,
                mac=done.about.mac,
                size=done.sent,
                seconds=done.seconds,
                outcome=done.outcome.value,
            )
            record(self._log, sent)
        elif asked is not None and asked.segments[:2] == _LOADERS and self._loaders is not None:
            self._loaders.finished(done)
        elif done.status >= 400 or done.status == 0 or asked is None:
            self._refused(done)
        elif isinstance(done.about, str) and asked.method == "GET":
            kind = KernelSent if done.about.startswith("kernel") else InitrdSent
            event = kind(
                peer=done.peer,
                image="ramdisk",
                path=done.about,
                size=done.size,
                sent=done.sent,
                seconds=done.seconds,
                outcome=done.outcome.value,
                status=done.status,
            )
            record(self._log, event)

    def _refused(self, done: Finished) -> None:
        asked = done.request
        refused = MediumRefused(
            peer=done.peer,
            method="-" if asked is None else asked.method,
            target="-" if asked is None else asked.path[:128],
            status=done.status,
            reason=done.reason,
        )
        record(self._log, refused)

    def closed(self, peer: tuple[str, int]) -> None:
        """A connection is gone: what was counted of loaders is told."""
        if self._loaders is not None:
            self._loaders.closed(peer)


def content_of(path: Path) -> Content:
    """
    :raises NotFound: unless it is a file that can be read.
    :raises Unavailable: when the disk does not answer.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as e:
        raise NotFound(f"{path}: {e.strerror}") from e
    except OSError as e:
        raise Unavailable(f"{path}: {e.strerror}") from e
    if not stat.S_ISREG(found.st_mode) or not os.access(path, os.R_OK):
        raise NotFound(f"{path} is no file that can be read")
    return Content(
        path,
        (Extent(0, found.st_size),),
        (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns),
        modified=int(found.st_mtime),
    )


def _reply(text: str, about: _Script) -> Reply:
    return Reply(text.encode("ascii"), _TYPE, headers=_FRESH, about=about)
