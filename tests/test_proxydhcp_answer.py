"""Tests for ``rescriptum.proxydhcp.answer``: every byte that goes out, and who gets none."""

from ipaddress import IPv4Address
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from rescriptum.boot.entries import BootEntry, BootKind
from rescriptum.boot.loaders import ARCHITECTURES, SERVED
from rescriptum.errors import MalformedDatagram
from rescriptum.proxydhcp import wire
from rescriptum.proxydhcp.answer import NO_ADDRESS, TOO_LONG, BootFiles, Peer, Silence
from rescriptum.proxydhcp.policy import (
    ANOTHER_SERVER,
    FRESH,
    MOST_QUESTIONS,
    NO_ENTRY,
    NO_QUESTION,
    STANDBY,
    Answer,
    Policy,
)
from rescriptum.proxydhcp.request import PI, PI_VENDORS
from rescriptum.proxydhcp.strategies import Strategies
from rescriptum.values import MAC

from .dhcpcases import (
    ARM64,
    BIOS,
    EPOCH,
    EVERYBODY,
    MACHINE,
    SCRIPT,
    SERVER,
    URL,
    VECTORS,
    X64,
    ProxyCase,
    asked,
    packet,
)

IPXE = (wire.USER_CLASS, b"iPXE")
CLIENT = ("10.0.0.50", 4011)
#: One without an address.
NOBODY = ("0.0.0.0", 68)


class PolicyCase(ProxyCase):
    def setUp(self) -> None:
        super().setUp()
        self.policy = self.with_files(self.files)

    def with_files(self, files: BootFiles) -> Policy:
        return Policy(files, self.lease, self.entries, self.strategies, self.clock.seconds)

    def decided(
        self, datagram: bytes, port: int = 67, peer: tuple[str, int] = NOBODY
    ) -> Answer | Silence:
        question = self.policy.question(datagram, port, peer)
        assert question is not None
        return self.policy.decide(question, datagram[4:8], self.policy.standing())

    def named(self, datagram: bytes) -> str | None:
        """:returns: the boot file; None: silence for want of a loader."""
        decision = self.decided(datagram)
        if isinstance(decision, Silence):
            self.assertEqual(decision.code, "no-loader")
            return None
        return decision.question.boot_file


class BytesTests(PolicyCase):
    def test_an_offer_to_the_byte(self) -> None:
        """What EDK2 and iPXE took without going to port 4011."""
        options = asked(
            1, 7, None, (wire.MACHINE_ID, bytes(17)), (wire.AGENT_INFORMATION, b"\1\1x")
        )
        decision = self.decided(packet(options, secs=4))
        assert isinstance(decision, Answer)
        expected = (
            bytes.fromhex("02010600 12345678 0000 8000 00000000 00000000 0a000001 00000000")
            + bytes.fromhex(MACHINE.bare)
            + bytes(10 + 64)
            + X64.encode().ljust(128, b"\0")
            + bytes.fromhex("63825363 350102 36040a000001 3c09")
            + b"PXEClient"
            + bytes.fromhex("4208")
            + b"10.0.0.1"
            + bytes.fromhex("4310")
            + X64.encode()
            + b"\0"
            + bytes.fromhex("2b04060108ff 6111")
            + bytes(17)
            + bytes.fromhex("5203010178 ff")
        )
        self.assertEqual(decision.datagram, expected.ljust(300, b"\0"))

    def test_is_never_too_short_or_too_long(self) -> None:
        """At least 300 bytes (W056), and less than 548 (W058), else silence."""
        plain = self.decided(packet(asked()))
        assert isinstance(plain, Answer)
        room = wire.LONGEST - len(plain.datagram.rstrip(b"\0")) - 2
        for size, fits in ((room, True), (room + 1, False)):
            agent = (wire.AGENT_INFORMATION, b"a" * size)
            decision = self.decided(packet(asked(1, 7, None, agent)))
            self.assertEqual(isinstance(decision, Answer), fits, size)
            if isinstance(decision, Answer):
                self.assertEqual(len(decision.datagram), wire.LONGEST)
            else:
                self.assertIs(decision, TOO_LONG)

    def test_a_name_that_does_not_fit_its_field_is_in_the_option_alone(self) -> None:
        for length, field in ((127, True), (128, False)):
            name = "x" * length
            self.policy = self.with_files(BootFiles(SERVER, URL, {"efi64": name}))
            decision = self.decided(packet(asked(), xid=length.to_bytes(4, "big")))
            assert isinstance(decision, Answer)
            made = wire.decode(decision.datagram)
            self.assertEqual(made.file, name.encode() if field else b"")
            self.assertEqual(made.options[wire.BOOT_FILE], name.encode() + b"\0")

    @given(st.binary(max_size=500))
    def test_answers_anything_within_bounds(self, options: bytes) -> None:
        """Whatever is said beside: no address, a server, and the right size."""
        datagram = packet(asked(1, 7)[:-1] + options)
        question = self.policy.question(datagram, 67, NOBODY)
        if question is None:
            return
        decision = self.policy.decide(question, datagram[4:8], self.policy.standing())
        if isinstance(decision, Answer):
            made = wire.decode(decision.datagram)
            self.assertTrue(300 <= len(decision.datagram) < 548)
            self.assertEqual((made.operation, made.your_address), (2, wire.NOWHERE))
            self.assertEqual((made.next_server, made.xid), (SERVER.packed, datagram[4:8]))

    @given(st.binary(max_size=600))
    def test_reads_anything(self, datagram: bytes) -> None:
        """Or says that it is malformed."""
        try:
            self.policy.question(datagram, 67, NOBODY)
        except MalformedDatagram:
            return


