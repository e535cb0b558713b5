"""The answer listener and the admin listener, over one answer set."""

import time
from collections.abc import Iterator

from twisted.application.service import IService
from twisted.internet.interfaces import (
    IReactorCore,
    IReactorFDSet,
    IReactorFromThreads,
    IReactorTime,
)

from ..answers.admin.resource import Admin
from ..answers.resource import Answers
from ..answers.service import AnswersService
from ..answers.store import AnswerStore
from ..answers.stores.capture import Captures
from ..answers.stores.directory import AnswerDirectory
from ..answers.stores.watcher import Watcher
from ..answers.stores.watches import Watches
from ..config import Config
from ..interfaces import Workers
from ..values import StoreKind
from ..web.renewal import CertificateService
from ..web.service import WebService
from ..web.site import Limits, Site
from .stores import store_of

#: What the admin listener takes: one document in a request, from a few editors and scripts.
ADMIN = Limits(connections=64, body_bytes=256 * 1024, total_seconds=30, stall_seconds=30)


class Reactor(IReactorCore, IReactorTime, IReactorFDSet, IReactorFromThreads):
    """What the boot server asks of a reactor."""


def answering(
    config: Config,
    reactor: Reactor,
    workers: Workers,
    tls: CertificateService | None,
    own_logger: bool = False,
) -> Iterator[IService]:
    """
    :param workers: threads that answers alone are made in.
    :param own_logger: whether twistd was told of a logger: it hears of everything.
    :returns: services; nothing is bound or read yet.
    """
    store = _live(config, reactor, workers)
    yield AnswersService(store)
    captures = None
    if config.answers.capture is not None:
        captures = Captures(config.answers.capture, workers, time.time)
    answers = Answers(
        store,
        workers,
        token=config.answers.token,
        installed=config.answers.installed,
        captures=captures,
        told=own_logger or config.log.show == "all",
    )
    limits = Limits.answers(config.answers.connections, config.answers.seconds)
    site = Site(answers, reactor=reactor, limits=limits, workers=workers)
    yield WebService(reactor, "answers", config.answers.listen, site, tls)
    if config.admin is not None:
        admin = Admin(store, workers, config.admin.token, time.monotonic)
        site = Site(admin, reactor=reactor, limits=ADMIN, workers=workers)
        yield WebService(reactor, "admin", config.admin.listen, site, tls)


def _live(config: Config, reactor: Reactor, workers: Workers) -> AnswerStore:
    if config.answers.store is not StoreKind.FILES:
        return AnswerStore(store_of(config), workers, reactor)
    watches = Watches()
    directory = AnswerDirectory(config.answers.directory, time.time, watches)
    return AnswerStore(directory, workers, reactor, Watcher(reactor, reactor, watches))
