"""What booting machines need of the gateway: asked for once, however many of them wait for it."""

from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Final, TypeVar, cast

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ..contract.keys import pin, public_jwk, public_key
from ..contract.pins import Pin
from ..contract.refusals import Rejected
from ..contract.sessions import SecretRequest
from ..contract.structure import rendered
from ..values import Secret
from .tokens import Vouching

_T = TypeVar("_T")

#: Seconds for which the gateway's join key is taken to be the same.
KEPT: Final = 60.0


class Asked:
    """Questions that are under way: whoever asks the same waits for the same answer."""

    def __init__(
        self, vouching: Vouching, wanted: Pin | None, monotonic: Callable[[], float]
    ) -> None:
        """:param wanted: of the join key; None: the connection vouches for it."""
        self._vouching = vouching
        self._wanted = wanted
        self._monotonic = monotonic
        self._asking: dict[Hashable, list[Deferred[Any]]] = {}
        self._key: tuple[float, bytes] | None = None

    async def token(self, request: SecretRequest) -> Secret:
        """
        :raises Rejected: when the gateway refuses it.
        :raises Unavailable: when there is no session.
        """
        return await self._once((request.ref, request.epoch), self._token(request))

    async def _token(self, request: SecretRequest) -> Secret:
        return await self._vouching.kept_secret(request)

    async def join_key(self) -> bytes:
        """
        :returns: what join tokens are sealed to, as JSON.
        :raises Rejected: ``pin-mismatch``, or ``invalid-key``.
        :raises Unavailable: when the gateway does not answer.
        """
        if self._key is not None and self._monotonic() - self._key[0] < KEPT:
            return self._key[1]
        return await self._once("join key", self._join_key())

    async def _join_key(self) -> bytes:
        key = public_key((await self._vouching.join_keys()).encryption, "X25519")
        shown = Pin.parse(pin(key))
        if self._wanted is not None and not self._wanted.matches(shown):
            raise Rejected("pin-mismatch", f"the join encryption key is {shown}")
        made = rendered(public_jwk(key))
        self._key = self._monotonic(), made
        return made

    def _once(self, about: Hashable, ask: Coroutine[Any, Any, _T]) -> Awaitable[_T]:
        waiting: Deferred[_T] = Deferred()
        others = self._asking.get(about)
        if others is not None:
            ask.close()
            others.append(waiting)
            return waiting
        self._asking[about] = [waiting]

        def answered(result: _T | Failure) -> None:
            for each in self._asking.pop(about):
                if not each.called:  # else whoever asked has gone
                    each.callback(cast(_T, result))

        Deferred.fromCoroutine(ask).addBoth(answered)
        return waiting