class BootFileTests(PolicyCase):
    def test_each_client_gets_its_own(self) -> None:
        for number, vendor, name in (
            (0, b"PXEClient", BIOS),
            (7, b"PXEClient", X64),
            (9, b"PXEClient", X64),
            (11, b"PXEClient", ARM64),
            (16, b"HTTPClient", f"{URL}/boot/loaders/{X64}"),
            (19, b"HTTPClient", f"{URL}/boot/loaders/{ARM64}"),
            (6, b"PXEClient", None),
            (25, b"PXEClient", None),
        ):
            self.assertEqual(self.named(packet(asked(1, number, vendor))), name, number)

    def test_ipxe_gets_the_script_on_whatever_machine(self) -> None:
        """Never a loader, which would bring it back here (B01)."""
        for number in (0, 6, 7, 9, 11, 25):
            self.assertEqual(self.named(packet(asked(1, number, None, IPXE))), SCRIPT)

    def test_an_ipxe_that_cannot_gets_one_that_can(self) -> None:
        """W037, W039, W040: by a URL, and on a BIOS machine one with drivers of its own."""
        features = (wire.IPXE, bytes.fromhex("180101240101"))
        bios, uefi = (packet(asked(1, each, None, IPXE, features)) for each in (0, 7))
        self.assertEqual(self.named(bios), "tftp://10.0.0.1/ipxe-bios.pxe")
        self.assertEqual(self.named(uefi), f"tftp://10.0.0.1/{X64}")
        self.policy = self.with_files(BootFiles(SERVER, URL))
        self.assertEqual(self.named(bios), f"tftp://10.0.0.1/{BIOS}")

    def test_nothing_is_named_that_is_not_there(self) -> None:
        """B13: without a loader, and without TFTP, there is silence."""
        self.policy = self.with_files(BootFiles(SERVER, URL, {"bios": BIOS}))
        self.assertIsNone(self.named(packet(asked(1, 7))))
        self.assertEqual(self.named(packet(asked(1, 0))), BIOS)
        self.policy = self.with_files(BootFiles(SERVER, URL, tftp=False))
        self.assertIsNone(self.named(packet(asked(1, 7))))
        self.assertIsNone(self.named(packet(asked(1, 0, None, IPXE, (wire.IPXE, b"\x18\1\1")))))
        self.assertEqual(self.named(packet(asked(1, 7, None, IPXE))), SCRIPT)
        http = self.decided(packet(asked(1, 16, b"HTTPClient")))
        assert isinstance(http, Answer)
        self.assertNotIn(wire.SERVER_NAME, wire.decode(http.datagram).options)

    def test_the_tables_loaders_are_all_there_is(self) -> None:
        """B13 across the table: each row's loader, by its transport, or silence."""
        self.assertEqual(len(self.files.loaders), len({row.tag for row in SERVED}))
        for row in ARCHITECTURES:
            named = self.named(packet(asked(1, row.code, row.vendor_class.encode())))
            if row.loader is None:
                self.assertIsNone(named)
            else:
                self.assertIn(named, (row.loader, f"{URL}/boot/loaders/{row.loader}"))

    def test_a_raspberry_pi_gets_the_words_that_it_knows(self) -> None:
        """W069, W070: a menu with its name in it, and option 66 as text."""
        mac = MAC(min(PI_VENDORS).hex() + "000001")
        self.entries.put(BootEntry(mac, BootKind.RAMDISK))
        decision = self.decided(packet(asked(1, 0), mac=mac))
        assert isinstance(decision, Answer)
        made = wire.decode(decision.datagram)
        vendor = wire.suboptions(made.options[wire.VENDOR_SPECIFIC])
        self.assertEqual(vendor[9], b"\0\0\x11Raspberry Pi Boot")
        self.assertEqual(vendor[10], b"\0PXE")
        self.assertEqual(made.options[wire.SERVER_NAME], b"10.0.0.1")
        self.assertEqual(made.options[wire.BOOT_FILE], ARM64.encode() + b"\0")
        self.assertEqual(decision.question.request.client.number, PI)

    def test_a_raspberry_pi_gets_the_loader_that_is_there(self) -> None:
        """As every arm64 machine: what the operator has put in its place, or nothing."""
        mac = MAC(min(PI_VENDORS).hex() + "000001")
        self.entries.put(BootEntry(mac, BootKind.RAMDISK))
        for loaders, named in (({"efiarm64": "grub.efi"}, "grub.efi"), ({}, None)):
            self.policy = self.with_files(BootFiles(SERVER, URL, loaders))
            self.assertEqual(self.named(packet(asked(1, 0), mac=mac)), named)


