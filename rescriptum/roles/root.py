"""The service above all others of a role: what twistd starts, sheds privileges for, and stops."""

import grp
import os
import pwd

from twisted.application.service import IProcess, IService, MultiService
from twisted.internet.defer import Deferred, DeferredList, maybeDeferred
from twisted.logger import ILogObserver, Logger
from twisted.python.components import Componentized
from twisted.python.failure import Failure


class Root(MultiService):
    """
    Stops its services all at once, waits for each, and says which one failed to stop: a bare
    MultiService swallows that (twisted#6790).

    :ivar user: to become after every port is bound, with ``group`` or the user's own group.
    """

    _log = Logger()

    def __init__(self, observer: ILogObserver, user: str | None, group: str | None) -> None:
        super().__init__()
        self._observer = observer
        self._user = user
        self._group = group

    def setServiceParent(self, parent: Componentized) -> None:
        """twistd's application is asked for the log and for the user before anything starts."""
        super().setServiceParent(parent)
        parent.setComponent(ILogObserver, self._observer)
        if self._user is not None and os.geteuid() == 0:
            process = IProcess(parent)
            entry = pwd.getpwnam(self._user)
            process.uid = entry.pw_uid
            group = self._group
            process.gid = entry.pw_gid if group is None else grp.getgrnam(group).gr_gid

    def stopService(self) -> Deferred[None]:
        self.running = 0
        services: list[IService] = list(self)
        return Deferred.fromCoroutine(self._stop(services))

    async def _stop(self, services: list[IService]) -> None:
        stopping = [maybeDeferred(each.stopService) for each in services]
        results = await DeferredList(stopping, consumeErrors=True)
        for service, (succeeded, result) in zip(services, results, strict=True):
            if not succeeded and isinstance(result, Failure):
                self._log.failure("{name} did not stop cleanly", result, name=service.name)
