"""The gateway: the control plane of agents, composed."""

import os
import socket
import time

from twisted.application.service import IService

from .. import __version__
from ..errors import ConfigError
from ..gateway.config import Config
from ..gateway.service import GatewayService, Reactor, Surroundings
from ..gateway.stores.locations import threads
from ..logs import observer
from ..net.addresses import derived_host, host_addresses
from ..net.clocks import boottime
from ..net.workers import WorkerPool
from ..values import Problem
from .root import Root


def own_names() -> tuple[str, ...]:
    """:returns: what this host is called, the name first: what agents may call it at all."""
    found = (
        socket.gethostname(),
        derived_host(),
        *host_addresses(),
        "localhost",
        "127.0.0.1",
        "::1",
    )
    return tuple(dict.fromkeys(each.lower() for each in found if each.isascii() and each))


def make_gateway(config: Config, reactor: Reactor, daemon: bool = False) -> IService:
    """
    :param daemon: whether twistd goes into the background, and waits for word of the start.
    :returns: one whole gateway process; nothing is opened or bound yet.
    :raises ConfigError: for a database or a log that cannot be.
    """
    database = WorkerPool(reactor, "database", threads(config.database_url))
    try:
        log = observer(config.log, config.log_file)
    except ConfigError as e:
        raise ConfigError([Problem("log_file", each.text) for each in e.problems]) from e
    greeting = f"rescriptum {__version__}: gateway with its data in {config.data_dir}"
    root = Root(reactor, log, [database], None, None, greeting, daemon)
    around = Surroundings(
        names=own_names(),
        now=time.time,
        monotonic=time.monotonic,
        boottime=boottime,
        octets=os.urandom,
    )
    GatewayService(reactor, config, database, around).setServiceParent(root)
    return root
