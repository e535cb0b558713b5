"""Tests for ``rescriptum.tftp.protocol``: a server, a network in memory, and many clients."""

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path

from twisted.internet.task import Clock
from twisted.logger import LogEvent, LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.tally import KINDS
from rescriptum.errors import Forbidden, RescriptumError, Unavailable
from rescriptum.interfaces import Fence
from rescriptum.testing import (
    Everybody,
    MemoryChannel,
    MemoryLoaders,
    MemoryUDP,
    MemoryWorkers,
)
from rescriptum.tftp.protocol import Limits, TFTPServer
from rescriptum.tftp.wire import (
    Acknowledgement,
    Data,
    Error,
    ErrorCode,
    OptionAcknowledgement,
    Options,
    ReadRequest,
    WriteRequest,
    decode,
)
from rescriptum.values import Content, Extent, Generated, Listen

from .sitebootcases import Lease

PEER = ("192.0.2.7", 2070)
#: Distinct blocks, so that one in another's place is seen.
FILE = b"".join(b"%08d" % n for n in range(6000))
FILES: Mapping[bytes, Content | Generated | bytes] = {b"f": FILE, b"one": b"x", b"empty": b""}


def ack(number: int) -> bytes:
    return Acknowledgement(number & 0xFFFF).encode()


def asked(name: bytes = b"f", /, mode: bytes = b"octet", **options: int) -> bytes:
    pairs = tuple((key.encode(), b"%d" % value) for key, value in options.items())
    return ReadRequest(name, mode, pairs).encode()


def named(events: Sequence[LogEvent]) -> list[str]:
    return [str(each["event"]) for each in events if "event" in each]


class ServerTestCase(SynchronousTestCase):
    """A server that listens on a network in memory."""

    fast = True
    offload = True
    limits = Limits()

    def setUp(self) -> None:
        self.clock = Clock()
        self.udp = MemoryUDP()
        self.workers = MemoryWorkers()
        self.server = self.make()
        self.server.listen(Listen("192.0.2.1", 69))

    def make(
        self,
        loaders: MemoryLoaders | None = None,
        admission: Everybody | None = None,
        write_refusal: ErrorCode = ErrorCode.ACCESS_VIOLATION,
        fence: Fence | None = None,
    ) -> TFTPServer:
        return TFTPServer(
            self.clock,
            self.udp,
            loaders or MemoryLoaders(FILES),
            admission=admission or Everybody(),
            workers=self.workers,
            monotonic=self.clock.seconds,
            limits=self.limits,
            write_refusal=write_refusal,
            fast=self.fast,
            offload=self.offload,
            fence=fence,
        )

    def replace(self, server: TFTPServer) -> None:
        self.udp.listening.clear()
        server.listen(Listen("192.0.2.1", 69))

    def ask(self, datagram: bytes, peer: tuple[str, int] = PEER) -> MemoryChannel:
        """A request that is answered from a port of its own."""
        [channel] = self.udp.deliver(datagram, peer)
        return channel

    def refused(self, datagram: bytes) -> Error:
        """A request that is answered by an error and nothing else."""
        channel = self.ask(datagram)
        [answer] = channel.sent
        self.assertTrue(channel.closed)
        self.assertEqual(answer[-1:], b"\0")
        self.assertTrue(len(answer) > 5)
        message = decode(answer)
        assert isinstance(message, Error)
        return message

    def wait(self, seconds: float) -> None:
        self.clock.pump([0.25] * int(seconds / 0.25))


