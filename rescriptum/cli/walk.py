"""Walks the boot chain against the running server: asks, and hands over what was heard."""

import errno
import hashlib
import socket
from ipaddress import ip_address
from pathlib import Path

from attrs import define, field, frozen
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from zope.interface import Interface

from ..boot import chain, observed
from ..boot.chain import Finding, Link, Verdict, Wanted
from ..boot.client import ChainClient
from ..boot.fetches import fetches
from ..boot.loaders import ONE_LOADER
from ..boot.observed import Answer, Bind, Heard, Silent
from ..boot.scripts import Unclaimed
from ..boot.store import BootDirectory
from ..config import Config
from ..errors import Malformed, Refused, Unavailable
from ..net.addresses import LOOPBACK
from ..tftp.client import Fetched, fetch
from ..tftp.download import RefusedByServer, TooLarge
from ..values import MAC, Content, Listen

#: Seconds of silence that mean that nobody is there.
SILENCE = 2.0
#: Seconds that one loader may take, however lively the server is.
LONGEST = 30.0
MAX_LOADER = 64 << 20
MAX_SCRIPT = 1 << 20
MAX_DOCUMENT = 16 << 20
#: What edk2 asks for.
_BLKSIZE, _WINDOWSIZE = 1468, 4


@frozen
class Endpoints:
    """
    Where machines find the server.

    :ivar host: ``RESCRIPTUM_PUBLIC_HOST``, or what was guessed.
    :ivar media: base URL of the media listener; ``answers`` of the answer listener.
    :ivar doubts: why machines may not reach it.
    """

    host: str
    media: str
    answers: str
    doubts: tuple[str, ...] = ()


