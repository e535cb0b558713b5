"""Tests for ``rescriptum.boot.discovery``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.discovery import (
    FAKE_UUIDS,
    KEPT,
    MOST,
    PACE,
    DiscoveredMachine,
    Discoveries,
    canonical_uuid,
    uuid_text,
)
from rescriptum.values import MAC

UUID = "4c4c4544-0042-3610-8058-b4c04f4e3232"


def mac(number: int) -> MAC:
    return MAC(f"{number:012x}")


class UUIDTests(SynchronousTestCase):
    def test_only_canonical_ones_are_taken(self) -> None:
        self.assertEqual(canonical_uuid(UUID.upper()), UUID)
        for text in ("", UUID[:-1], UUID.replace("-", ""), "{" + UUID + "}", UUID + "\n"):
            self.assertEqual(canonical_uuid(text), "", text)

    def test_fake_ones_are_nobodys(self) -> None:
        """W079: boards that nobody gave a number."""
        for text in FAKE_UUIDS:
            self.assertEqual(canonical_uuid(text), "")

    def test_option_97_has_them_in_the_order_of_smbios(self) -> None:
        """W078: what EDK2 and iPXE sent in QEMU, for ``-uuid`` with that text."""
        octets = bytes.fromhex("44454c4c4200103680 58b4c04f4e3232")
        self.assertEqual(uuid_text(octets), UUID)


class DiscoveriesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.list = Discoveries(by_dhcp=True)

    def test_one_machine_is_one(self) -> None:
        """However often it asks (B04); what one way did not say, another has said."""
        self.assertTrue(self.list.asked(mac(1), "", "bios", 100))
        for now in (104, 112, 128):
            self.assertFalse(self.list.asked(mac(1), UUID, "", now))
        self.assertFalse(self.list.fetched(mac(1), "", "x86_64-pcbios", "192.0.2.7", 130))
        self.assertFalse(self.list.asked(mac(1), "", "", 140))
        [machine] = self.list.machines(140)
        expected = DiscoveredMachine(mac(1), UUID, "x86_64-pcbios", "192.0.2.7", 140)
        self.assertEqual(machine, expected)

    def test_what_is_no_name_of_an_architecture_is_left_out(self) -> None:
        for text in ("", "X86", "a" * 33, "a b", "bios\n"):
            self.list.asked(mac(1), "", text, 0)
            self.assertEqual([each.architecture for each in self.list.machines(0)], [""])
        self.list.asked(mac(1), "", "a" * 32, 0)
        self.assertEqual([each.architecture for each in self.list.machines(0)], ["a" * 32])

    def test_is_bounded(self) -> None:
        """The one that was seen longest ago goes."""
        for number in range(MOST):
            self.list.asked(mac(number), "", "", number)
        self.list.asked(mac(0), "", "", MOST)
        self.assertEqual(len(self.list), MOST)
        self.assertTrue(self.list.asked(mac(MOST), "", "", MOST))
        known = [each.mac for each in self.list.machines(MOST)]
        self.assertEqual(known, [mac(0), *(mac(number) for number in range(2, MOST + 1))])

    def test_silent_ones_are_forgotten(self) -> None:
        """After a day; one that comes back is a new one."""
        self.list.asked(mac(1), UUID, "", 0)
        self.assertEqual(len(list(self.list.machines(KEPT - 1))), 1)
        self.assertTrue(self.list.asked(mac(1), "", "", KEPT))
        self.assertEqual([each.uuid for each in self.list.machines(KEPT)], [""])
        self.assertEqual(list(self.list.machines(2 * KEPT)), [])

    def test_a_fetch_counts_for_those_that_dhcp_has_shown(self) -> None:
        """Anybody can fetch in anybody's name; where DHCP is not heard, that is all there is."""
        self.assertFalse(self.list.fetched(mac(1), "", "", "192.0.2.7", 0))
        self.assertEqual(len(self.list), 0)
        without = Discoveries(by_dhcp=False)
        self.assertTrue(without.fetched(mac(1), "", "", "192.0.2.7", 0))

    def test_one_with_an_entry_is_no_longer_listed(self) -> None:
        self.list.asked(mac(1), "", "", 0)
        self.list.drop(mac(1))
        self.list.drop(mac(2))
        self.assertEqual(len(self.list), 0)

    def test_new_ones_are_reported_once_in_a_while(self) -> None:
        """The first at once, the next ones together; known ones ask for nothing."""
        self.assertIsNone(self.list.report_in(0))
        self.list.asked(mac(1), "", "", 0)
        self.assertEqual(self.list.report_in(0), 0)
        self.list.reported(10)
        self.list.asked(mac(1), "", "", 1)
        self.assertIsNone(self.list.report_in(11))
        self.list.asked(mac(2), "", "", 1)
        self.list.asked(mac(3), "", "", 1)
        self.assertEqual(self.list.report_in(11), PACE - 1)
        self.assertEqual(self.list.report_in(10 + PACE), 0)

    def test_is_the_same_after_it_was_kept(self) -> None:
        """What it says of the future was written by another clock."""
        kept = [DiscoveredMachine(mac(n), seen=n) for n in (5, 3)]
        self.list.restore([*kept, DiscoveredMachine(mac(9), seen=900)], 10)
        self.assertEqual([each.seen for each in self.list.machines(10)], [3, 5, 10])
        self.assertIsNone(self.list.report_in(0))