class Client:
    """One that follows the RFCs, over a channel in memory."""

    def __init__(self, channel: MemoryChannel) -> None:
        self.channel = channel
        self.blocks: list[bytes] = []
        self.blksize, self.windowsize = 512, 1
        self.options: Options = ()
        self.data_seen = 0
        self._since = 0

    def run(self, lose: set[int] | None = None, twice: bool = False) -> bytes:
        """
        :param lose: which of the data datagrams do not arrive, counted from 1.
        :param twice: say everything twice.
        """
        while True:
            arrived = self.channel.taken()
            if not arrived:
                return b"".join(self.blocks)
            says = [self._take(decode(each), lose or set()) for each in arrived]
            for each in filter(None, says):
                self.channel.deliver(*([each] * (2 if twice else 1)))

    def _take(self, message: object, lose: set[int]) -> bytes | None:
        if isinstance(message, OptionAcknowledgement):
            self.options = message.options
            granted = dict(message.options)
            self.blksize = int(granted.get(b"blksize", b"512"))
            self.windowsize = int(granted.get(b"windowsize", b"1"))
            return ack(0)
        assert isinstance(message, Data), message
        self.data_seen += 1
        if self.data_seen in lose:
            return None
        if message.number != (len(self.blocks) + 1) & 0xFFFF:
            self._since = 0
            return ack(len(self.blocks)) if self.windowsize > 1 else None
        self.blocks.append(message.payload)
        self._since += 1
        if len(message.payload) < self.blksize or self._since >= self.windowsize:
            self._since = 0
            return ack(len(self.blocks))
        return None


