"""Tests for ``rescriptum.web.poller``."""

import os
import select
import socket
from typing import cast

from twisted.internet.interfaces import IReactorFDSet
from twisted.internet.main import CONNECTION_DONE
from twisted.internet.tcp import Server
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.poller import BATCH, Poller


class Readers:
    """The reactor, as far as a poller knows it."""

    def __init__(self) -> None:
        self.readers: list[object] = []

    def addReader(self, reader: object) -> None:
        self.readers.append(reader)

    def removeReader(self, reader: object) -> None:
        self.readers.remove(reader)


class Ear:
    """A connection that notes what it is called for."""

    def __init__(self, poller: Poller) -> None:
        self.poller = poller
        self.socket, self.peer = socket.socketpair()
        self.fileno = self.socket.fileno
        self.heard: list[bytes] = []
        self.writes = 0
        self.lost: list[Failure] = []
        self.error: Exception | None = None
        self.want(select.EPOLLIN, True)

    def want(self, event: int, wanted: bool) -> None:
        self.poller.want(cast(Server, self), event, wanted)

    def doRead(self) -> BaseException | None:
        if self.error is not None:
            raise self.error
        data = self.socket.recv(100)
        self.heard.append(data)
        return None if data else CONNECTION_DONE

    def doWrite(self) -> None:
        self.writes += 1

    def connectionLost(self, reason: Failure) -> None:
        self.lost.append(reason)
        self.want(select.EPOLLIN, False)
        self.want(select.EPOLLOUT, False)
        self.poller.gone(cast(Server, self))

    def abortConnection(self) -> None:
        self.connectionLost(Failure(ConnectionAbortedError()))

    def close(self) -> None:
        self.socket.close()
        self.peer.close()


class PollerTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.reactor = Readers()
        self.poller = Poller(cast(IReactorFDSet, self.reactor))

    def ear(self) -> Ear:
        made = Ear(self.poller)
        self.addCleanup(made.close)
        return made

    def test_connections_are_called_for_what_they_want(self) -> None:
        one, two = self.ear(), self.ear()
        one.peer.send(b"a")
        two.want(select.EPOLLOUT, True)
        self.poller.doRead()
        self.assertEqual((one.heard, one.writes), ([b"a"], 0))
        self.assertEqual((two.heard, two.writes), ([], 1))
        two.want(select.EPOLLOUT, False)
        one.want(select.EPOLLIN, False)
        one.peer.send(b"b")
        self.poller.doRead()
        self.assertEqual((one.heard, two.writes), ([b"a"], 1))

    def test_the_end_of_a_connection(self) -> None:
        one = self.ear()
        one.peer.close()
        self.poller.doRead()
        [reason] = one.lost
        self.assertIs(reason.value, CONNECTION_DONE)

    def test_an_error_ends_one_connection_and_no_other(self) -> None:
        one, two = self.ear(), self.ear()
        one.error = KeyError("a bug")
        one.peer.send(b"a")
        two.peer.send(b"b")
        self.poller.doRead()
        self.assertEqual((len(one.lost), two.heard, two.lost), (1, [b"b"], []))
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)

    def test_a_turn_is_bounded(self) -> None:
        """What is left is seen in the next turn, after others had theirs."""
        ears = [self.ear() for _ in range(BATCH + 5)]
        for each in ears:
            each.peer.send(b"a")
        self.poller.doRead()
        self.assertEqual(sum(len(each.heard) for each in ears), BATCH)
        self.poller.doRead()
        self.assertEqual(sum(len(each.heard) for each in ears), BATCH + 5)

    def test_nothing_is_left_behind(self) -> None:
        """Without connections it is no reader; closed, it goes with the last of them."""
        self.assertEqual(self.reactor.readers, [])
        one, two = self.ear(), self.ear()
        self.assertEqual(self.reactor.readers, [self.poller])
        one.abortConnection()
        self.poller.close()
        fd = self.poller.fileno()
        two.want(select.EPOLLIN, False)
        self.assertEqual(self.reactor.readers, [])
        os.fstat(fd)
        two.want(select.EPOLLIN, True)
        two.abortConnection()
        self.assertEqual(self.reactor.readers, [])
        self.assertRaises(OSError, os.fstat, fd)
