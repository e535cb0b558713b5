"""``site.httpProxy``: a command that is one HTTP request."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, Final, Protocol
from zlib import crc32

from ..contract.joining import Role
from ..contract.kinds import KINDS
from ..contract.pins import Pin
from ..contract.proxying import LONGEST_SECONDS, HttpProxyRequest
from ..contract.refusals import Rejected
from ..contract.specs import ProxyTarget
from ..contract.structure import JSON, plain
from ..values import Secret
from .addresses import Network
from .answer import Answer
from .rule import Allowed, Lookup, check, check_value

#: Requests that are under way at once, at the most; those to one machine, one after the other.
#: Fewer than the commands that an agent runs: machines that do not answer hold up no boot.
LANES: Final = 4


class Running(Protocol):
    """A command that runs; :class:`rescriptum.agent.kinds.Context` is one."""

    def secret(self, ref: str) -> Awaitable[Secret]:
        """:raises Rejected: where the command's workflow does not name it."""


class Going(Protocol):
    """Where requests go out; see :class:`rescriptum.siteproxy.client.ProxyClient`."""

    async def resolve(self, host: str) -> tuple[str, ...]:
        """:raises Unavailable: when nobody says."""

    async def perform(
        self, allowed: Allowed, headers: Sequence[tuple[str, str]], body: bytes, pin: Pin | None
    ) -> Answer:
        """:raises RescriptumError: when there is none."""

    async def within(self, seconds: float, work: Coroutine[Any, Any, JSON]) -> JSON:
        """:raises Rejected: ``timeout``, when it takes longer; then it is given up."""


class Targets(Protocol):
    """See :class:`rescriptum.siteproxy.section.ProxySection`."""

    @property
    def targets(self) -> tuple[ProxyTarget, ...]: ...


class HttpProxy:
    """Makes one request, if the rule allows it."""

    payload = HttpProxyRequest
    # What comes before and after the request is short, but for asking the gateway for secrets.
    timeout_s: float = LONGEST_SECONDS + 10

    def __init__(
        self,
        listed: Targets,
        known_bmcs: Callable[[], Collection[str]],
        bmc_networks: tuple[Network, ...],
        client: Going,
    ) -> None:
        """
        :param known_bmcs: hosts of BMCs that this agent has spoken to: names and addresses.
        """
        row = KINDS["site.httpProxy"]
        self.name: str = row.name
        self.roles: frozenset[Role] = row.roles
        self.destructive: bool = row.destructive
        self._listed = listed
        self._known_bmcs = known_bmcs
        self._bmc_networks = bmc_networks
        self._client = client

    def resource(self, payload: HttpProxyRequest) -> str:
        """:raises Rejected: ``invalid-payload`` for a body or a pin that is none."""
        _body(payload)
        _pin(payload)
        return f"proxy {crc32(payload.target_node_id.encode('utf-8')) % LANES}"

    async def run(self, context: Running, payload: HttpProxyRequest) -> JSON:
        """:raises Rejected: ``request-denied`` by the rule, ``timeout``, ``too-large``."""
        return await self._client.within(payload.seconds, self._run(context, payload))

    async def _run(self, context: Running, payload: HttpProxyRequest) -> JSON:
        verdict = self._check(payload)
        if isinstance(verdict, Lookup):
            verdict = self._check(payload, await self._client.resolve(verdict.host))
        assert isinstance(verdict, Allowed)
        headers = [(each.name, each.value) for each in payload.headers]
        secrets = []
        for each in payload.secret_headers:
            secret = await context.secret(each.ref)
            check_value(each.name, secret.reveal())
            headers.append((each.name, secret.reveal()))
            secrets.append(secret)
        answer = await self._client.perform(verdict, headers, _body(payload), _pin(payload))
        return plain(answer.without(secrets).result())

    def _check(
        self, payload: HttpProxyRequest, resolved: Sequence[str] | None = None
    ) -> Allowed | Lookup:
        targets, bmcs = self._listed.targets, self._known_bmcs()
        return check(payload, targets, bmcs, self._bmc_networks, resolved)


def _body(payload: HttpProxyRequest) -> bytes:
    try:
        return base64.b64decode(payload.body, validate=True)
    except (binascii.Error, ValueError):
        raise Rejected("invalid-payload", "body: not base64") from None


def _pin(payload: HttpProxyRequest) -> Pin | None:
    try:
        return Pin.parse(payload.pin) if payload.pin else None
    except ValueError as e:
        raise Rejected("invalid-payload", f"pin: {e}") from None
