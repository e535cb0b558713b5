"""The service above all others of a role: what twistd starts, sheds privileges for, and stops."""

import gc
import grp
import os
import pwd
import resource
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from twisted.application.service import IProcess, IService, MultiService
from twisted.internet.base import ReactorBase
from twisted.internet.defer import Deferred, DeferredList, maybeDeferred
from twisted.internet.interfaces import IReactorCore, IReactorFromThreads
from twisted.logger import ILogObserver, Logger
from twisted.python.components import Componentized
from twisted.python.failure import Failure

from ..errors import ConfigError
from ..logs import Lines
from ..net.workers import WorkerPool

#: Open files: every connection is one, and a shell's 1024 are not what the settings allow.
DESCRIPTORS = 65536


class Root(MultiService):
    """
    Stops its services all at once, waits for each, and says which one failed to stop: a bare
    MultiService swallows that (twisted#6790).

    :param pools: threads that its services use: started before them, stopped after them.
    :param greeting: the first line of the log.
    :param daemon: whether twistd has gone into the background.
    :param user: to become after every port is bound, with ``group`` or the user's own group.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: object,
        observer: ILogObserver,
        pools: Sequence[WorkerPool],
        user: str | None,
        group: str | None,
        greeting: str,
        daemon: bool = False,
    ) -> None:
        super().__init__()
        _steady(reactor)
        self._pools = pools
        self._core, self._threads = IReactorCore(reactor), IReactorFromThreads(reactor)
        self._observer = observer
        self._user = user
        self._group = group
        self._greeting = greeting
        self._daemon = daemon

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

    def privilegedStartService(self) -> None:
        """A port that cannot be bound is told in a line, and is exit code 1."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        try:
            super().privilegedStartService()
        except ConfigError as e:
            for problem in e.problems:
                self._log.error("{problem}", problem=str(problem))
                if not (isinstance(self._observer, Lines) and self._observer.on_stderr):
                    # Not sys.stderr, which is the log by now; and that may be off.
                    print(f"error: {problem}", file=sys.__stderr__)
            if self._daemon:
                raise  # twistd's parent process waits until it is told of an error
            raise SystemExit(1) from e

    def startService(self) -> None:
        for pool in self._pools:
            pool.start()
        # A terminal that closes ends what runs in it; anybody else wants something read again.
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL and not os.isatty(0):
            signal.signal(signal.SIGHUP, self._hung_up)
        self._log.info("{greeting}", greeting=self._greeting)
        if self._user is not None and os.geteuid() not in (0, pwd.getpwnam(self._user).pw_uid):
            self._log.warn("RESCRIPTUM_USER={user}: only root can become it", user=self._user)
        super().startService()
        self._core.callWhenRunning(self._running)

    def _running(self) -> None:
        # What the start has made stays: the collector need not walk it while blocks are sent.
        gc.collect()
        gc.freeze()
        # Being told to stop is no failure: exit code 0, where twistd would kill itself.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._told_to_stop)

    def _hung_up(self, number: int, frame: FrameType | None) -> None:
        text = "SIGHUP: nothing to read again without a certificate"
        self._threads.callFromThread(self._log.info, text)

    def _told_to_stop(self, number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # told twice, it waits for nothing
        self._threads.callFromThread(self._core.stop)

    def stopService(self) -> Deferred[None]:
        self.running = 0
        self._log.info("Stopping: nothing new is taken, and what is under way may end")
        services: list[IService] = list(self)
        return Deferred.fromCoroutine(self._stop(services))

    async def _stop(self, services: list[IService]) -> None:
        stopping = [maybeDeferred(each.stopService) for each in services]
        results = await DeferredList(stopping, consumeErrors=True)
        for service, (succeeded, result) in zip(services, results, strict=True):
            if not succeeded and isinstance(result, Failure):
                self._log.failure("{name} did not stop cleanly", result, name=service.name)
        for pool in self._pools:
            pool.stop()


def _steady(reactor: object) -> None:
    """
    Twisted's timers go by the wall clock: one that is set back by an hour, as a machine's is whose
    hardware clock has local time, would stop every heartbeat and every look for an hour.
    """
    if isinstance(reactor, ReactorBase) and not reactor.getDelayedCalls():
        reactor.seconds = time.monotonic
