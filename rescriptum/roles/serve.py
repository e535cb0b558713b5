"""The boot server: answers, media, scripts and loaders, composed. It speaks no DHCP."""

import time
from collections.abc import Sequence

from twisted.application.service import IService

from .. import __version__
from ..boot.resource import LoaderTree
from ..boot.scripts import Choice
from ..boot.store import BootDirectory
from ..config import Config
from ..errors import RescriptumError
from ..ipxe.resource import Scripts
from ..logs import observer
from ..media.resource import MediaTree
from ..media.store import MediaStore
from ..net.udp import UDP
from ..net.workers import WorkerPool
from ..tftp.protocol import TFTPServer
from ..tftp.service import TFTPService
from ..web.renewal import CertificateService
from ..web.routing import Application, Mounted
from ..web.service import WebService
from ..web.site import Limits, Site
from . import scripts
from .access import AccessService, needs
from .answering import Reactor, answering
from .root import Root
from .stores import store_of

#: Threads for images and loaders, and for answers: a disk that is slow to read ahead does not
#: hold up the answers of installations that are under way.
MEDIA_THREADS, ANSWER_THREADS = 4, 2


def make_server(
    config: Config, reactor: Reactor, daemon: bool = False, own_logger: bool = False
) -> IService:
    """
    :param daemon: whether twistd goes into the background, and waits for word of the start.
    :param own_logger: whether twistd was told of a logger, which then hears of everything.
    :returns: the whole boot server; nothing is bound or started yet.
    """
    workers = WorkerPool(reactor, "media", MEDIA_THREADS)
    resolvers = WorkerPool(reactor, "answers", ANSWER_THREADS)
    log = observer(config.log.show, config.log.file)
    root = Root(
        reactor, log, [workers, resolvers], config.user, config.group, _greeting(config), daemon
    )
    tls = None
    if config.tls is not None:
        tls = CertificateService(reactor, config.tls.certificate, config.tls.key)
        tls.setServiceParent(root)

    AccessService(needs(config)).setServiceParent(root)

    for service in answering(config, reactor, resolvers, tls, own_logger):
        service.setServiceParent(root)

    if config.serves_media:
        loaders = None
        if config.boot.directory is not None:
            loaders = BootDirectory(config.boot.directory, scripts.generated(config))
        site = Site(
            _media(config, workers, loaders),
            reactor=reactor,
            limits=Limits.media(config.media.connections, config.media.seconds),
            admission=config.boot.allow,
            workers=workers,
        )
        WebService(reactor, "media", config.media.listen, site, tls).setServiceParent(root)
        if loaders is not None and config.tftp.listen is not None:
            server = TFTPServer(
                reactor,
                UDP(reactor, time.monotonic),
                loaders,
                admission=config.boot.allow,
                workers=workers,
                monotonic=time.monotonic,
                blksize=config.tftp.blksize,
                ports=config.tftp.ports,
            )
            TFTPService(reactor, server, config.tftp.listen).setServiceParent(root)
    return root


def _greeting(config: Config) -> str:
    derived = " (derived: set RESCRIPTUM_PUBLIC_HOST)" if config.public_host is None else ""
    return (
        f"rescriptum {__version__}: answers out of {store_of(config).describe()}, scripts name "
        f"{scripts.media_url(config)}{derived}"
    )


def _media(config: Config, workers: WorkerPool, loaders: BootDirectory | None) -> Mounted:
    """:returns: images, scripts and loaders, told apart by the first segment."""
    store = None
    if config.media.directory is not None:
        store = MediaStore(config.media.directory, workers, time.monotonic)

    async def choices() -> Sequence[Choice]:
        return scripts.choices(config, await store.catalogue()) if store is not None else ()

    def menu(offered: Sequence[Choice]) -> str:
        return scripts.menu(config, offered, _has(loaders, scripts.LOGO))

    tree = Scripts(scripts.bootstrap(config), choices, menu)
    mounts: dict[str, Application] = {"ipxe": tree}
    if loaders is not None:
        mounts["boot"] = LoaderTree(loaders)
    return Mounted(MediaTree(store) if store is not None else tree, mounts)


def _has(loaders: BootDirectory | None, name: str) -> bool:
    if loaders is None:
        return False
    try:
        loaders.find(name.encode("ascii"))
    except RescriptumError:
        return False
    return True
