"""
Tests for ``rescriptum.proxydhcp.protocol``: a site's server, a network in memory, and the public
reports of machines that did not boot. Each is named after its number in the list of such reports.
"""

from collections.abc import Sequence

from twisted.logger import LogEvent, LogLevel, capturedLogs

from rescriptum.boot.entries import BootEntry, BootKind
from rescriptum.boot.offers import Strategy
from rescriptum.boot.tally import KINDS
from rescriptum.net.udp import Arrival
from rescriptum.proxydhcp import wire
from rescriptum.proxydhcp.request import PI_VENDORS
from rescriptum.proxydhcp.wire import decode, encode_options
from rescriptum.values import MAC

from .dhcpcases import (
    ARM64,
    BIOS,
    EVERYBODY,
    INTERFACE,
    MACHINE,
    SCRIPT,
    SERVER,
    URL,
    X64,
    ProxyCase,
    asked,
    packet,
)

X64_CLASS = "3c 20" + b"PXEClient:Arch:00007:UNDI:003016".hex()
BIOS_CLASS = "3c 20" + b"PXEClient:Arch:00000:UNDI:002001".hex()
IPXE = "4d 04 69 50 58 45"
B01 = f"35 01 01 5d 02 00 07 {X64_CLASS}"
B05 = f"35 01 03 5d 02 00 00 {BIOS_CLASS} 2b 07 47 04 80 00 00 00 ff ff"
CLIENT = ("10.0.0.50", 68)


def named(events: Sequence[LogEvent], *names: str) -> list[LogEvent]:
    return [each for each in events if str(each.get("event", "")) in names]