class SilenceTests(PolicyCase):
    REQUEST = asked(wire.REQUEST)

    def test_standby_is_silent(self) -> None:
        self.lease.open = False
        for port in (67, 4011):
            self.assertIs(self.decided(packet(asked()), port, CLIENT), STANDBY)

    def test_one_without_a_live_entry_is_left_alone(self) -> None:
        """Whatever it says, on either port: before anything else is looked at (W018)."""
        self.entries.put(BootEntry(MACHINE, BootKind.RAMDISK, epoch=EPOCH - 1))
        for options in (asked(), self.REQUEST, asked(8), asked(1, 25)):
            for port in (67, 4011):
                self.assertIs(self.decided(packet(options), port, CLIENT), NO_ENTRY)

    def test_an_entry_lapses_while_its_answer_is_kept(self) -> None:
        """A kept answer is an answer all the same."""
        lapses = int(self.clock.seconds()) + 10
        self.entries.put(BootEntry(MACHINE, BootKind.RAMDISK, not_after=lapses))
        datagram = packet(asked())
        self.assertIsInstance(self.decided(datagram), Answer)
        self.clock.advance(10)
        self.assertIs(self.decided(datagram), NO_ENTRY)

    def test_a_request_at_port_67_is_the_address_servers(self) -> None:
        """W015: unless it names us; at 4011 it is always for us (W016)."""
        ours, others = ((wire.SERVER, each) for each in (SERVER.packed, bytes((10, 0, 0, 2))))
        self.assertIs(self.decided(packet(self.REQUEST)), ANOTHER_SERVER)
        self.assertIs(self.decided(packet(asked(3, 7, None, others))), ANOTHER_SERVER)
        self.assertIsInstance(self.decided(packet(asked(3, 7, None, ours))), Answer)
        for options in (self.REQUEST, asked(3, 7, None, others)):
            self.assertIsInstance(self.decided(packet(options), 4011, CLIENT), Answer)

    def test_only_two_messages_are_answered(self) -> None:
        for kind in (0, 2, 4, 5, 6, 7, 8, 9, 255):
            for port in (67, 4011):
                self.assertIs(self.decided(packet(asked(kind)), port, CLIENT), NO_QUESTION)

    def test_nobody_answers_an_address_of_many(self) -> None:
        """What a forger would have us send to: no machine asks from one."""
        for relay in ("224.0.0.1", "255.255.255.255"):
            self.assertIs(self.decided(packet(asked(), relay=relay)), NO_ADDRESS)
            self.assertIs(self.decided(packet(asked(), client=relay)), NO_ADDRESS)
        self.assertIs(self.decided(packet(self.REQUEST), 4011, ("10.0.0.50", 0)), NO_ADDRESS)


