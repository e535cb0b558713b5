"""Tests for ``rescriptum.boot.observed``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot import observed
from rescriptum.boot.chain import Finding, Link, Verdict
from rescriptum.boot.observed import Answer, Bind, Heard, Silent

URL = "http://192.0.2.1:8001/x"
SCRIPT = Heard(200, "text/plain", 20, b"#!ipxe\nchain http://x/ipxe/boot\n")
REFUSED = Silent("Connection refused")


class TFTPTests(SynchronousTestCase):
    def test_silence_tells_why(self) -> None:
        """A free port, a privileged one and one that something else holds read differently."""
        texts = [
            observed.tftp_silent("0.0.0.0:69", bind)
            for bind in (
                Bind(None),
                Bind("Permission denied", denied=True),
                Bind("Address already in use"),
            )
        ]
        for found, word in zip(texts, ("is rescriptum running", "setcap", "ss -ulpn"), strict=True):
            self.assertEqual(found.verdict, Verdict.BROKEN)
            self.assertIn("0.0.0.0:69", found.text)
            self.assertIn(word, found.text)
            self.assertTrue(found.seen)

    def test_a_foreign_server(self) -> None:
        """Whatever the difference is, it is said, and what to do."""
        found = observed.tftp_foreign("a.efi", "192.0.2.1:69", "it sends 3 bytes")
        self.assertEqual((found.link, found.verdict), (Link.TFTP, Verdict.BROKEN))
        self.assertIn("it sends 3 bytes", found.text)

    def test_handed_over(self) -> None:
        """The options that were granted are shown."""
        found = observed.tftp_same("a.efi", 5, {"blksize": "1468"})
        self.assertEqual(found.verdict, Verdict.OK)
        self.assertIn("blksize=1468", found.text)
        self.assertIn("no options", observed.tftp_same("a.efi", 5, {}).text)


class HTTPLoaderTests(SynchronousTestCase):
    def found(self, probe: Answer, answer: Answer) -> Finding:
        return observed.http_loader(URL, probe, answer, b"MZ", "application/efi")

    def test_well(self) -> None:
        heard = Heard(200, "application/efi", 2, b"MZ")
        self.assertEqual(self.found(Heard(200, "application/efi", 2), heard).verdict, Verdict.OK)

    def test_every_way_to_be_wrong(self) -> None:
        """Each is broken, and the text says which: see W150 to W152."""
        good = Heard(200, "application/efi", 2, b"MZ")
        for word, probe, answer in (
            ("refused", REFUSED, REFUSED),
            ("404", Heard(404, "text/plain", 0), good),
            ("500", good, Heard(500, "text/plain", 0)),
            ("another server", good, Heard(200, "application/efi", 3, b"MZ.")),
            ("HEAD says", Heard(200, "application/efi", 0), good),
            ("HEAD says", Heard(200, "application/efi", None), good),
            ("Content-Type", good, Heard(200, "application/efi; charset=utf-8", 2, b"MZ")),
        ):
            found = self.found(probe, answer)
            self.assertEqual((found.link, found.verdict), (Link.HTTP, Verdict.BROKEN))
            self.assertIn(word, found.text)
            self.assertTrue(found.seen)


class ScriptTests(SynchronousTestCase):
    def test_well(self) -> None:
        found = observed.script(URL, SCRIPT, "http://x/ipxe/boot")
        self.assertEqual(found.verdict, Verdict.OK)

    def test_every_way_to_be_wrong(self) -> None:
        """No answer, an error, no script, and a script to somewhere else."""
        for word, answer in (
            ("no answer", REFUSED),
            ("403", Heard(403, "text/plain", 0)),
            ("not a script", Heard(200, "text/html", 6, b"<html>")),
            ("does not lead", Heard(200, "text/plain", 7, b"#!ipxe\n")),
        ):
            found = observed.script(URL, answer, "http://x/ipxe/boot")
            self.assertEqual(found.verdict, Verdict.BROKEN)
            self.assertIn(word, found.text)


class ClaimTests(SynchronousTestCase):
    def test_claimed(self) -> None:
        found = observed.claim(URL, SCRIPT, "the menu", asked_for="52:54:00:00:00:01")
        self.assertEqual(found.verdict, Verdict.OK)
        self.assertIn("claimed", found.text)

    def test_unclaimed_is_well(self) -> None:
        """A 404 sends iPXE on; the text says to what."""
        missing = Heard(404, "text/plain", 0)
        found = observed.claim(URL, missing, "its own disk", asked_for="52:54:00:00:00:01")
        self.assertEqual(found.verdict, Verdict.OK)
        self.assertIn("its own disk", found.text)
        self.assertIn("no document", found.text)
        self.assertIn("no machine", observed.claim(URL, missing, "x", asked_for=None).text)

    def test_every_way_to_be_wrong(self) -> None:
        """An answer that cannot be filled is a 500: the machine sees the menu instead."""
        for word, answer in (
            ("no answer", REFUSED),
            ("500", Heard(500, "text/plain", 0)),
            ("not a script", Heard(200, "text/plain", 3, b"d-i")),
        ):
            found = observed.claim(URL, answer, "the menu", asked_for="52:54:00:00:00:01")
            self.assertEqual(found.verdict, Verdict.BROKEN)
            self.assertIn(word, found.text)


class PartTests(SynchronousTestCase):
    def test_kernels(self) -> None:
        """A length that is there and not zero; else the machine has nothing to start."""
        self.assertEqual(observed.part("kernel", URL, Heard(200, "x", 9)).verdict, Verdict.OK)
        for answer in (REFUSED, Heard(404, "x", 0), Heard(200, "x", None), Heard(200, "x", 0)):
            found = observed.part("initrd", URL, answer)
            self.assertEqual((found.link, found.verdict), (Link.KERNEL, Verdict.BROKEN))

    def test_documents(self) -> None:
        """The installer's answer has to be there; an unfillable one is a 500."""
        self.assertEqual(observed.document(URL, Heard(200, "x", 9, b"d-i")).verdict, Verdict.OK)
        for answer in (REFUSED, Heard(404, "x", 0), Heard(500, "x", 0)):
            self.assertEqual(observed.document(URL, answer).verdict, Verdict.BROKEN)

    def test_not_asked(self) -> None:
        """A chain that could not be asked is not known to work."""
        self.assertTrue(observed.not_asked(Link.TFTP, "192.0.2.1").verdict.fails)