class ReportTests(ProxyCase):
    def test_b01_seven_and_nine_are_one_architecture(self) -> None:
        """With the loader that this one was, it is sent on to the script: no loop."""
        for number in ("07", "09"):
            options = f"35 01 01 5d 02 00 {number} {X64_CLASS}"
            self.assertEqual(self.boot_file(packet(f"{options} ff")), X64)
            self.assertEqual(self.boot_file(packet(f"{options} {IPXE} ff")), SCRIPT)

    def test_b02_option_93_is_a_list(self) -> None:
        vendor = "3c 09 50 58 45 43 6c 69 65 6e 74 ff"
        for listed, loader in (
            ("5d 04 00 07 00 09", X64),
            ("5d 04 00 99 00 0b", ARM64),
            ("5d 03 00 07 00", X64),
        ):
            self.assertEqual(self.boot_file(packet(f"35 01 01 {listed} {vendor}")), loader)

    def test_b03_the_architecture_in_option_60_is_decimal(self) -> None:
        options = encode_options([(53, b"\1"), (60, b"PXEClient:Arch:00011:UNDI:003000")])
        self.assertEqual(self.boot_file(packet(options + b"\xff")), ARM64)

    def test_b04_a_rom_that_ignores_offers_is_told_of_once(self) -> None:
        """Four offers, one story; nobody said that another way may be tried."""
        with capturedLogs() as events:
            for secs, passed in ((0, 0), (4, 4), (12, 8), (28, 16)):
                self.clock.advance(passed)
                self.assertEqual(self.boot_file(packet(f"{B01} ff", secs=secs)), X64)
        [ignored] = named(events, "dhcp.ignored")
        self.assertEqual((ignored["outcome"], ignored["times"]), ("offer-ignored", 3))
        self.assertEqual(ignored["log_level"], LogLevel.warn)
        offered = [each["times"] for each in named(events, "dhcp.offered")]
        self.assertEqual(offered, [1, 2, 3, 4])

    def test_b05_a_bios_rom_asks_4011_for_a_boot_item(self) -> None:
        """And hears it back, at its own address and port."""
        [sent] = self.deliver(packet(B05, client="10.0.0.50"), CLIENT, port=4011)
        made = decode(sent.datagram)
        self.assertEqual((made.kind, sent.to), (wire.ACK, CLIENT))
        self.assertEqual((sent.local, sent.interface), ("10.0.0.1", 0))
        self.assertEqual(made.client_address, bytes((10, 0, 0, 50)))
        self.assertIn(bytes.fromhex("4704 80000000"), made.options[wire.VENDOR_SPECIFIC])
        self.assertEqual(made.options[wire.BOOT_FILE], BIOS.encode() + b"\0")
        self.assertEqual(made.next_server, SERVER.packed)

    def test_b06_option_97_is_said_back_where_it_is_sane(self) -> None:
        self.assertNotIn(97, self.answer(packet(f"{B01} ff")).options)
        sane = bytes.fromhex("6111 00") + bytes(range(16))
        whole = bytes.fromhex(B01) + sane + b"\xff"
        self.assertEqual(self.answer(packet(whole)).options[97], sane[2:])
        short = bytes.fromhex(B01) + b"\x61\x10" + bytes(16) + b"\xff"
        self.assertNotIn(97, self.answer(packet(short)).options)

    def test_b07_there_is_a_server_and_a_file_in_both_messages(self) -> None:
        """iPXE asks port 4011 for ever without them."""
        feature = "af 06 13 01 01 18 01 01"
        options = f"5d 02 00 00 {BIOS_CLASS} {IPXE} {feature} ff"
        offer = self.answer(packet(f"35 01 01 {options}"))
        ack = self.answer(packet(f"35 01 03 {options}", client="10.0.0.50"), CLIENT, port=4011)
        for made in (offer, ack):
            self.assertEqual(made.next_server, SERVER.packed)
            self.assertEqual(made.options[wire.SERVER], SERVER.packed)
            self.assertEqual(made.options[wire.BOOT_FILE], SCRIPT.encode() + b"\0")

    def test_b08_a_relay_is_answered_at_its_address(self) -> None:
        relayed = packet(f"{B01} ff", relay="10.9.0.1")
        [sent] = self.deliver(relayed, ("10.9.0.254", 45000))
        self.assertEqual((sent.to, sent.interface), (("10.9.0.1", 67), 0))
        self.assertEqual(decode(sent.datagram).relay, bytes((10, 9, 0, 1)))

    def test_b10_option_67_has_its_nul(self) -> None:
        value = self.answer(packet(f"{B01} ff")).options[wire.BOOT_FILE]
        self.assertEqual((value[-1:], value.count(b"\0")), (b"\0", 1))

    def test_b11_the_file_field_has_the_name_too(self) -> None:
        made = self.answer(packet(f"{B01} ff"))
        self.assertEqual(made.datagram[108:236].rstrip(b"\0"), X64.encode())
        self.assertEqual(made.options[wire.BOOT_FILE].rstrip(b"\0"), X64.encode())

    def test_b14_http_boot_gets_a_url_in_the_offer(self) -> None:
        """Option 60 said back, no option 43, nothing to ask port 4011 for."""
        options = encode_options(
            [(53, b"\1"), (93, b"\0\x10"), (60, b"HTTPClient:Arch:00016:UNDI:003001")]
        )
        made = self.answer(packet(options + b"\xff"))
        self.assertEqual(made.options[wire.VENDOR_CLASS], b"HTTPClient")
        self.assertEqual(made.options[wire.BOOT_FILE], f"{URL}/boot/loaders/{X64}\0".encode())
        self.assertNotIn(wire.VENDOR_SPECIFIC, made.options)

    def test_b16_port_4011_is_no_way_round(self) -> None:
        """Without an entry: silence, and on the list; with the fence closed: silence."""
        asks = packet(B05, client="10.0.0.50")
        self.lease.open = False
        self.assertEqual(self.deliver(asks, CLIENT, port=4011), [])
        self.assertEqual(len(self.discovered), 0)
        self.lease.open = True
        self.entries.remove(MACHINE)
        self.assertEqual(self.deliver(asks, CLIENT, port=4011), [])
        [listed] = self.discovered.machines(self.clock.seconds())
        self.assertEqual((listed.mac, listed.architecture), (MACHINE, "bios"))
        self.assertEqual(self.lease.sends, 0)

    def test_b18_directly_is_the_default(self) -> None:
        made = self.answer(packet(f"{B01} ff"))
        self.assertEqual(made.options[wire.VENDOR_SPECIFIC], bytes.fromhex("060108ff"))


