"""The built-in driver: one BMC by Redfish."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from hyperlink import DecodedURL

from ..driver import Asked, Credential
from ..trust import Trust
from .client import HttpTransport, Reactor
from .operations import perform
from .probing import probe
from .quirks import QuirkProfile
from .session import Session, talk

_T = TypeVar("_T")

#: Path of the service root where a URL names none.
BASE = "/redfish/v1"


class RedfishDriver:
    """
    One BMC. Nothing is asked before an operation, and nothing is left of one afterwards but the
    profile.

    :ivar profile: what is known of the BMC; it grows with every operation.
    """

    def __init__(
        self,
        reactor: Reactor,
        base_url: DecodedURL,
        trust: Trust,
        *,
        system: str = "",
        profile: QuirkProfile | None = None,
    ) -> None:
        """
        :param reactor: also one that connects.
        :param base_url: of the BMC, or of its service root where that is not ``/redfish/v1``.
        :param system: id or path of the machine, where the BMC has several.
        :param profile: what was learnt of it before.
        """
        self._reactor = reactor
        self._url = base_url
        self._trust = trust
        self._system = system
        self.profile = profile or QuirkProfile()

    async def run(self, asked: Asked) -> dict[str, object]:
        """
        :returns: the data of its outcome, with no secret in it.
        :raises BmcRefusal: with the code of why not. It takes ``asked.seconds`` at the most.
        """
        held = (asked.replacement.password.reveal(),) if asked.replacement else ()

        async def performing(session: Session) -> dict[str, object]:
            made = await perform(session, self._system, asked)
            return {name: session.mask.document(each) for name, each in made.items()}

        return await self._talk(asked.credential, asked.seconds, held, performing)

    async def probe(self, credential: Credential | None, seconds: float = 60) -> QuirkProfile:
        """
        Find out everything that :class:`QuirkProfile` has, without changing anything.

        :raises BmcRefusal: as an operation does.
        """
        self.profile = QuirkProfile()

        async def probing(session: Session) -> None:
            await probe(session, self._system)

        await self._talk(credential, seconds, (), probing)
        return self.profile

    async def _talk(
        self,
        credential: Credential | None,
        seconds: float,
        held: tuple[str, ...],
        work: Callable[[Session], Awaitable[_T]],
    ) -> _T:
        transport = HttpTransport(self._reactor, self._url, self._trust)
        names = [each for each in self._url.path if each]
        base = "/" + "/".join(names) if names else BASE
        session = Session(
            transport, transport.origin, base, credential, self.profile, seconds, held
        )
        try:
            return await transport.within(seconds, talk(session, work))
        finally:
            self.profile = session.profile.told(lambda text: str(session.mask.document(text)))
            await transport.close()