class DestinationTests(PolicyCase):
    def to(
        self, datagram: bytes, port: int = 67, peer: tuple[str, int] = NOBODY
    ) -> tuple[str, int]:
        decision = self.decided(datagram, port, peer)
        assert isinstance(decision, Answer)
        return decision.question.to

    def test_one_without_an_address_is_told_with_everybody(self) -> None:
        """W051: also where it did not ask for that."""
        datagram = bytearray(packet(asked()))
        self.assertEqual(self.to(bytes(datagram)), EVERYBODY)
        datagram[10] = 0
        self.assertEqual(self.to(bytes(datagram)), EVERYBODY)

    def test_one_with_an_address_is_told_there(self) -> None:
        self.assertEqual(self.to(packet(asked(), client="10.0.0.50")), ("10.0.0.50", 68))

    def test_a_relay_is_told_at_its_own_address(self) -> None:
        """B08, W053: port 67, wherever it sent from."""
        datagram = packet(asked(), relay="10.9.0.1", client="10.9.0.50")
        self.assertEqual(self.to(datagram, 67, ("10.9.0.254", 45000)), ("10.9.0.1", 67))
        decision = self.decided(datagram)
        assert isinstance(decision, Answer)
        self.assertEqual(wire.decode(decision.datagram).relay, IPv4Address("10.9.0.1").packed)

    def test_a_relay_is_to_tell_everybody(self) -> None:
        """
        W051: whether or not the client asks for it. Without the flag a relay sends to ``yiaddr``,
        and there is none: iPXE's ROM in QEMU sets no flag, and behind dnsmasq's relay it never
        heard an offer.
        """
        for flags in ("0000", "8000"):
            question = bytearray(packet(asked(), relay="10.9.0.1"))
            question[10:12] = bytes.fromhex(flags)
            self.assertEqual(self.flags(bytes(question)), "8000")

    def test_who_has_an_address_is_told_there(self) -> None:
        """The flag is as it said."""
        for flags in ("0000", "8000"):
            question = bytearray(packet(asked(), relay="10.9.0.1", client="10.9.0.50"))
            question[10:12] = bytes.fromhex(flags)
            self.assertEqual(self.flags(bytes(question)), flags)

    def flags(self, datagram: bytes) -> str:
        decision = self.decided(datagram)
        assert isinstance(decision, Answer)
        return decision.datagram[10:12].hex()

    def test_at_4011_it_is_told_where_it_asked_from(self) -> None:
        """W011, W019: iPXE from 68, EDK2 from 4011."""
        datagram = packet(asked(3), client="10.0.0.50")
        for peer in (("10.0.0.50", 4011), ("10.0.0.50", 68)):
            self.assertEqual(self.to(datagram, 4011, peer), peer)

    def test_at_4011_without_an_address_as_at_67(self) -> None:
        self.assertEqual(self.to(packet(asked(3)), 4011, ("0.0.0.0", 68)), EVERYBODY)


MACS = tuple(MAC(f"5254000000{number:02x}") for number in range(2))
Ask = tuple[MAC, bytes, str, str, int, Peer]
#: A question, but for its xid: whose, its options, client, relay, port, and whom it came from.
ASKS = st.tuples(
    st.sampled_from(MACS),
    st.sampled_from(
        (
            asked(),
            asked(3),
            asked(1, 25),
            asked(8),
            asked(3, 7, None, (wire.SERVER, SERVER.packed)),
            asked(1, 7, None, IPXE),
            asked(1, 16, b"HTTPClient"),
            asked(1, 7, None, (wire.AGENT_INFORMATION, b"a" * 250)),
        )
    ),
    st.sampled_from(("0.0.0.0", "10.0.0.50", "239.0.0.1")),
    st.sampled_from(("0.0.0.0", "10.9.0.1")),
    st.sampled_from((67, 4011)),
    st.sampled_from((NOBODY, CLIENT, ("10.0.0.51", 0))),
)
#: What may happen between two of them.
CHANGES = st.sampled_from(
    ("nothing",) * 12
    + ("put", "put", "remove", "lapse", "time", "epoch", "fence", "prune", "loader", "loader")
)


