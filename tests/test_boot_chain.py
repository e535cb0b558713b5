"""Tests for ``rescriptum.boot.chain``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot import chain
from rescriptum.boot.chain import Finding, Link, Verdict, Wanted
from rescriptum.boot.loaders import ONE_LOADER, SERVED, X64_LOADER

DIGEST = "0" * 64
LOADER = Wanted(X64_LOADER, "UEFI x64")


class VerdictTests(SynchronousTestCase):
    def test_what_fails(self) -> None:
        """The exit code is 1 for everything but what is well and what is only worth knowing."""
        self.assertEqual(
            {each for each in Verdict if each.fails},
            {Verdict.WARNING, Verdict.MISSING, Verdict.BROKEN},
        )
        well = Finding(Link.TFTP, Verdict.OK, "x", "y")
        self.assertFalse(chain.fails([well]))
        self.assertFalse(chain.fails([]))
        self.assertTrue(chain.fails([well, Finding(Link.TFTP, Verdict.BROKEN, "x", "y")]))


class WantedTests(SynchronousTestCase):
    def test_every_loader_of_the_table(self) -> None:
        """Each once, required, with the machines that ask for it; pxelinux's parts are not."""
        required = {each.name: each for each in chain.wanted() if each.required}
        self.assertEqual(set(required), {row.loader for row in SERVED})
        for row in SERVED:
            assert row.loader is not None
            self.assertIn(row.client, required[row.loader].clients)
        self.assertIn(ONE_LOADER, [each.name for each in chain.wanted() if not each.required])


class DigestsTests(SynchronousTestCase):
    def test_the_lines_of_sha256sum(self) -> None:
        """Text and binary marks, and a leading ``./``; other lines are passed over."""
        text = f"{DIGEST}  a.efi\n{DIGEST} *b.efi\n{DIGEST}  ./c d\n# no\n{DIGEST}\nshort  d\n"
        self.assertEqual(chain.digests(text), {"a.efi": DIGEST, "b.efi": DIGEST, "c d": DIGEST})

    def test_is_bounded(self) -> None:
        """A list that is no list is read to its bound only."""
        line = f"{DIGEST}  x%d\n"
        found = chain.digests("".join(line % at for at in range(5000)))
        self.assertLess(len(found), 1000)

    @settings(max_examples=200, deadline=None)
    @given(st.text())
    def test_any_text(self, text: str) -> None:
        """Whatever the file holds, digests are digests and names have no slash."""
        for name, digest in chain.digests(text).items():
            self.assertEqual(len(digest), 64)
            self.assertNotIn("/", name)


class OnDiskTests(SynchronousTestCase):
    def test_a_required_loader_that_is_missing(self) -> None:
        """It fails, names the machines, what they would see, and the command that mends it."""
        found = chain.on_disk(LOADER, None, None, None)
        self.assertEqual(found.verdict, Verdict.MISSING)
        self.assertIn("UEFI x64", found.text)
        self.assertIn("boot loaders install", found.text)
        self.assertIn("PXE-T01", found.seen)

    def test_a_file_that_only_some_need(self) -> None:
        """It is worth a note."""
        found = chain.on_disk(Wanted(ONE_LOADER, "BIOS", required=False), None, None, None)
        self.assertEqual(found.verdict, Verdict.NOTE)

    def test_digests(self) -> None:
        """Without a list nothing is promised; with one the bytes must be the promised ones."""
        self.assertEqual(chain.on_disk(LOADER, 5, None, None).verdict, Verdict.OK)
        self.assertEqual(chain.on_disk(LOADER, 5, DIGEST, DIGEST).verdict, Verdict.OK)
        other = chain.on_disk(LOADER, 5, "1" * 64, DIGEST)
        self.assertEqual(other.verdict, Verdict.BROKEN)
        self.assertIn("SHA256SUMS", other.text)


class SettingsTests(SynchronousTestCase):
    def verdicts(self, *found: Finding) -> dict[str, Verdict]:
        return {each.subject: each.verdict for each in found}

    def test_the_ordinary_configuration(self) -> None:
        """There is nothing to say of it."""
        self.assertEqual(chain.settings(8001, 69, (), True), ())

    def test_a_moved_media_listener_fails(self) -> None:
        """Loaders with a script inside ask on 8001 alone."""
        found = self.verdicts(*chain.settings(8080, 69, (), True))
        self.assertEqual(found, {"media port": Verdict.WARNING})

    def test_notes(self) -> None:
        """TFTP off or moved, a doubtful host and no picture are worth knowing."""
        for case in (
            chain.settings(8001, None, (), True),
            chain.settings(8001, 6969, (), True),
            chain.settings(8001, 69, ("guessed",), True),
            chain.settings(8001, 69, (), False),
        ):
            [found] = case
            self.assertEqual(found.verdict, Verdict.NOTE)


class OutputTests(SynchronousTestCase):
    FINDINGS = (
        Finding(Link.LOADER, Verdict.OK, "a.efi", "5 bytes"),
        Finding(Link.TFTP, Verdict.BROKEN, "TFTP", "nothing answers", "PXE-E32"),
    )

    def test_text(self) -> None:
        """A line each, and what would be seen below it."""
        self.assertEqual(
            chain.as_text(self.FINDINGS),
            "loaders on the disk\n"
            "  ok      a.efi: 5 bytes\n"
            "over TFTP\n"
            "  BROKEN  TFTP: nothing answers\n"
            "          the machine shows: PXE-E32\n",
        )

    def test_json(self) -> None:
        """The verdict over all, and every finding with its link."""
        document = chain.as_json(self.FINDINGS)
        self.assertEqual(document["boots"], False)
        self.assertEqual(
            document["findings"],
            [
                {
                    "link": "loader",
                    "verdict": "ok",
                    "subject": "a.efi",
                    "text": "5 bytes",
                    "seen": None,
                },
                {
                    "link": "tftp",
                    "verdict": "broken",
                    "subject": "TFTP",
                    "text": "nothing answers",
                    "seen": "PXE-E32",
                },
            ],
        )
