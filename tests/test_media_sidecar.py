"""Tests for ``rescriptum.media.sidecar``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.media.sidecar import Sidecar, parse, render

DIGEST = "ab" * 32
FEW = settings(max_examples=200, deadline=None)


class ParseTests(SynchronousTestCase):
    def test_every_key(self) -> None:
        """All that a sidecar can say; comments, unknown keys and empty values are passed over."""
        text = f"""# from the vendor
            sha256 = {DIGEST.upper()}
            bytes = 42
            modified = 1700000000123456789
            family = Ubuntu
            version = 24.04 "Noble"
            arch = amd64
            kernel = casper/hwe-vmlinuz
            initrd = casper/hwe-initrd
            arguments = root=/dev/ram0 console=ttyS0
            colour = green
            source =
        """
        self.assertEqual(
            parse(text),
            Sidecar(
                DIGEST,
                42,
                1700000000123456789,
                "ubuntu",
                '24.04 "Noble"',
                "x86_64",
                "casper/hwe-vmlinuz",
                "casper/hwe-initrd",
                ("root=/dev/ram0", "console=ttyS0"),
            ),
        )

    def test_nothing(self) -> None:
        """An empty one says nothing, and neither does one that is no text of ours."""
        self.assertEqual(parse(""), Sidecar())
        self.assertEqual(parse("\0\x01\ufffd\nno equals sign\n= value\n"), Sidecar())

    def test_values_that_mean_nothing(self) -> None:
        """Each is a problem, and the rest of the sidecar still counts."""
        sidecar = parse("sha256 = 123\narch = vax\narguments = ok ;\nversion = 1\nbytes = +1\n")
        self.assertEqual(len(sidecar.problems), 3)
        self.assertEqual(
            (sidecar.digest, sidecar.architecture, sidecar.arguments), (None, None, ())
        )
        self.assertEqual((sidecar.version, sidecar.size), ("1", None))

    def test_the_first_of_two_counts(self) -> None:
        """A key that stands twice."""
        self.assertEqual(parse("version = 1\nversion = 2\n").version, "1")

    def test_whose_digest_it_is(self) -> None:
        """A digest is of the file of that size and time only; a bare one vouches for nothing."""
        recorded = parse(f"sha256 = {DIGEST}\nbytes = 5\nmodified = 7\n")
        self.assertTrue(recorded.vouches_for(5, 7))
        self.assertFalse(recorded.vouches_for(5, 8))
        self.assertFalse(recorded.vouches_for(6, 7))
        self.assertFalse(parse(f"sha256 = {DIGEST}\n").vouches_for(5, 7))
        self.assertFalse(parse("bytes = 5\nmodified = 7\n").vouches_for(5, 7))

    @FEW
    @given(st.text(), st.binary())
    def test_any_text(self, text: str, raw: bytes) -> None:
        """Whatever it holds, it parses."""
        parse(text)
        parse(raw.decode("utf-8", "replace"))


class RenderTests(SynchronousTestCase):
    def test_a_new_one(self) -> None:
        """Nothing but what is recorded."""
        self.assertEqual(render("", {"sha256": "x", "bytes": "1"}), "sha256 = x\nbytes = 1\n")

    def test_what_is_there_stays(self) -> None:
        """Comments, order, unknown keys and the operator's own spelling survive."""
        text = "# mine\n\nVersion=9\nSHA256 = old\ncolour = green\nsha256 = older\nlast"
        self.assertEqual(
            render(text, {"sha256": "new", "bytes": "1"}),
            "# mine\n\nVersion=9\nsha256 = new\ncolour = green\nlast\nbytes = 1\n",
        )

    @FEW
    @given(
        st.text(),
        st.dictionaries(
            st.sampled_from(["sha256", "version", "bytes"]),
            st.from_regex(r"[0-9]{1,9}", fullmatch=True),
        ),
    )
    def test_what_was_recorded_is_read_back(self, text: str, changes: dict[str, str]) -> None:
        """After any text, and however often it is recorded."""
        once = render(text, changes)
        again = render(once, changes)
        self.assertEqual(once, again)
        if "version" in changes:
            self.assertEqual(parse(once).version, changes["version"])
        if "bytes" in changes:
            self.assertEqual(parse(once).size, int(changes["bytes"]))
