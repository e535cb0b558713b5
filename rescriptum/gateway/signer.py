"""Who signs the commands of this process, by what is known now."""

from collections.abc import Callable
from functools import partial

from ..contract.joining import TrustBundle
from ..contract.refusals import Rejected
from ..errors import RescriptumError
from ..interfaces import Workers
from .signing import Worker
from .stores.database import Database
from .trust import trust


class Signer:
    """
    Looks now and then for whom agents trust, and whether one of them has certified our worker.

    A certificate that is put beside the keys is taken up by the next look, and a renewed one.
    """

    def __init__(
        self,
        database: Database,
        workers: Workers,
        read: Callable[[TrustBundle], Worker | None],
    ) -> None:
        """:param read: who signs for agents that were given this; it blocks, or raises why not."""
        self._database = database
        self._workers = workers
        self._read = read
        self._worker: Worker | None = None
        self._unsigned = "the worker's certificate is not read yet"

    def worker(self) -> Worker | None:
        """
        :returns: None: commands travel unsigned.
        :raises Rejected: ``unsigned``, where agents would not take what could be sent.
        """
        if self._unsigned:
            raise Rejected("unsigned", self._unsigned)
        return self._worker

    async def look(self, _: frozenset[str] | None) -> None:
        """:raises RescriptumError: when nothing can be signed, saying why."""
        bundle = await self._database.run(trust)
        try:
            self._worker = await self._workers.run(partial(self._read, bundle))
        except RescriptumError as e:
            own = isinstance(e, Rejected) and e.code == "unsigned" and e.detail
            self._unsigned = own or str(e)
            raise
        self._unsigned = ""