class LearningTests(ProxyCase):
    learn = True

    def vendor(self, xid: bytes) -> bytes | None:
        made = self.answer(packet(f"{B01} ff", xid=xid))
        return made.options.get(wire.VENDOR_SPECIFIC)

    def test_b04_another_way_from_the_third_time_on(self) -> None:
        """And again from where it was, by the next xid; what worked is shown."""
        direct, prompt = bytes.fromhex("060108ff"), bytes.fromhex("060108 0a04 00505845 ff")
        self.assertEqual([self.vendor(b"xid1") for _ in range(4)], [direct, direct, None, None])
        self.assertEqual([self.vendor(b"xid2") for _ in range(3)], [None, None, prompt])
        self.deliver(packet(asked(3), client="10.0.0.50"), CLIENT, port=4011)
        self.assertEqual([self.vendor(b"xid3") for _ in range(3)], [prompt] * 3)
        [learnt] = self.strategies.learnt()
        self.assertEqual((learnt.mac, learnt.strategy), (MACHINE, Strategy.PROMPT))

    def test_nothing_is_learnt_where_there_is_one_way_only(self) -> None:
        """HTTP boot has no option 43, and a Raspberry Pi its own."""
        pi = MAC(min(PI_VENDORS).hex() + "000001")
        self.entries.put(BootEntry(pi, BootKind.RAMDISK))
        for mac, options in ((MACHINE, asked(1, 16, b"HTTPClient")), (pi, asked(1, 0))):
            with capturedLogs() as events:
                for _ in range(3):
                    self.deliver(packet(options, mac=mac))
            [ignored] = named(events, "dhcp.ignored")
            self.assertEqual(ignored["strategy"], "direct")
            self.deliver(packet(asked(3, 7), mac=mac), CLIENT, port=4011)
        self.assertEqual(list(self.strategies.learnt()), [])


class ChosenTests(ProxyCase):
    preferences = "52:54:00:12:34:56=direct+prompt, bios=bounce"

    def test_b17_an_operator_may_choose(self) -> None:
        """For one machine, or an architecture: with the prompt, or nothing at all."""
        vendor = self.answer(packet(f"{B01} ff")).options[wire.VENDOR_SPECIFIC]
        self.assertEqual(vendor, bytes.fromhex("060108 0a04 00505845 ff"))
        other = MAC.parse("52:54:00:00:00:01")
        self.entries.put(BootEntry(other, BootKind.RAMDISK))
        offer = self.answer(packet(asked(1, 0), mac=other))
        self.assertNotIn(wire.VENDOR_SPECIFIC, offer.options)
        ack = self.answer(packet(B05, mac=other, client="10.0.0.50"), CLIENT, port=4011)
        self.assertEqual(ack.options[wire.VENDOR_SPECIFIC], bytes.fromhex("4704 80000000 ff"))

    def test_what_is_chosen_for_an_architecture_is_for_all_that_say_it(self) -> None:
        """Also for a machine that was of another one before: by HTTP boot, or in BIOS mode."""
        self.preferences = "efi64=bounce"
        self.setUp()
        for number, named in ((16, b"HTTPClient"), (0, None), (7, None), (0, None)):
            offer = self.answer(packet(asked(1, number, named)))
            vendor = offer.options.get(wire.VENDOR_SPECIFIC)
            self.assertEqual(vendor, bytes.fromhex("060108ff") if number == 0 else None)