@define
class Walk:
    """One walk: every method asks one stretch of the way, and appends what it found."""

    _reactor: Interface
    _config: Config
    _at: Endpoints
    _client: ChainClient
    _mac: MAC | None = None
    findings: list[Finding] = field(factory=list, init=False)
    _files: dict[str, bytes] = field(factory=dict, init=False)

    async def walk(self) -> list[Finding]:
        """:returns: everything that was found, in the order of the way."""
        boot, tftp = self._config.boot, self._config.tftp.listen
        logo = boot.logo
        if logo is None and boot.directory is not None:
            logo = boot.directory / "logo.png"
        self.findings += chain.settings(
            self._config.media.listen.port,
            tftp.port if tftp is not None else None,
            self._at.doubts,
            logo is not None and logo.is_file(),
        )
        if boot.directory is None:
            # No note: with the settings of another shell this would walk nothing, and say yes.
            text = (
                "RESCRIPTUM_BOOT_DIR is not set: no loader is served from here; a machine "
                "that is sent here stops. Run this with the settings of the server"
            )
            self._found(Link.LOADER, Verdict.BROKEN, "boot directory", text)
        else:
            self._disk(boot.directory)
            if tftp is not None:
                await self._tftp(tftp)
        if self._config.serves_media:
            await self._http()
        return self.findings

    def _found(self, link: Link, verdict: Verdict, subject: str, text: str) -> None:
        self.findings.append(Finding(link, verdict, subject, text))

    def _disk(self, directory: Path) -> None:
        loaders = BootDirectory(directory, {})
        promised = chain.digests(_text(loaders, "SHA256SUMS"))
        for file in chain.wanted():
            data = _read(loaders, file.name)
            if data is not None:
                self._files[file.name] = data
            self.findings.append(self._loader(file, data, promised.get(file.name)))
        for name in ("autoexec.ipxe", "script.ipxe", "pxelinux.cfg/default"):
            # The operator's own, in the place of what would be answered from memory.
            data = _read(loaders, name)
            if data is not None:
                self._files[name] = data

    @staticmethod
    def _loader(file: Wanted, data: bytes | None, promised: str | None) -> Finding:
        digest = hashlib.sha256(data).hexdigest() if data is not None and promised else None
        return chain.on_disk(file, None if data is None else len(data), digest, promised)

    def _scripts(self) -> dict[str, bytes]:
        """:returns: what is answered from memory, and a part of what it must say."""
        scripts = {"autoexec.ipxe": b"/ipxe/bootstrap"}
        if ONE_LOADER in self._files:
            scripts |= {"pxelinux.cfg/default": b"ipxe.lkrn", "script.ipxe": b"/ipxe/bootstrap"}
        return scripts

    async def _tftp(self, listen: Listen) -> None:
        host = self._tftp_host(listen)
        at = str(Listen(host, listen.port))
        if not self._admitted(Link.TFTP, host):
            return
        loaders = [each.name for each in chain.wanted() if each.name in self._files]
        for name in (*loaders, *self._scripts()):
            expected = self._files.get(name)
            try:
                limit = MAX_SCRIPT if expected is None else len(expected)
                got = await self._fetch(Listen(host, listen.port), name, limit)
            except TimeoutError:
                self._foreign(name, at, f"it talks for {LONGEST:g} s and hands nothing over")
                return
            except Unavailable:
                self.findings.append(observed.tftp_silent(at, _bind(listen)))
                return
            except RefusedByServer as e:
                self._foreign(name, at, f"it says 'error {e.number}: {e.text}'")
            except TooLarge:
                self._foreign(name, at, "it sends more bytes than the file has")
            except Malformed as e:
                self._foreign(name, at, f"what it says is no TFTP: {e}")
            else:
                self._handed_over(name, at, got.data, dict(got.options))

    async def _fetch(self, server: Listen, name: str, limit: int) -> Fetched:
        """:raises TimeoutError: when it takes longer than any loader does."""
        fetching = fetch(
            self._reactor,
            server.host,
            server.port,
            name.encode(),
            blksize=_BLKSIZE,
            windowsize=_WINDOWSIZE,
            tsize=True,
            limit_bytes=limit,
            timeout=SILENCE,
        )
        return await Deferred.fromCoroutine(fetching).addTimeout(
            LONGEST, IReactorTime(self._reactor)
        )

    def _handed_over(self, name: str, at: str, data: bytes, granted: dict[bytes, bytes]) -> None:
        expected = self._files.get(name)
        if expected is None and self._scripts()[name] not in data:
            self._foreign(name, at, f"it sends {len(data)} bytes that are not our script")
        elif expected is not None and data != expected:
            difference = f"it sends {len(data)} bytes that are not the {len(expected)} here"
            self._foreign(name, at, difference)
        else:
            options = {key.decode(): value.decode() for key, value in granted.items()}
            self.findings.append(observed.tftp_same(name, len(data), options))

    def _foreign(self, name: str, at: str, difference: str) -> None:
        self.findings.append(observed.tftp_foreign(name, at, difference))

    def _admitted(self, link: Link, host: str) -> bool:
        """This host asks itself from the address that it asks."""
        if _is_address(host) and not self._config.boot.allow.admits(host):
            self.findings.append(observed.not_asked(link, host))
            return False
        return True

    def _tftp_host(self, listen: Listen) -> str:
        """Where machines ask; the TFTP client takes addresses, names are the resolver's."""
        if _is_address(self._at.host):
            return self._at.host
        return listen.host if not ip_address(listen.host).is_unspecified else LOOPBACK

    async def _http(self) -> None:
        if not self._admitted(Link.HTTP, self._at.host):
            return
        for name in (each.name for each in chain.wanted() if each.name in self._files):
            expected = self._files[name]
            url = f"{self._at.media}/boot/{name}"
            probe = await self._client.head(url)
            answer: Answer = probe
            if isinstance(probe, Heard):
                answer = await self._client.get(url, len(expected))
            media_type = _media_type(name)
            self.findings.append(observed.http_loader(url, probe, answer, expected, media_type))
            if isinstance(probe, Silent):
                return
        await self._bootstrap()

    async def _bootstrap(self) -> None:
        url = f"{self._at.media}/ipxe/bootstrap"
        answer = await self._client.get(url, MAX_SCRIPT)
        self.findings.append(observed.script(url, answer, f"{self._at.answers}/ipxe/boot"))
        claimed = await self._claim()
        script = claimed
        menu = claimed is None and self._config.boot.unclaimed is Unclaimed.MENU
        if menu and isinstance(answer, Heard):
            url = f"{self._at.media}/ipxe/menu"
            answer = await self._client.get(url, MAX_SCRIPT)
            self.findings.append(observed.script(url, answer, ""))
            if isinstance(answer, Heard) and answer.status == 200:
                script = answer.body
        if script is not None:
            await self._parts(script.decode("utf-8", "replace"), claimed is not None)

    async def _claim(self) -> bytes | None:
        """:returns: the script of the machine that is followed, where one claims it."""
        otherwise = "the menu" if self._config.boot.unclaimed is Unclaimed.MENU else "its own disk"
        url = f"{self._at.answers}/ipxe/boot"
        if self._mac is not None:
            url += f"?mac={self._mac}"
        answer = await self._client.get(url, MAX_SCRIPT)
        asked_for = str(self._mac) if self._mac is not None else None
        self.findings.append(observed.claim(url, answer, otherwise, asked_for=asked_for))
        if self._mac is not None and isinstance(answer, Heard) and answer.status == 200:
            return answer.body
        return None

    async def _parts(self, script: str, claimed: bool) -> None:
        bases = (f"{self._at.media}/", f"{self._at.answers}/")
        for each in fetches(script, self._at.host, self._mac if claimed else None):
            if each.kind == "answer" and not (claimed and each.url.startswith(bases)):
                continue
            if each.open or not each.url.startswith(bases):
                why = "only the machine can fill it in" if each.open else "it is another server's"
                self._found(Link.KERNEL, Verdict.NOTE, each.url, f"not asked: {why}")
            elif each.kind == "answer":
                # A directory is NoCloud's: user-data is the file that has to be there.
                url = each.url + "user-data" if each.url.endswith("/") else each.url
                answer = await self._client.get(url, MAX_DOCUMENT)
                self.findings.append(observed.document(url, answer))
            else:
                answer = await self._client.head(each.url)
                self.findings.append(observed.part(each.kind, each.url, answer))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _media_type(name: str) -> str:
    return "application/efi" if name.endswith(".efi") else "application/octet-stream"


def _read(loaders: BootDirectory, name: str) -> bytes | None:
    """:returns: the bytes, or None where there is no file of that name that can be read."""
    try:
        found = loaders.find(name.encode())
        if not isinstance(found, Content) or found.size > MAX_LOADER:
            return None
        return found.path.read_bytes()
    except (Refused, OSError):
        return None


def _text(loaders: BootDirectory, name: str) -> str:
    return (_read(loaders, name) or b"").decode("utf-8", "replace")


def _bind(listen: Listen) -> Bind:
    """:returns: what becomes of an attempt to bind the port that nobody answered on."""
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((listen.host, listen.port))
        except OSError as e:
            denied = e.errno in (errno.EACCES, errno.EPERM)
            return Bind(e.strerror or str(e), denied)
    return Bind(None)
