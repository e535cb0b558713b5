"""The six kinds of commands that ask BMCs: a BMC that says no does not fail its command."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from attrs import evolve
from twisted.logger import Logger

from ..contract.bmc import (
    LONGEST_SECONDS,
    OPERATIONS,
    USUAL_SECONDS,
    BmcOperationRequest,
    BmcOutcome,
    BmcRefusal,
    Operation,
    RotateCredential,
    UpdateFirmware,
)
from ..contract.bounds import SENTENCE
from ..contract.commands import LONGEST_RESULT, Command
from ..contract.joining import Role
from ..contract.kinds import KINDS
from ..contract.places import place
from ..contract.refusals import Rejected
from ..contract.structure import JSON, plain, rendered, structured
from ..errors import Unavailable
from ..values import Secret
from .credentials import credential
from .driver import Asked, Credential, Driver

#: Their names, in the order of the table of operations.
NAMES: Final = tuple(dict.fromkeys(each.kind for each in OPERATIONS.values()))
#: Seconds beside those of the operation: for its credential, its turn, and an end in good order.
_BESIDE: Final = 300
#: Bytes of an outcome beside its data.
_FRAME: Final = 16 * 1024


class Running(Protocol):
    """A command that runs; :class:`rescriptum.agent.kinds.Context` is one."""

    @property
    def command(self) -> Command: ...

    def secret(self, ref: str) -> Awaitable[Secret]:
        """
        :raises Rejected: where the command's workflow does not name it.
        :raises Unavailable: when there is no session.
        """

    def progress(self, data: JSON) -> None:
        """:param data: how far it has come; no secret."""


class Ways(Protocol):
    """The ways to BMCs that an agent has."""

    def driver(self, request: BmcOperationRequest, operation: Operation) -> Driver:
        """:raises BmcRefusal: ``unsupported-driver``, ``invalid-config``."""

    def remember(self, address: str) -> Awaitable[None]:
        """A BMC is about to be asked there."""

    def run(
        self, address: str, work: Callable[[], Awaitable[dict[str, object]]]
    ) -> Awaitable[dict[str, object]]:
        """Do ``work`` when the BMC has rested. :raises BmcRefusal: ``conflict``."""


class Granted(Protocol):
    """A verified image that a BMC may fetch."""

    @property
    def url(self) -> str: ...

    def withdraw(self) -> None:
        """Nobody fetches it any more."""


class Firmware(Protocol):
    """The verified cache, as far as BMCs need it."""

    def image(self, sha256: str, url: str, seconds: float) -> Awaitable[Granted]:
        """
        :param url: of its source.
        :raises BmcRefusal: ``image-unverified``.
        """


class BmcKind:
    """
    Commands of one kind. Satisfies :class:`rescriptum.agent.kinds.Kind`.

    Two commands about one BMC run one after the other: their resource is its address.
    """

    payload = BmcOperationRequest
    _log = Logger()

    def __init__(self, name: str, ways: Ways, firmware: Firmware) -> None:
        row = KINDS[name]
        self.name = name
        self.roles: frozenset[Role] = row.roles
        self.destructive = row.destructive
        # A firmware image may have to come first.
        times = 2 if name == OPERATIONS["firmware.update"].kind else 1
        self.timeout_s = float(times * LONGEST_SECONDS + _BESIDE)
        self._ways = ways
        self._firmware = firmware

    def resource(self, payload: BmcOperationRequest) -> str:
        """:raises Rejected: ``invalid-payload`` for what no type can tell is wrong."""
        self._operation(payload)
        return f"bmc {place(payload.address)}"

    def _operation(self, payload: BmcOperationRequest) -> tuple[Operation, object]:
        operation = OPERATIONS.get(payload.operation)
        if operation is None or operation.kind != self.name:
            mine = ", ".join(each.name for each in OPERATIONS.values() if each.kind == self.name)
            raise Rejected("invalid-payload", f"operation: {self.name} takes {mine}")
        try:
            return operation, structured(operation.args, payload.args, "invalid-payload")
        except Rejected as e:
            raise Rejected("invalid-payload", f"args: {e.detail}") from None

    async def run(self, context: Running, payload: BmcOperationRequest) -> JSON:
        """
        :returns: a :class:`rescriptum.contract.bmc.BmcOutcome`.
        :raises Rejected: ``invalid-payload``.
        """
        operation, args = self._operation(payload)
        try:
            data = await self._performed(context, payload, operation, args)
            outcome = _bounded(BmcOutcome(True, data=data))
        except BmcRefusal as e:
            outcome = evolve(BmcOutcome.of(e), detail=e.detail[:SENTENCE])
        self._log.info(
            "BMC {address}: {operation}: {code}",
            address=payload.address,
            operation=operation.name,
            code=outcome.code,
        )
        return plain(outcome)

    async def _performed(
        self, context: Running, payload: BmcOperationRequest, operation: Operation, args: object
    ) -> dict[str, object]:
        driver = self._ways.driver(payload, operation)
        own, replacement = await self._credentials(context, payload, args)
        asked = Asked(
            operation,
            args,
            own,
            replacement,
            seconds=float(payload.timeout_s or USUAL_SECONDS),
            progress=context.progress,
        )
        await self._ways.remember(payload.address)
        if not isinstance(args, UpdateFirmware):
            return await self._ways.run(payload.address, lambda: driver.run(asked))
        context.progress({"stage": "image"})
        granted = await self._firmware.image(args.sha256, args.url, LONGEST_SECONDS)
        context.progress({"stage": "update"})
        updating = evolve(asked, image_url=granted.url)
        try:
            return await self._ways.run(payload.address, lambda: driver.run(updating))
        finally:
            granted.withdraw()

    async def _credentials(
        self, context: Running, payload: BmcOperationRequest, args: object
    ) -> tuple[Credential | None, Credential | None]:
        own, name = None, payload.username
        if payload.credential_ref:
            own = await _fetched(context, payload.credential_ref, name)
            name = own.username
        if not isinstance(args, RotateCredential):
            return own, None
        if own is None:
            raise BmcRefusal("invalid-config", "there is no credential that could be rotated")
        return own, await _fetched(context, args.newCredentialRef, name)


async def _fetched(context: Running, ref: str, username: str) -> Credential:
    """:raises BmcRefusal: ``invalid-config``, also for one that the gateway does not give."""
    try:
        secret = await context.secret(ref)
    except Rejected as e:
        raise BmcRefusal("invalid-config", f"secret {ref}: {e}") from None
    except Unavailable as e:
        raise BmcRefusal("failed", f"secret {ref}: {e}") from None
    return credential(secret, username, ref)


def _bounded(outcome: BmcOutcome) -> BmcOutcome:
    """:returns: what a result has room for: what was done was done, however much it said."""
    size = len(rendered(outcome.data))
    if size <= LONGEST_RESULT - _FRAME:
        return outcome
    return BmcOutcome(True, detail=f"its {size} bytes of data are more than a result may have")


def kinds(ways: Ways, firmware: Firmware) -> tuple[BmcKind, ...]:
    """:returns: all six."""
    return tuple(BmcKind(name, ways, firmware) for name in NAMES)