class SendingTests(ProxyCase):
    def test_everybody_is_everybody_where_it_came_from(self) -> None:
        """W052: out of that interface, from our own address."""
        [sent] = self.deliver(packet(asked()), local="10.0.0.77")
        self.assertEqual((sent.to, sent.interface, sent.local), (EVERYBODY, INTERFACE, "10.0.0.1"))

    def test_an_answer_comes_from_the_address_that_was_asked(self) -> None:
        """B28: a client of 4011 drops what comes from another one of ours (W131)."""
        asks = packet(asked(3), client="10.0.0.50")
        [sent] = self.deliver(asks, CLIENT, port=4011, local="10.0.0.2")
        self.assertEqual(sent.local, "10.0.0.2")
        [sent] = self.deliver(asks, CLIENT, port=4011, local="10.0.0.2", unicast=False)
        self.assertEqual(sent.local, "10.0.0.1")

    def test_the_fence_has_the_last_word_before_each(self) -> None:
        """It closes while a storm is answered: the rest is not sent, nor told of."""
        arrival = Arrival(packet(asked()), ("0.0.0.0", 68), "10.0.0.1", INTERFACE, False)
        self.lease.closes_after = 1
        with capturedLogs() as events:
            sent = self.listening[67].deliver(arrival, arrival, arrival)
        self.assertEqual((len(sent), self.lease.sends), (1, 1))
        self.assertEqual(len(named(events, "dhcp.offered")), 1)

    def test_a_failure_of_ours_ends_that_answer_only(self) -> None:
        """What came with it is somebody else's."""

        def lost() -> None:
            raise ZeroDivisionError

        stranger = MAC.parse("52:54:00:00:00:01")
        both = [
            Arrival(packet(asked(), mac=mac), ("0.0.0.0", 68), "10.0.0.1", INTERFACE, False)
            for mac in (stranger, MACHINE)
        ]
        self.patch(self, "_found", lost)
        self.proxy = self.make(self.files)
        self.udp.listening.clear()
        self.assertEqual(len(self.listen()[0].deliver(*both)), 1)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_what_the_system_does_not_take_is_counted(self) -> None:
        """Said once a minute; the machine asks again."""
        with capturedLogs() as events:
            for _ in range(3):
                self.listening[67].failures.append(OSError(101, "Network is unreachable"))
                self.assertEqual(self.deliver(packet(asked())), [])
        self.assertEqual((self.proxy.unsent, self.lease.sends), (3, 0))
        said = [each for each in events if each["log_level"] is LogLevel.warn]
        self.assertEqual([each.get("reason") for each in said][:1], ["Network is unreachable"])
        self.assertEqual(len([each for each in said if "reason" in each]), 1)
        self.assertEqual(len(self.deliver(packet(asked()))), 1)

    def test_both_ports_or_none(self) -> None:
        """A machine that goes on to a port where nobody is says PXE-E55."""
        self.udp.taken["0.0.0.0:4011"] = OSError(98, "in use")
        before = len(self.udp.listening)
        with self.assertRaises(OSError):
            self.proxy.listen()
        [first] = self.udp.listening[before:]
        self.assertTrue(first.closed)


