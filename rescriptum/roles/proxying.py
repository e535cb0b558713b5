"""Requests that a site agent makes for the control plane, composed."""

from collections.abc import Callable, Collection

from attrs import evolve
from twisted.internet.interfaces import IReactorPluggableNameResolver, IReactorTime

from ..agent.character import Character
from ..agent.config import SiteConfig
from ..siteproxy.client import ProxyClient
from ..siteproxy.kinds import HttpProxy
from ..siteproxy.section import ProxySection


def proxying(
    own: Character,
    config: SiteConfig,
    reactor: IReactorTime,
    known_bmcs: Callable[[], Collection[str]],
) -> Character:
    """
    :param reactor: also one that connects, and looks names up in its threads.
    :param known_bmcs: hosts of BMCs that this agent has spoken to: names and addresses.
    :returns: ``own``, which makes requests as well.
    """
    section, before = ProxySection(), own.convergers
    resolver = IReactorPluggableNameResolver(reactor).nameResolver
    client = ProxyClient(reactor, resolver)
    return evolve(
        own,
        kinds=(*own.kinds, HttpProxy(section, known_bmcs, config.bmc_networks, client)),
        convergers=lambda lease: [*before(lease), section],
    )
