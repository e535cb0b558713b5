"""Tests for ``rescriptum.tftp.service``."""

import errno

from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.testing import Everybody, MemoryLoaders, MemoryUDP, MemoryWorkers
from rescriptum.tftp.protocol import TFTPServer
from rescriptum.tftp.service import TFTPService
from rescriptum.tftp.wire import Acknowledgement, Error, ReadRequest, decode
from rescriptum.values import Listen

PEER = ("192.0.2.7", 2070)
REQUEST = ReadRequest(b"f").encode()


class TFTPServiceTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock, self.udp, self.workers = Clock(), MemoryUDP(), MemoryWorkers()
        self.server = TFTPServer(
            self.clock,
            self.udp,
            MemoryLoaders({b"f": b"x"}),
            admission=Everybody(),
            workers=self.workers,
            monotonic=self.clock.seconds,
        )

    def started(self, host: str, port: int = 69) -> TFTPService:
        service = TFTPService(self.clock, self.server, Listen(host, port), grace=3)
        self.assertEqual(service.listening, ())
        service.privilegedStartService()
        service.startService()
        return service

    def test_binds_where_privileges_are_still_there(self) -> None:
        """And nothing before."""
        service = self.started("192.0.2.1")
        self.assertEqual(
            [(each.host, each.port) for each in service.listening], [("192.0.2.1", 69)]
        )
        self.assertEqual(len(self.udp.deliver(REQUEST, PEER)), 1)

    def test_all_of_ipv6_means_ipv4_too(self) -> None:
        """As the same words mean for the other listeners; on one port, also a chosen one."""
        service = self.started("::", 0)
        self.assertEqual([each.host for each in service.listening], ["::", "0.0.0.0"])
        self.assertEqual(len({each.port for each in service.listening}), 1)

    def test_a_port_that_cannot_be_bound_is_a_warning(self) -> None:
        """Everything else is served; stopping then has nothing to do."""
        self.udp.taken["192.0.2.1"] = PermissionError(errno.EACCES, "Permission denied")
        with capturedLogs() as events:
            service = self.started("192.0.2.1")
        [event] = events
        self.assertEqual(event["log_level"], LogLevel.warn)
        self.assertEqual((event["at"], event["reason"]), ("192.0.2.1:69", "Permission denied"))
        self.successResultOf(service.stopService())

    def test_a_port_that_somebody_depends_on(self) -> None:
        """It is an error there, and nothing is left bound."""
        self.udp.taken["192.0.2.1"] = PermissionError(errno.EACCES, "Permission denied")
        at = Listen("192.0.2.1", 69)
        service = TFTPService(self.clock, self.server, at, optional=False)
        with self.assertRaises(PermissionError):
            service.privilegedStartService()
        self.assertEqual(service.listening, ())

    def test_one_family_is_better_than_none(self) -> None:
        """The other's port is somebody else's, or the system has only one family."""
        for missing, found in (("0.0.0.0", "::"), ("::", "0.0.0.0")):
            self.udp.taken = {missing: OSError(errno.EADDRINUSE, "Address already in use")}
            with capturedLogs() as events:
                service = self.started("::")
            warned = [each["at"] for each in events if each["log_level"] is LogLevel.warn]
            self.assertEqual(warned, [str(Listen(missing, 69))])
            self.assertEqual([each.host for each in service.listening], [found])

    def test_stopping_lets_transfers_end(self) -> None:
        """No new one begins; when the last is over, nothing is left."""
        service = self.started("192.0.2.1")
        [channel] = self.udp.deliver(REQUEST, PEER)
        stopped = service.stopService()
        self.assertNoResult(stopped)
        self.assertEqual(self.udp.deliver(REQUEST, ("192.0.2.8", 1)), [])
        channel.deliver(Acknowledgement(1).encode())
        self.successResultOf(stopped)
        self.assertTrue(all(each.closed for each in self.udp.listening))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stopping_does_not_wait_for_ever(self) -> None:
        """A client that is gone, a file that is still being read: both are given up."""
        service = self.started("192.0.2.1")
        [channel] = self.udp.deliver(REQUEST, PEER)
        stopped = service.stopService()
        self.clock.pump([0.25] * 12)
        self.successResultOf(stopped)
        self.assertIsInstance(decode(channel.sent[-1]), Error)
        self.assertEqual(self.clock.getDelayedCalls(), [])