class EventTests(ProxyCase):
    def test_an_offer_is_told(self) -> None:
        with capturedLogs() as events:
            self.deliver(packet(f"{B01} ff"))
        [offered] = named(events, "dhcp.offered")
        self.assertEqual(offered["link"], "dhcp")
        told = {each: offered[each] for each in ("mac", "answer", "boot_file", "strategy")}
        expected = {"mac": MACHINE, "answer": "OFFER", "boot_file": X64, "strategy": "direct"}
        self.assertEqual(told, expected)
        self.assertEqual(offered["client"], "UEFI x64")

    def test_a_machine_that_asks_all_the_time_is_told_once_a_second(self) -> None:
        """With how often it was answered between."""
        with capturedLogs() as events:
            for number in range(10):
                self.deliver(packet(asked(), xid=number.to_bytes(4, "big")))
            self.clock.advance(1)
            self.deliver(packet(asked(), xid=b"last"))
        told = [each["untold"] for each in named(events, "dhcp.offered")]
        self.assertEqual(told, [0, 9])

    def test_a_new_machine_is_listed_and_reported(self) -> None:
        """And left alone; a known one asks for no report (B04)."""
        mac = MAC.parse("52:54:00:00:00:01")
        octets = bytes(range(16))
        with capturedLogs() as events:
            for _ in range(4):
                asks = packet(asked(1, 11, None, (97, b"\0" + octets)), mac=mac)
                self.assertEqual(self.deliver(asks), [])
        self.assertEqual(self.found, 1)
        [listed] = self.discovered.machines(self.clock.seconds())
        self.assertEqual((listed.mac, listed.architecture), (mac, "arm64-efi"))
        self.assertEqual(listed.uuid, "03020100-0504-0706-0809-0a0b0c0d0e0f")
        self.assertEqual(len(named(events, "dhcp.discovered")), 1)

    def test_why_a_machine_gets_no_answer_is_told_once_a_minute(self) -> None:
        with capturedLogs() as events:
            for _ in range(3):
                self.deliver(packet(asked(1, 25)))
            self.clock.advance(60)
            self.deliver(packet(asked(1, 25)))
        told = named(events, "dhcp.refused")
        self.assertEqual([each["code"] for each in told], ["no-loader", "no-loader"])
        self.assertIn("architecture 25", str(told[0]["reason"]))

    def test_what_is_usual_is_not_told(self) -> None:
        """A machine that takes its address; standby."""
        with capturedLogs() as events:
            self.deliver(packet(asked(3, 7, None, (54, bytes((10, 0, 0, 2))))))
            self.deliver(packet(asked(8)))
            self.lease.open = False
            self.deliver(packet(asked()))
        self.assertEqual([each for each in events if "event" in each], [])

    def test_strangers_fill_neither_log_nor_list(self) -> None:
        """Noise is counted; machines that are made up are listed and told of in bounds."""
        for datagram in (b"", b"\0" * 300, packet(b"\xff"), packet(asked(), operation=2)):
            self.assertEqual(self.deliver(datagram), [])
        self.assertEqual(self.proxy.noise, 4)
        with capturedLogs() as events:
            for number in range(KINDS + 50):
                self.deliver(packet(asked(), mac=MAC(f"02{number:010x}")))
            self.deliver(packet(asked(1, 25)))
        self.assertEqual(len(named(events, "dhcp.discovered")), KINDS)
        self.assertEqual(len(self.discovered), 256)
        [refused] = named(events, "dhcp.refused")  # strangers keep nothing of ours quiet
        self.assertEqual(refused["mac"], MACHINE)


class OverhearingTests(ProxyCase):
    RIVAL = bytearray(
        packet(
            encode_options([(53, b"\2"), (54, bytes((10, 0, 0, 9))), (60, b"PXEClient")]) + b"\xff",
            operation=2,
        )
    )

    def test_other_servers_are_told_of_once(self) -> None:
        with capturedLogs() as events:
            for _ in range(3):
                self.deliver(bytes(self.RIVAL), ("10.0.0.9", 67), port=68)
        [told] = named(events, "dhcp.foreign")
        self.assertEqual((told["server"], told["code"]), ("10.0.0.9", "another-proxy"))
        self.assertEqual(told["log_level"], LogLevel.warn)
        self.assertEqual(len(self.proxy.foreign.findings), 1)

    def test_on_standby_the_other_is_the_one_that_should(self) -> None:
        """Two agents of one site are no rivals."""
        self.lease.open = False
        self.deliver(bytes(self.RIVAL), ("10.0.0.9", 67), port=68)
        self.assertEqual(self.proxy.foreign.findings, ())

    def test_noise_is_counted(self) -> None:
        self.deliver(b"x", ("10.0.0.9", 67), port=68)
        self.assertEqual(self.proxy.noise, 1)

    def test_hears_what_is_said_to_everybody_and_not_itself(self) -> None:
        """What this host's own DHCP client waits for stays its own."""
        [ear] = [each for each in self.udp.listening if each.port == 68]
        self.assertEqual(ear.host, "255.255.255.255")
        self.assertTrue(ear.way.shared)
        self.assertEqual(ear.way.deaf_to, "10.0.0.1")