class KeptTests(PolicyCase):
    def setUp(self) -> None:
        super().setUp()
        self.there = {"efi64": X64}
        self.moving = BootFiles(SERVER, URL, self.there)

    def change(self, what: str, mac: MAC) -> None:
        now, lease = int(self.clock.seconds()), self.lease
        if what == "put":
            self.entries.put(BootEntry(mac, BootKind.LOCAL, epoch=lease.epoch))
        elif what == "remove":
            self.entries.remove(mac)
        elif what == "lapse":
            self.entries.put(BootEntry(mac, BootKind.LOCAL, not_after=now + 1))
        elif what == "time":
            self.clock.advance(1)
        elif what == "epoch":
            lease.epoch += 1
        elif what == "fence":
            lease.open = not lease.open
        elif what == "prune":
            self.entries.prune(lease.epoch, self.clock.seconds())
        elif what == "loader":
            self.there.pop("efi64") if self.there else self.there.update(efi64=X64)
            self.clock.advance(FRESH)

    @given(
        st.booleans(),
        ASKS,
        ASKS,
        st.lists(st.tuples(st.integers(-6, 5), st.integers(0, 3), CHANGES), min_size=20),
    )
    def test_a_kept_answer_is_the_one_that_would_be_made(
        self, learn: bool, usual: Ask, other: Ask, steps: list[tuple[int, int, str]]
    ) -> None:
        """
        Whatever was asked before, and whatever has changed since: to the byte. Every second
        question differs in one thing from what is asked else.
        """
        self.setUp()
        for mac in MACS:
            self.entries.put(BootEntry(mac, BootKind.LOCAL))
        kept, made = Strategies(learn=learn), Strategies(learn=learn)
        fast = Policy(self.moving, self.lease, self.entries, kept, self.clock.seconds)
        for twisted, xid, change in steps:
            both = zip(usual, other, strict=True)
            ask = (b if number == twisted else a for number, (a, b) in enumerate(both))
            mac, options, client, relay, port, peer = cast(Ask, tuple(ask))
            self.change(change, mac)
            number = b"xid%d" % max(0, xid - 2)
            datagram = packet(options, mac=mac, xid=number, client=client, relay=relay)
            slow = Policy(self.moving, self.lease, self.entries, made, self.clock.seconds)
            answers = [self.said(each, datagram, port, peer) for each in (fast, slow)]
            self.assertEqual(*answers)

    def said(self, policy: Policy, datagram: bytes, port: int, peer: Peer) -> object:
        """:returns: all that there is to an answer, or the silence."""
        question = policy.question(datagram, port, peer)
        assert question is not None
        decision = policy.decide(question, datagram[4:8], policy.standing())
        if isinstance(decision, Silence):
            return decision
        machine = decision.machine
        return (
            (decision.datagram, question.to, decision.ignored),
            (question.message, question.boot_file, question.client),
            (machine.mac, machine.strategy, machine.times, machine.worked),
        )

    def test_a_loader_that_has_gone_is_not_offered_any_more(self) -> None:
        """Nor one in whose place another has come; whoever asks again has waited a second."""
        loaders, native = {"efi64": X64, "bios": BIOS}, [""]
        self.policy = self.with_files(
            BootFiles(SERVER, URL, loaders, native=lambda: native[0] or None)
        )
        ipxe = asked(1, 0, None, IPXE, (wire.IPXE, b"\x13\1\1"))
        for options, named in ((asked(), X64), (ipxe, f"tftp://10.0.0.1/{BIOS}")):
            self.assertEqual(self.named(packet(options)), named)
        loaders["efi64"], native[0] = "other.efi", "native.kpxe"
        self.clock.advance(FRESH)
        self.assertEqual(self.named(packet(asked())), "other.efi")
        self.assertEqual(self.named(packet(ipxe)), "tftp://10.0.0.1/native.kpxe")
        del loaders["efi64"]
        self.clock.advance(FRESH)
        for _ in range(2):
            self.assertIsNone(self.named(packet(asked())))
        loaders["efi64"] = X64
        self.assertEqual(self.named(packet(asked())), X64)
        del loaders["efi64"]
        self.clock.advance(-3600)  # somebody sets the clock
        self.assertIsNone(self.named(packet(asked())))

    def test_the_same_question_has_the_same_answer(self) -> None:
        """But for the xid; whatever else differs is another question."""
        first = self.decided(packet(asked()))
        again = self.decided(packet(asked(), xid=b"next", secs=4))
        assert isinstance(first, Answer) and isinstance(again, Answer)
        self.assertIs(again.question, first.question)
        self.assertEqual(again.datagram[4:8], b"next")
        self.assertEqual(again.datagram[8:], first.datagram[8:])
        for datagram in (packet(asked(1, 9)), packet(asked(), client="10.0.0.50")):
            other = self.decided(datagram)
            assert isinstance(other, Answer)
            self.assertIsNot(other.question, first.question)
        at_4011 = self.decided(packet(asked()), 4011, CLIENT)
        assert isinstance(at_4011, Answer)
        self.assertIsNot(at_4011.question, first.question)

    def test_what_only_looks_like_a_question_that_is_kept(self) -> None:
        """A reply, and a request of something that has no MAC, are none."""
        datagram = packet(asked())
        self.assertIsInstance(self.decided(datagram), Answer)
        for beginning in (b"\2\1\6\0", b"\1\x20\6\0", b"\1\1\x10\0"):
            self.assertIsNone(self.policy.question(beginning + datagram[4:], 67, NOBODY))
        relayed = b"\1\1\6\1" + datagram[4:]
        self.assertIsNotNone(self.policy.question(relayed, 67, NOBODY))

    def test_kept_answers_are_bounded(self) -> None:
        """Those of machines that have entries: strangers have none."""
        first = packet(asked(), mac=MAC(f"{0:012x}"))
        for number in range(MOST_QUESTIONS + 1):
            mac = MAC(f"{number:012x}")
            self.entries.put(BootEntry(mac, BootKind.LOCAL))
            self.assertIsInstance(self.decided(packet(asked(), mac=mac)), Answer)
            if not number:
                kept = self.policy.question(first, 67, NOBODY)
                self.assertIs(self.policy.question(first, 67, NOBODY), kept)
        self.assertIsNot(self.policy.question(first, 67, NOBODY), kept)

    def test_every_captured_request_is_answered_as_its_client_wants_it(self) -> None:
        """All of them, by the port that they came to."""
        self.entries.put(BootEntry(MAC.parse("52:54:00:12:34:56"), BootKind.RAMDISK))
        self.policy = self.with_files(BootFiles(IPv4Address("10.77.0.1"), URL))
        for vector in VECTORS:
            peer = ("10.77.0.157", vector.source) if vector.port == 4011 else NOBODY
            question = self.policy.question(vector.packet, vector.port, peer)
            if vector.architecture is None:
                self.assertIsNone(question)
                continue
            assert question is not None
            decision = self.policy.decide(question, vector.packet[4:8], self.policy.standing())
            server = wire.decode(vector.packet).options.get(wire.SERVER)
            if vector.message == "REQUEST" and vector.port == 67 and server != b"\x0a\x4d\x00\x01":
                self.assertIs(decision, ANOTHER_SERVER)
                continue
            assert isinstance(decision, Answer), vector.name
            made = wire.decode(decision.datagram)
            http = vector.vendor_class.startswith("HTTPClient")
            own = wire.decode(vector.packet).options[wire.MACHINE_ID]
            self.assertEqual(made.options[wire.MACHINE_ID], own)
            self.assertEqual(made.kind, wire.OFFER if vector.message == "DISCOVER" else wire.ACK)
            self.assertEqual(
                made.options[wire.VENDOR_CLASS], b"HTTPClient" if http else b"PXEClient"
            )
            self.assertEqual(
                made.options.get(wire.VENDOR_SPECIFIC), None if http else b"\6\1\x08\xff"
            )
            self.assertEqual(decision.question.to, peer if vector.port == 4011 else EVERYBODY)
            self.assertEqual(
                made.options[wire.BOOT_FILE].startswith(b"http://"), http or vector.client == "iPXE"
            )
