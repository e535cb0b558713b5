"""Tests for ``rescriptum.roles.root``."""

import os
import pwd
import time
from collections.abc import Callable

from twisted.application.service import Application, IProcess, Service
from twisted.internet.base import ReactorBase
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import ILogObserver
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from rescriptum.logs import Silence
from rescriptum.roles.root import Root


@implementer(IReactorFromThreads)
class ThreadedReactor(MemoryReactorClock):
    """One that can be told something from a signal handler."""

    def callFromThread(
        self, callable: Callable[..., object], *args: object, **kwargs: object
    ) -> None:
        callable(*args, **kwargs)


REACTOR = ThreadedReactor()


class Stubborn(Service):
    """Stops when it is told to by the test."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stopped: Deferred[None] = Deferred()

    def stopService(self) -> Deferred[None]:
        return self.stopped


class WithoutSockets(ReactorBase):
    """Of Twisted's own kind, for its timers alone."""

    def installWaker(self) -> None: ...


class RootTests(SynchronousTestCase):
    def test_timers_go_by_a_clock_that_is_never_set_back(self) -> None:
        """What was to happen within a second happened in an hour, or in a year."""
        reactor = WithoutSockets()
        Root(reactor, Silence(), [], None, None, "")
        self.assertIs(reactor.seconds, time.monotonic)
        reactor.callLater(5, lambda: None)
        timeout = reactor.timeout()
        assert timeout is not None
        self.assertTrue(0 < timeout <= 5, timeout)

    def test_timers_that_are_set_already_are_kept(self) -> None:
        """They would never come: their time is the wall clock's."""
        reactor = WithoutSockets()
        reactor.callLater(5, lambda: None)
        Root(reactor, Silence(), [], None, None, "")
        self.assertIsNot(reactor.seconds, time.monotonic)

    def test_waits_for_every_service(self) -> None:
        """One that cannot stop is named in the log; the others are waited for all the same."""
        root = Root(REACTOR, Silence(), [], None, None, "")
        first, second = Stubborn("tftp"), Stubborn("media")
        first.setServiceParent(root)
        second.setServiceParent(root)
        done = root.stopService()
        first.stopped.errback(ZeroDivisionError())
        self.assertNoResult(done)
        second.stopped.callback(None)
        self.successResultOf(done)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_gives_the_application_its_log(self) -> None:
        observer = Silence()
        application = Application("rescriptum")
        Root(REACTOR, observer, [], None, None, "").setServiceParent(application)
        self.assertIs(application.getComponent(ILogObserver), observer)

    def test_names_the_user_to_become(self) -> None:
        """twistd sheds root after the ports are bound and before anything starts."""
        application = Application("rescriptum")
        self.patch(os, "geteuid", lambda: 0)
        Root(REACTOR, Silence(), [], "nobody", None, "").setServiceParent(application)
        process, entry = IProcess(application), pwd.getpwnam("nobody")
        self.assertEqual((process.uid, process.gid), (entry.pw_uid, entry.pw_gid))