class FastTests(ServerTestCase):
    """In-order acknowledgements answered at once, windows by one call."""

    def test_a_whole_file_arrives_whatever_was_asked(self) -> None:
        """Every combination of block and window size gives the same bytes and no datagram more."""
        for name, content in (
            (b"f", FILE),
            (b"one", b"x"),
            (b"empty", b""),
            (b"exact", FILE[:4096]),
        ):
            self.replace(self.make(MemoryLoaders({name: content})))
            for blksize in (None, 8, 512, 1024, 1468):
                for windowsize in (None, 1, 2, 16, 64):
                    options = {"blksize": blksize, "windowsize": windowsize}
                    chosen = {key: value for key, value in options.items() if value is not None}
                    with self.subTest(name=name, **options):
                        client = Client(self.ask(asked(name, b"octet", **chosen)))
                        self.assertEqual(client.run(), content)
                        self.assertEqual(client.data_seen, len(content) // client.blksize + 1)
                        self.assertTrue(client.channel.closed)

    def test_loss_anywhere_is_recovered(self) -> None:
        """Whichever block of a window is lost, once or with its resend, the file arrives."""
        for windowsize in (2, 4, 16):
            for lost in ({1}, {2}, {3}, {4}, {7}, {16}, {3, 17}, {4, 5, 6, 7}):
                with self.subTest(windowsize=windowsize, lost=lost):
                    client = Client(self.ask(asked(blksize=1024, windowsize=windowsize)))
                    for _ in range(40):
                        if client.run(lost) == FILE:
                            break
                        self.wait(0.25)
                    self.assertEqual(b"".join(client.blocks), FILE)

    def test_saying_everything_twice_makes_no_second_datagram(self) -> None:
        """No apprentice's flood (field case B25)."""
        client = Client(self.ask(asked()))
        self.assertEqual(client.run(twice=True), FILE)
        self.assertEqual(client.data_seen, len(FILE) // 512 + 1)

    def test_a_resend_is_the_same_datagram(self) -> None:
        """Not the next of the file (field case B27)."""
        channel = self.ask(asked())
        channel.deliver(ack(1), ack(2))
        third = channel.taken()[-1]
        self.wait(1.5)
        self.assertEqual(channel.taken(), [third])
        channel.deliver(ack(3))
        self.assertEqual(decode(channel.taken()[0]), Data(4, FILE[1536:2048]))

    def test_a_client_that_repeats_its_acknowledgement_gets_the_block_again(self) -> None:
        """Within two seconds, and in all no more than three datagrams extra (field case B26)."""
        channel = self.ask(asked())
        channel.deliver(ack(1), ack(2), ack(3), ack(4))
        sent = len(channel.taken())
        again = 0.0
        for _ in range(8):
            self.wait(0.25)
            again += 0.25
            if again == 1.0:
                channel.deliver(ack(4))
            if channel.sent:
                break
        self.assertTrue(again < 2)
        sent += len(channel.sent)
        self.assertEqual({decode(each) for each in channel.taken()}, {Data(5, FILE[2048:2560])})
        for number in range(5, len(FILE) // 512 + 2):
            channel.deliver(ack(number))
            sent += len(channel.taken())
        self.assertTrue(sent <= len(FILE) // 512 + 1 + 3)
        self.assertTrue(channel.closed)

    def test_acknowledgements_of_the_future_are_nothing(self) -> None:
        """A forged one completes nothing (W126)."""
        channel = self.ask(asked())
        channel.deliver(ack(1))
        channel.taken()
        channel.deliver(ack(60), ack(3), ack(0))
        self.assertEqual(channel.taken(), [])
        self.assertFalse(channel.closed)

    def test_noise_within_a_transfer_changes_nothing(self) -> None:
        """Whatever the peer sends: no datagram, no end, no traceback."""
        channel = self.ask(asked())
        channel.taken()
        for noise in (b"", b"\0", b"\0\4", b"\0\7xx", b"\xff" * 32, asked(), b"\0\3\0\1x"):
            channel.deliver(noise)
        self.assertEqual(channel.taken(), [])
        channel.deliver(ack(1))
        self.assertEqual(len(channel.taken()), 1)

    def test_silence_is_met_with_growing_patience(self) -> None:
        """The block again after about 1, 3, 7, 15 and 23 seconds; then nothing is left."""
        channel = self.ask(asked())
        [first] = channel.taken()
        self.wait(31)
        self.assertEqual(channel.taken(), [first] * 5)
        self.wait(1)
        self.assertTrue(channel.closed)
        self.assertEqual(self.server.transfers, 0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_progress_counts_however_it_was_made(self) -> None:
        """A client that goes on slowly is not given up."""
        channel = self.ask(asked())
        for number in range(1, 60):
            self.wait(0.75)
            channel.deliver(ack(number))
        self.assertEqual(len(channel.taken()), 60)

    def test_a_refusal_by_the_kernel_ends_it(self) -> None:
        """While receiving, and while sending: the port is closed, nobody is there."""
        channel = self.ask(asked())
        channel.deliver(ConnectionRefusedError())
        self.assertTrue(channel.closed)
        for windowsize in (1, 4):
            channel = self.ask(asked(windowsize=windowsize))
            channel.deliver(ack(0))
            channel.failures.append(ConnectionRefusedError())
            channel.deliver(ack(windowsize))
            self.assertTrue(channel.closed)

    def test_what_cannot_be_sent_now_is_sent_again(self) -> None:
        """A full buffer, a missing route, a filter: the clock is the answer."""
        for windowsize in (1, 4):
            for error in (BlockingIOError(), PermissionError(), OSError(errno.ENETUNREACH, "")):
                channel = self.ask(asked(windowsize=windowsize))
                channel.deliver(ack(0))
                channel.taken()
                channel.failures.append(error)
                channel.deliver(ack(windowsize))
                self.assertEqual(channel.taken(), [])
                self.wait(2)
                self.assertEqual(len(channel.taken()), windowsize)
                channel.deliver(Error(0).encode())

    def test_blocks_roll_over(self) -> None:
        """More than 65,536 blocks: the number after 65535 is 0 (W121)."""
        content = bytes(range(256)) * 2100
        self.replace(self.make(MemoryLoaders({b"f": content})))
        for windowsize in (1, 64):
            client = Client(self.ask(asked(blksize=8, windowsize=windowsize)))
            self.assertEqual(client.run(), content)
            self.assertEqual(len(client.blocks), len(content) // 8 + 1)


class SlowTests(FastTests):
    """Each acknowledgement decided the long way."""

    fast = False


class BlockwiseTests(FastTests):
    """Without segmentation offload."""

    offload = False


class OffloadTests(ServerTestCase):
    def test_a_window_is_few_calls(self) -> None:
        """Of eight datagrams for one client, of sixteen where there are others."""
        for number, per_call in ((1, 8), (2, 8), (3, 16), (4, 16)):
            peer = ("192.0.2.7", number)
            channel = self.ask(asked(blksize=1024, windowsize=32), peer)
            channel.calls = 0
            channel.taken()
            for block in (0, 32):
                channel.deliver(ack(block))
            self.assertEqual(len(channel.taken()), 47)
            self.assertEqual(channel.calls, 4 + 2 if per_call == 8 else 2 + 1)

    def test_falls_back_quietly_and_remembers(self) -> None:
        """
        The window still leaves, block by block, once; the next transfer behind that interface
        does not try.
        """
        for code in (errno.EMSGSIZE, errno.EINVAL, errno.EIO, errno.ENOPROTOOPT):
            self.replace(self.make())
            self.udp.unable = OSError(code, "cannot")
            with capturedLogs() as events:
                channel = self.ask(asked(blksize=1024, windowsize=16))
                self.assertEqual(Client(channel).run(), FILE)
            self.assertEqual(named(events), ["loader.asked", "loader.sent"])
            self.assertEqual([e for e in events if e["log_level"] >= LogLevel.warn], [])
            self.udp.unable = AssertionError  # type: ignore[assignment]
            self.assertEqual(Client(self.ask(asked(blksize=1024, windowsize=16))).run(), FILE)
            self.udp.unable = None

    def test_a_smaller_block_is_still_tried(self) -> None:
        """What was too large for the path says nothing of smaller ones."""
        self.udp.unable = OSError(errno.EMSGSIZE, "too long")
        Client(self.ask(asked(blksize=1468, windowsize=16))).run()
        self.udp.unable = None
        channel = self.ask(asked(blksize=512, windowsize=16))
        channel.deliver(ack(0))
        self.assertEqual(channel.calls, 1 + 2)


class RequestTests(ServerTestCase):
    def test_options_are_acknowledged_as_asked(self) -> None:
        """To the byte (field cases B21, B22)."""
        self.assertEqual(self.ask(asked(blksize=1468)).sent, [b"\0\6blksize\x001468\0"])
        self.assertEqual(self.ask(asked(tsize=0), ("192.0.2.8", 9)).sent, [b"\0\6tsize\x0048000\0"])
        unknown = self.ask(asked(foo=1), ("192.0.2.9", 9))
        self.assertEqual([type(decode(each)) for each in unknown.sent], [Data])

    def test_block_size_fits_the_path(self) -> None:
        """The way to the client may carry less than Ethernet does (field case B34)."""
        self.udp.mtu = 1400
        self.assertEqual(self.ask(asked(blksize=65464)).sent, [b"\0\6blksize\x001368\0"])

    def test_answers_leave_from_a_port_of_their_own(self) -> None:
        """Of the address that was asked, to the port that asked; errors too."""
        for request in (asked(), asked(b"missing")):
            channel = self.ask(request)
            self.assertEqual(channel.arrival.local, "192.0.2.1")
            self.assertEqual(channel.arrival.peer, PEER)

    def test_a_missing_file_is_an_error_at_once(self) -> None:
        """However often: twenty in a row are answered (field case B31)."""
        for _ in range(20):
            error = self.refused(asked(b"autoexec.ipxe"))
            self.assertEqual(error.code, ErrorCode.NOT_FOUND)

    def test_writing_is_refused(self) -> None:
        """By the code that the role chooses."""
        request = WriteRequest(b"f").encode()
        self.assertEqual(self.refused(request).code, ErrorCode.ACCESS_VIOLATION)
        self.replace(self.make(write_refusal=ErrorCode.ILLEGAL_OPERATION))
        self.assertEqual(self.refused(request).code, ErrorCode.ILLEGAL_OPERATION)

    def test_text_mode_is_refused_clearly(self) -> None:
        """A loader that was sent as text is a loader that crashes (W146)."""
        error = self.refused(asked(mode=b"netascii"))
        self.assertEqual(error.code, ErrorCode.NO_SUCH_USER)
        self.assertIn(b"octet", error.text)

    def test_what_cannot_be_understood_is_an_illegal_operation(self) -> None:
        """A request without a name, and what has no business at this port."""
        for datagram in (b"\0\1", b"\0\1\0octet\0", b"\0\1f\0", b"\0\7", ack(1), b"\0\3\0\1"):
            self.assertEqual(self.refused(datagram).code, ErrorCode.ILLEGAL_OPERATION)

    def test_no_error_is_answered(self) -> None:
        """Nor what is not TFTP at all (W127)."""
        for datagram in (Error(4).encode(), b"", b"GET / HTTP/1.0\r\n"):
            self.assertEqual(self.udp.deliver(datagram, PEER), [])

    def test_what_the_loaders_refuse_is_refused(self) -> None:
        """Each by the code of its reason; what may help later, by silence."""

        class Refusing(MemoryLoaders):
            def find(self, name: bytes) -> Content | Generated:
                raise errors[name]

        class Odd(RescriptumError):
            pass

        errors: dict[bytes, RescriptumError] = {
            b"no": Forbidden("no"),
            b"odd": Odd("odd"),
            b"late": Unavailable("late"),
        }
        self.replace(self.make(Refusing({})))
        self.assertEqual(self.refused(asked(b"no")).code, ErrorCode.ACCESS_VIOLATION)
        self.assertEqual(self.refused(asked(b"odd")).code, ErrorCode.UNDEFINED)
        self.assertEqual(self.udp.deliver(asked(b"late"), PEER), [])

    def test_addresses_of_many_get_silence(self) -> None:
        """Sent to one or from one (field case B29): an answer would go to everybody."""
        for datagram in (asked(), asked(b"missing"), b"\0\1", WriteRequest(b"f").encode(), ack(1)):
            self.assertEqual(self.udp.deliver(datagram, PEER, unicast=False), [])
        for peer in (
            ("255.255.255.255", 2070),
            ("224.0.0.1", 2070),
            ("0.0.0.0", 2070),
            ("192.0.2.7", 0),
            ("ff02::1", 2070, 0, 0),
        ):
            self.assertEqual(self.udp.deliver(asked(), peer), [])

    def test_strangers_get_silence(self) -> None:
        """Whatever they ask, or write, or send."""
        self.replace(self.make(admission=Everybody("192.0.2.7")))
        for datagram in (asked(), asked(b"missing"), WriteRequest(b"f").encode(), b"\0\1", ack(1)):
            self.assertEqual(self.udp.deliver(datagram, PEER), [])
        self.ask(asked(), ("192.0.2.8", 2070))

    def on_disk(self) -> Content:
        """:returns: a file that is not in memory yet."""
        path = Path(self.mktemp())
        path.write_bytes(b"x")
        found = path.stat()
        version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        return Content(path, (Extent(0, 1),), version)

    def test_who_is_a_stranger_by_then(self) -> None:
        """Reading the file takes time: who is not admitted any more gets silence, too."""
        somebody = Everybody()
        server = self.make(MemoryLoaders({b"f": self.on_disk()}), somebody)
        self.replace(server)
        self.workers.held = True
        channel = self.ask(asked(b"f"))
        somebody._strangers = (PEER[0],)
        self.workers.proceed()
        self.assertEqual((channel.sent, channel.closed), ([], True))
        self.assertEqual((server.transfers, server.peers), (0, 0))

    def test_behind_a_fence(self) -> None:
        """Each answer is counted, errors too; what came before the transfer's end is no answer."""
        lease = Lease()
        self.replace(self.make(fence=lease))
        self.assertEqual(Client(self.ask(asked())).run(), FILE)
        self.assertEqual(lease.answers, 1)
        self.refused(asked(b"missing"))
        self.refused(WriteRequest(b"f").encode())
        self.assertEqual(lease.answers, 3)

    def test_a_closed_fence(self) -> None:
        """Silence, and no asker is called a stranger: it is this agent that is on standby."""
        lease = Lease(active=False)
        self.replace(self.make(fence=lease))
        asks = (asked(), asked(b"missing"), WriteRequest(b"f").encode())
        with capturedLogs() as events:
            for datagram in (*asks, b"\0\1", ack(1)):
                self.assertEqual(self.udp.deliver(datagram, PEER), [])
        codes = [each["code"] for each in events if each.get("event") == "loader.refused"]
        self.assertEqual(codes, ["standby", "standby", "noise"])
        self.assertEqual(lease.answers, 0)

    def test_a_fence_that_closes(self) -> None:
        """While the file is read: no answer. While it is sent: the transfer ends well."""
        lease = Lease()
        server = self.make(MemoryLoaders({**FILES, b"g": self.on_disk()}), fence=lease)
        self.replace(server)
        channel = self.ask(asked())
        lease.active = False
        self.assertEqual(Client(channel).run(), FILE)
        lease.active, self.workers.held = True, True
        channel = self.ask(asked(b"g"), (PEER[0], 2071))
        lease.active = False
        self.workers.proceed()
        self.assertEqual((channel.sent, channel.closed), ([], True))
        self.assertEqual((server.transfers, lease.answers), (0, 1))

    def test_no_free_port_is_silence(self) -> None:
        """The ROM asks again, and then there may be one."""
        self.udp.exhausted = True
        with capturedLogs() as events:
            self.assertEqual(self.udp.deliver(asked(), PEER), [])
            self.assertEqual(self.udp.deliver(asked(b"missing"), PEER), [])
        self.assertEqual(named(events), ["loader.refused"] * 2)
        self.assertEqual(self.server.transfers, 0)


class StormTests(ServerTestCase):
    def test_what_all_ask_for_is_looked_for_once(self) -> None:
        """And again at the next tick, so that a new file is found."""
        looked: list[bytes] = []

        class Counting(MemoryLoaders):
            def find(self, name: bytes) -> Content | Generated:
                looked.append(name)
                return super().find(name)

        files = {b"f": FILE}
        self.replace(self.make(Counting(files)))
        for n in range(1, 20):
            self.ask(asked(), (f"192.0.2.{n}", 9))
        self.assertEqual(len(looked), 2)  # nothing is kept before the first one is under way
        files[b"f"] = b"new"
        self.wait(0.25)
        self.assertEqual(decode(self.ask(asked(), ("192.0.2.99", 9)).sent[0]), Data(1, b"new"))

    def test_nothing_is_kept_where_no_transfer_is_under_way(self) -> None:
        """There is no tick then that would forget it."""
        files = {b"one": b"old"}
        self.replace(self.make(MemoryLoaders(files)))
        for _ in range(2):
            self.ask(asked(b"one")).deliver(ack(1))
        files[b"one"] = b"new"
        self.assertEqual(decode(self.ask(asked(b"one")).sent[0]), Data(1, b"new"))


class RepeatedRequestTests(ServerTestCase):
    def test_joins_the_running_transfer(self) -> None:
        """One transfer, one port, at most one acknowledgement of options extra (field case B23)."""
        channel = self.ask(asked(tsize=0))
        self.clock.advance(0.1)
        for _ in range(3):
            self.assertEqual(self.udp.deliver(asked(tsize=0), PEER), [])
        self.wait(0.75)
        self.assertEqual(channel.taken(), [b"\0\6tsize\x0048000\0"] * 2)
        self.assertEqual(self.server.transfers, 1)

    def test_a_late_duplicate_changes_nothing(self) -> None:
        """Blocks are on their way: it goes on with the next one."""
        channel = self.ask(asked())
        channel.deliver(ack(1), ack(2))
        channel.taken()
        self.assertEqual(self.udp.deliver(asked(), PEER), [])
        self.assertEqual(channel.taken(), [])
        channel.deliver(ack(3))
        self.assertEqual(decode(channel.taken()[0]), Data(4, FILE[1536:2048]))

    def test_another_request_from_the_same_port_replaces_it(self) -> None:
        """A ROM that keeps its port goes on with its next file."""
        first = self.ask(asked())
        second = self.ask(asked(b"one"))
        self.assertTrue(first.closed)
        self.assertEqual(decode(second.sent[0]), Data(1, b"x"))
        self.assertEqual(first.taken()[1:], [])

    def test_a_client_that_began_anew_is_served_anew(self) -> None:
        """The same request after a second without progress."""
        first = self.ask(asked())
        first.deliver(ack(1))
        self.wait(1.5)
        second = self.ask(asked())
        self.assertTrue(first.closed)
        self.assertEqual(decode(second.sent[0]), Data(1, FILE[:512]))

    def test_other_ports_and_other_addresses_are_other_transfers(self) -> None:
        """Only the same port of the same peer, asking the same address, is the same client."""
        self.ask(asked())
        self.ask(asked(), ("192.0.2.7", 2071))
        self.ask(asked(), ("192.0.2.8", 2070))
        self.udp.deliver(asked(), PEER, local="192.0.2.2")
        self.assertEqual(self.server.transfers, 4)


class BoundTests(ServerTestCase):
    limits = Limits(transfers=6, per_peer=2)

    def test_each_peer_has_its_share(self) -> None:
        """More is not answered, so that the ROM asks again; others are served."""
        self.ask(asked(), ("192.0.2.7", 1))
        self.ask(asked(), ("192.0.2.7", 2))
        with capturedLogs() as events:
            for port in range(3, 50):
                self.assertEqual(self.udp.deliver(asked(), ("192.0.2.7", port)), [])
        self.assertEqual([each["code"] for each in events], ["busy"])
        self.ask(asked(), ("192.0.2.8", 1))

    def test_there_is_a_bound_for_all(self) -> None:
        """Also from ever other addresses; when one ends, the next is served."""
        channels = [self.ask(asked(), (f"192.0.2.{n}", 1)) for n in range(10, 16)]
        self.assertEqual(self.udp.deliver(asked(), ("192.0.2.99", 1)), [])
        channels[0].deliver(Error(0).encode())
        self.ask(asked(), ("192.0.2.99", 1))

    def test_ends_that_wait_to_be_read_make_room(self) -> None:
        """The last acknowledgement and the next request may come in the same moment."""
        channels = [self.ask(asked(b"one"), (f"192.0.2.{n}", 1)) for n in range(10, 16)]
        self.udp.flushed = lambda: channels[3].deliver(ack(1))
        self.ask(asked(), ("192.0.2.99", 1))

    def test_nothing_is_kept_of_who_was_served(self) -> None:
        """Forged addresses cost no memory when their transfers are over."""
        for n in range(300):
            self.ask(asked(b"one"), (f"10.1.{n >> 8}.{n & 255}", 9)).deliver(ack(1))
        self.assertEqual((self.server.transfers, self.server.peers), (0, 0))

    def test_malformed_datagrams_lock_nobody_out(self) -> None:
        """Only transfers count towards the bounds."""
        for _ in range(100):
            self.refused(b"\0\1")
        self.ask(asked())

    def test_the_default_bounds(self) -> None:
        """Are the ones in the documentation."""
        self.assertEqual(Limits(), Limits(64, 4, 64 << 20))

    def test_noise_is_one_line_a_minute(self) -> None:
        """And the next line tells how much was kept quiet."""
        with capturedLogs() as events:
            for _ in range(50):
                self.udp.deliver(b"\xff" * 100, PEER)
            self.clock.advance(61)
            self.udp.deliver(b"\xff" * 100, PEER)
        reasons = [each["reason"] for each in events]
        self.assertEqual(len(reasons), 2)
        self.assertIn("(49 more before this)", reasons[1])

    def test_noise_from_everywhere_is_a_bounded_number_of_lines(self) -> None:
        """Forged senders cannot fill a log either."""
        with capturedLogs() as events:
            for n in range(3000):
                self.udp.deliver(b"\xff" * 100, (f"10.0.{n >> 8}.{n & 255}", 9))
        self.assertTrue(len(events) <= KINDS + 1, len(events))


class EventTests(ServerTestCase):
    def events_of(self, request: bytes, *items: bytes | OSError) -> list[LogEvent]:
        with capturedLogs() as events:
            channel = self.ask(request)
            for item in items:
                channel.deliver(item)
            if not channel.closed:
                self.wait(40)
        return [each for each in events if "event" in each]

    def test_a_sent_loader_is_two_events(self) -> None:
        """Intent and outcome apart, with the figures of the transfer."""
        first, last = self.events_of(asked(b"one", tsize=0, blksize=1468), ack(0), ack(1))
        self.assertEqual(
            (first["event"], first["loader"], first["options"], first["peer"]),
            ("loader.asked", "one", "tsize=0 blksize=1468", PEER),
        )
        self.assertEqual(
            [last[each] for each in ("event", "size", "sent", "blksize", "windowsize", "outcome")],
            ["loader.sent", 1, 1, 1468, 1, "sent"],
        )

    def test_a_size_probe_is_no_failure(self) -> None:
        """No line above debug, its place is free at once, nothing more is sent (B19, B20)."""
        probe = Error(8, b"User aborted the transfer").encode()
        with capturedLogs() as events:
            channel = self.ask(asked(tsize=0, blksize=1468))
            channel.deliver(probe)
            self.assertEqual(self.server.transfers, 0)
            sent = len(channel.sent)
            self.wait(10)
            self.assertEqual(len(channel.sent), sent)
            client = Client(self.ask(asked(blksize=1468), (PEER[0], PEER[1] + 1)))
            self.assertEqual(client.run(), FILE)
        self.assertEqual(
            named(events), ["loader.asked", "loader.probed", "loader.asked", "loader.sent"]
        )
        self.assertEqual(events[1]["log_level"], LogLevel.debug)
        self.assertFalse(any(each["problem"] for each in events))

    def test_a_client_that_stops_is_quoted(self) -> None:
        """In its own words."""
        events = self.events_of(asked(), ack(1), Error(3, b"disk full").encode())
        self.assertEqual(
            (events[-1]["event"], events[-1]["reason"], events[-1]["sent"]),
            ("loader.stopped", "error 3 disk full", 512),
        )

    def test_a_blocked_return_path_is_told_apart(self) -> None:
        """With what was asked and what was given, since a firewall may look at either (W136)."""
        events = self.events_of(asked(tsize=0))
        self.assertEqual(events[-1]["event"], "loader.failed")
        self.assertIn("the return path is blocked", events[-1]["reason"])
        self.assertIn("asked tsize=0; given tsize=48000", events[-1]["reason"])
        self.assertTrue(events[-1]["problem"])

    def test_a_lost_machine_is_told_by_its_block(self) -> None:
        """Where it fell silent."""
        events = self.events_of(asked(), ack(1), ack(2))
        self.assertEqual(events[-1]["reason"], "no ACK of block 3")
        self.assertEqual(events[-1]["sent"], 1024)

    def test_a_missing_last_acknowledgement_is_sent(self) -> None:
        """The ROM has jumped (W123); the outcome says that nobody confirmed."""
        events = self.events_of(asked(b"f", blksize=1468), ack(0), *map(ack, range(1, 33)))
        self.assertEqual(
            (events[-1]["event"], events[-1]["outcome"]), ("loader.sent", "unconfirmed")
        )

    def test_a_refusal_is_an_event(self) -> None:
        """With its code; the name is made printable."""
        with capturedLogs() as events:
            self.refused(asked(b"no\nsuch"))
        [event] = events
        self.assertEqual(
            (event["event"], event["loader"], event["code"]),
            ("loader.refused", "no\\x0asuch", "not-found"),
        )


class StoppingTests(ServerTestCase):
    def test_idle_fires_when_the_last_transfer_is_over(self) -> None:
        """At once where there is none."""
        self.successResultOf(self.server.idle())
        channel = self.ask(asked(b"one"))
        idle = self.server.idle()
        self.assertNoResult(idle)
        channel.deliver(ack(1))
        self.successResultOf(idle)

    def test_abort_tells_the_clients(self) -> None:
        """Nothing is left: no channel, no timer."""
        channels = [self.ask(asked(windowsize=4), (f"192.0.2.{n}", 1)) for n in (7, 8)]
        with capturedLogs() as events:
            self.server.abort()
        for channel in channels:
            self.assertIsInstance(decode(channel.sent[-1]), Error)
            self.assertTrue(channel.closed)
        self.assertEqual({each["reason"][:22] for each in events}, {"the server is stopping"})
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_a_failure_of_ours_ends_that_transfer_only(self) -> None:
        """It is logged, the client is told, the others go on."""
        bad, good = (self.ask(asked(), (f"192.0.2.{n}", 1)) for n in (7, 8))
        bad.deliver(ZeroDivisionError())
        self.assertTrue(bad.closed)
        self.assertEqual(Client(good).run(), FILE)
