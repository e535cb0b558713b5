"""A site agent's boot server, composed: HTTP, TFTP and proxy DHCP behind the fence of its lease."""

import random
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial

from attrs import evolve
from twisted.application.service import IService, MultiService
from twisted.internet.interfaces import (
    IReactorCore,
    IReactorFDSet,
    IReactorFromThreads,
    IReactorTime,
)

from ..agent.character import Character
from ..agent.client import GatewayClient
from ..agent.config import AgentConfig, BootConfig, SiteConfig
from ..agent.service import AgentService
from ..agent.store import DataDirectory
from ..boot.allow import AllowList
from ..boot.bootparams import BootParameters
from ..boot.discovery import Discoveries
from ..boot.lease import LeaseStatus
from ..boot.resource import LoaderTree
from ..boot.scripts import site_autoexec
from ..boot.store import BootDirectory
from ..cache.client import HostPolicy, ImageClient
from ..cache.grants import Grants
from ..cache.resource import CacheTree
from ..cache.service import CacheService
from ..cache.store import CacheDirectory
from ..contract.joining import Keys
from ..contract.keys import Key
from ..contract.reports import State
from ..contract.sessions import SecretRequest
from ..contract.specs import CacheImage
from ..contract.structure import JSON, plain
from ..errors import NotFound
from ..net.clocks import boottime
from ..net.udp import UDP
from ..net.workers import WorkerPool
from ..proxydhcp.answer import BootFiles
from ..proxydhcp.foreign import Foreigners
from ..proxydhcp.policy import Policy
from ..proxydhcp.protocol import ProxyDHCP
from ..proxydhcp.service import ProxyDHCPService
from ..proxydhcp.strategies import Strategies
from ..siteboot.client import Asked
from ..siteboot.kinds import kinds
from ..siteboot.loaders import AUTOEXEC, Inside, Listed, There
from ..siteboot.resource import BootTree, Place, Ramdisk, content_of
from ..siteboot.section import BootSection
from ..siteboot.service import BootServer, Part
from ..siteboot.store import Kept
from ..siteboot.watched import Foreign, Learnt, shown
from ..tftp.protocol import TFTPServer
from ..tftp.service import TFTPService
from ..tftp.wire import ErrorCode
from ..values import MAC, Generated, Secret
from ..web.routing import Application, Mounted
from ..web.service import WebService
from ..web.site import Limits, Site
from .bmc import Offers

#: Threads for the files of HTTP and TFTP, and for those of the cache.
MEDIA_THREADS, CACHE_THREADS = 4, 3
#: What machines take of HTTP: no request has a body.
LIMITS = Limits(transfers=512, header_seconds=10, head_bytes=8 * 1024, body_bytes=0)


class Reactor(IReactorCore, IReactorTime, IReactorFDSet, IReactorFromThreads):
    """What a boot server asks of a reactor."""


class _Vouching:
    """Satisfies :class:`rescriptum.siteboot.tokens.Vouching`."""

    def __init__(self, config: AgentConfig, agent: AgentService, client: GatewayClient) -> None:
        self.site = config.site
        self._agent = agent
        self._client = client

    @property
    def key(self) -> Key | None:
        identity = self._agent.identity
        return None if identity is None else identity.key

    def now(self) -> int:
        return self._agent.now()

    async def kept_secret(self, request: SecretRequest) -> Secret:
        return await self._agent.kept_secret(request)

    async def join_keys(self) -> Keys:
        return await self._client.keys()


class _Images:
    """The image cache, for scripts and for the site section of reports."""

    def __init__(self, cache: CacheService, grants: Grants) -> None:
        self._cache = cache
        self._grants = grants

    def has(self, digest: str) -> bool:
        return self._cache.find(digest) is not None

    def grant(self, mac: MAC, lasting: float | None) -> str:
        return self._grants.boot(mac, lasting).token

    async def converge(self, images: Sequence[CacheImage]) -> tuple[State, str, JSON]:
        status = await self._cache.converge(images)
        return status.state, status.reason, plain(status)

    def inventory(self) -> JSON:
        return self._cache.inventory()


