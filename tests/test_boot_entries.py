"""Tests for ``rescriptum.boot.entries``."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.entries import BootEntries, BootEntry, BootKind
from rescriptum.errors import Malformed
from rescriptum.values import MAC

ONE, TWO = MAC.parse("52:54:00:12:34:56"), MAC.parse("52:54:00:12:34:57")
RAMDISK = BootEntry(ONE, BootKind.RAMDISK, "w1", "join-w1", epoch=7, not_after=1000)

_text = st.text(max_size=20)
_plain = st.dictionaries(
    st.sampled_from(["mac", "kind", "workflow", "sanboot_sha256", "epoch", "not_after", "x"]),
    st.one_of(_text, st.integers(), st.none(), st.sampled_from([str(ONE), "local", "sanboot"])),
)


class BootEntryTests(SynchronousTestCase):
    def test_lives_under_its_own_lease_alone(self) -> None:
        """One that was left behind by an earlier lease stays dead; epoch 0 is bound to none."""
        self.assertTrue(RAMDISK.live(7, 0))
        for epoch in (0, 6, 8, 9):
            self.assertFalse(RAMDISK.live(epoch, 0), epoch)
        self.assertTrue(evolve(RAMDISK, epoch=0).live(9, 0))

    def test_lapses(self) -> None:
        """At ``not_after`` it is no entry any more; without one it does not lapse."""
        self.assertTrue(RAMDISK.live(7, 999.9))
        self.assertFalse(RAMDISK.live(7, 1000))
        self.assertTrue(evolve(RAMDISK, not_after=0).live(7, 1e12))

    def test_digests_are_those_of_sanboot(self) -> None:
        """Thirty-two bytes in hex there, and nothing anywhere else."""
        BootEntry(ONE, BootKind.SANBOOT, sanboot_sha256="ab" * 32)
        for kind, digest in (
            (BootKind.SANBOOT, ""),
            (BootKind.SANBOOT, "AB" * 32),
            (BootKind.SANBOOT, "ab" * 31),
            (BootKind.LOCAL, "ab" * 32),
        ):
            with self.assertRaises(Malformed):
                BootEntry(ONE, kind, sanboot_sha256=digest)

    def test_nothing_is_below_naught(self) -> None:
        for epoch, not_after in ((-1, 0), (0, -1)):
            with self.assertRaises(Malformed):
                BootEntry(ONE, BootKind.LOCAL, epoch=epoch, not_after=not_after)

    def test_its_text_tells_no_secret(self) -> None:
        entry = evolve(RAMDISK, cmdline="password=x")
        self.assertNotIn("join-w1", repr(entry))
        self.assertNotIn("password", repr(entry))

    def test_is_the_same_after_it_was_kept(self) -> None:
        entry = evolve(RAMDISK, uuid="u", cmdline="console=ttyS0")
        self.assertEqual(BootEntry.from_plain(entry.plain()), entry)

    @given(_plain)
    def test_reads_only_entries(self, plain: dict[str, object]) -> None:
        """Whatever a damaged file holds, it is an entry or is malformed."""
        try:
            entry = BootEntry.from_plain(plain)
        except Malformed:
            return
        self.assertEqual(BootEntry.from_plain(entry.plain()), entry)


class BootEntriesTests(SynchronousTestCase):
    def test_has_one_entry_a_machine(self) -> None:
        """The later one."""
        entries = BootEntries([RAMDISK])
        local = BootEntry(ONE, BootKind.LOCAL)
        entries.put(local)
        self.assertEqual(list(entries), [local])
        self.assertEqual(entries.live(ONE, 7, 0), local)
        self.assertEqual((entries.remove(ONE), entries.remove(ONE)), (local, None))
        self.assertEqual(len(entries), 0)

    def test_finds_live_ones(self) -> None:
        entries = BootEntries([RAMDISK])
        self.assertEqual(entries.live(ONE, 7, 0), RAMDISK)
        self.assertIsNone(entries.live(ONE, 8, 0))
        self.assertIsNone(entries.live(ONE, 7, 1000))
        self.assertIsNone(entries.live(TWO, 7, 0))

    def test_prunes_what_never_comes_back(self) -> None:
        """Lapsed ones, and those of earlier leases; on standby, at epoch 0, only the former."""
        later = evolve(RAMDISK, mac=TWO, not_after=0)
        entries = BootEntries([later, RAMDISK])
        self.assertEqual(entries.prune(0, 999), ())
        self.assertEqual(entries.prune(0, 1000), (RAMDISK,))
        self.assertEqual(entries.prune(7, 1000), ())
        self.assertEqual(entries.prune(8, 1000), (later,))
        self.assertEqual(list(entries), [])