class Booting:
    """
    The boot server of one site agent.

    :ivar pools: threads that it uses.
    :ivar offers: of images, to BMCs; None: there is no cache.
    """

    def __init__(
        self, config: SiteConfig, boot: BootConfig, reactor: Reactor, files: WorkerPool
    ) -> None:
        """:param files: one thread, for what is written to the data directory."""
        self._config = config
        self._boot = boot
        self._reactor = reactor
        self._url = "" if boot.url is None else boot.url.to_uri().to_text().rstrip("/")
        self._media = WorkerPool(reactor, "boot", MEDIA_THREADS)
        self._disk = WorkerPool(reactor, "cache", CACHE_THREADS)
        self._writer = WorkerPool(reactor, "pulls", 1)
        self.pools = [self._media, self._disk, self._writer]
        self.offers: Offers | None = None
        # The agent holds the directory's lock for as long as anything is written.
        directory = DataDirectory(config.agent.data_dir)
        discovered = Discoveries(boot.proxy_dhcp)
        self._kept = Kept(directory, files, discovered, time.time, self._dropped)
        # What was learnt outlives a listener that is started anew.
        self._strategies = Strategies(boot.offers, boot.learn_offers)
        self._foreigners = Foreigners(b"" if boot.server_ip is None else boot.server_ip.packed)

    def _dropped(self, mac: MAC) -> None:
        self._grants.withdraw(mac)

    def character(self, own: Character) -> Character:
        """:returns: what it makes of an agent without a boot server."""
        return evolve(
            own,
            kinds=(*own.kinds, *kinds(self._kept)),
            convergers=lambda lease: [self._section(lease)],
            boots=True,
        )

    def attach(self, agent: AgentService, client: GatewayClient, parent: MultiService) -> None:
        """:param agent: of that character; it starts before what is attached to it."""
        self._agent = agent
        self._grants = Grants(agent.fence, partial(secrets.token_bytes, 16), boottime)
        self._images: _Images | None = None
        mounts: dict[str, Application] = {}
        if self._url:
            cache = self._cache()
            cache.setServiceParent(parent)
            self._images = _Images(cache, self._grants)
            self.offers = Offers(cache, self._grants, self._url)
            mounts["cache"] = CacheTree(cache, self._grants, agent.fence)
        self._directory, self._listed = None, None
        if self._boot.tftp_root is not None:
            lead = site_autoexec(self._url, self._boot.listen.port)
            made = {AUTOEXEC: Generated(lead.encode("ascii"))}
            self._directory = Inside(BootDirectory(self._boot.tftp_root, made))
            self._listed = Listed(self._directory, self._boot.loaders)
        self._mounted = Mounted(self._tree(client), mounts)
        self._server = BootServer(
            self._reactor,
            self._parts(),
            self._kept.open,
            self._changed,
            lambda: self._kept.discovered.report_in(boottime()),
            agent.look,
        )
        self._server.setServiceParent(parent)

    def _changed(self, serves: bool) -> None:
        self._agent.boots = serves
        self._agent.look()

    def _section(self, lease: Callable[[], LeaseStatus]) -> BootSection:
        return BootSection(
            lease,
            lambda: self._server.status,
            self._kept,
            self._images,
            self._agent,
            time.time,
            boottime,
            self._watched if self._boot.proxy_dhcp else None,
        )

    def _watched(self) -> JSON:
        learnt = [
            Learnt(str(each.mac), each.tag, each.strategy.value)
            for each in self._strategies.learnt()
        ]
        foreign = [
            Foreign(each.server, each.code, each.reason, each.cure)
            for each in self._foreigners.findings
        ]
        return shown(learnt, foreign)

    def _cache(self) -> CacheService:
        return CacheService(
            CacheDirectory(self._config.agent.data_dir / "cache"),
            ImageClient(self._reactor, HostPolicy(), self._disk, self._writer),
            self._config.cache_max_bytes,
            self._held,
            self._agent.look,
            time.time,
            random.random,
        )

    def _held(self) -> frozenset[str]:
        named = (each.sanboot_sha256 for each in self._kept.entries)
        return self._grants.digests.union(filter(None, named))

    def _tree(self, client: GatewayClient) -> BootTree:
        agent, boot = self._config.agent, self._boot
        vouching = _Vouching(agent, self._agent, client)
        ramdisks = {
            suffix: Ramdisk(files.kernel, files.initrd)
            for suffix, files in (("", boot.x86_64), ("-arm64", boot.arm64))
        }
        return BootTree(
            Place(self._url, _parameters(agent), boot.cmdline, ramdisks),
            self._kept,
            self._agent.fence,
            vouching,
            Asked(vouching, agent.join_encryption_pin, boottime),
            images=self._images,
            loaders=None if self._listed is None else LoaderTree(self._listed),
            now=time.time,
            found=self._found,
        )

    def _found(self) -> None:
        self._server.found()

    # The listeners.

    def _parts(self) -> list[Part]:
        parts = [Part("http", self._http, self._files_there, essential=True)]
        if self._directory is not None:
            parts.append(Part("tftp", self._tftp))
        if self._boot.proxy_dhcp:
            parts.append(Part("dhcp", self._dhcp))
        return parts

    async def _files_there(self) -> None:
        await self._media.run(self._check_files)

    def _check_files(self) -> None:
        """:raises NotFound: naming the key of ``site.toml``; ``Unavailable`` likewise."""
        for suffix, files in (("", self._boot.x86_64), ("_arm64", self._boot.arm64)):
            for name, path in (("kernel", files.kernel), ("initrd", files.initrd)):
                if path is not None:
                    try:
                        content_of(path)
                    except NotFound as e:
                        raise NotFound(f"[boot] {name}{suffix}: {e}") from None

    def _http(self) -> IService:
        site = Site(self._mounted, reactor=self._reactor, limits=LIMITS, workers=self._media)
        return WebService(self._reactor, "boot", self._boot.listen, site)

    def _tftp(self) -> IService:
        assert self._directory is not None
        server = TFTPServer(
            self._reactor,
            UDP(self._reactor, time.monotonic),
            self._directory,
            admission=AllowList(),
            fence=self._agent.fence,
            workers=self._media,
            monotonic=time.monotonic,
            write_refusal=ErrorCode.ILLEGAL_OPERATION,
        )
        return TFTPService(self._reactor, server, self._boot.tftp_listen, optional=False)

    def _dhcp(self) -> IService:
        own, fence, listed = self._boot.server_ip, self._agent.fence, self._listed
        assert own is not None
        files = BootFiles(
            own,
            self._url,
            {} if listed is None else There(listed),
            (lambda: None) if listed is None else listed.native,
            tftp=listed is not None,
        )
        policy = Policy(files, fence, self._kept.entries, self._strategies, time.time)
        server = ProxyDHCP(
            UDP(self._reactor, time.monotonic),
            policy,
            fence=fence,
            discovered=self._kept.discovered,
            server=own.packed,
            monotonic=time.monotonic,
            now=time.time,
            found=self._found,
            foreign=self._foreigners,
        )
        return ProxyDHCPService(server, self._boot.interface)


def _parameters(agent: AgentConfig) -> BootParameters:
    """:returns: what a ramdisk is told of its gateway, as this agent itself was."""
    name = agent.gateway_server_name
    pins = agent.join_signing_pin, agent.join_encryption_pin
    signing, encryption = ("" if each is None else str(each) for each in pins)
    return BootParameters(
        gateway=agent.gateway_url.to_uri().to_text(),
        server_name="" if name == agent.gateway_url.host else name,
        site=agent.site,
        serving_ca_pin=",".join(map(str, agent.serving_ca_pins)),
        join_signing_pin=signing,
        join_encryption_pin=encryption,
    )
