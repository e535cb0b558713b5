"""Tests for ``rescriptum.boot.fetches``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.fetches import MAX_FETCHES, Fetch, fetches
from rescriptum.boot.scripts import Choice, Initrd, Stanza, menu, stanza_script
from rescriptum.values import MAC

MACHINE = MAC.parse("52:54:00:12:34:56")


class FetchesTests(SynchronousTestCase):
    def test_a_stanza(self) -> None:
        """Kernel, initrds, and the answer that the kernel's arguments name, filled in."""
        script = stanza_script(
            Stanza(
                "http://a/id/kernel",
                ("initrd=initrd", "url=http://b/preseed?mac=${netX/mac}", "quiet"),
                (Initrd("http://a/id/initrd", name="initrd"), Initrd("http://a/more", member="x")),
            )
        )
        self.assertEqual(
            fetches(script, "192.0.2.1", MACHINE),
            (
                Fetch("kernel", "http://a/id/kernel", False),
                Fetch("answer", "http://b/preseed?mac=52:54:00:12:34:56", False),
                Fetch("initrd", "http://a/id/initrd", False),
                Fetch("initrd", "http://a/more", False),
            ),
        )

    def test_settings(self) -> None:
        """What only the machine knows is left open; what is known is filled in."""
        script = (
            "kernel http://${next-server}/k ds=nocloud;s=http://b/${netX/mac:hexhyp}/ more\n"
            "initrd http://b/${uuid}\n"
        )
        self.assertEqual(
            fetches(script, "192.0.2.1", MACHINE),
            (
                Fetch("kernel", "http://192.0.2.1/k", False),
                Fetch("answer", "http://b/52-54-00-12-34-56/", False),
                Fetch("initrd", "http://b/${uuid}", True),
            ),
        )
        [_, answer, _] = fetches(script, "192.0.2.1", None)
        self.assertTrue(answer.open)

    def test_the_menu(self) -> None:
        """Every image's kernel and initrd, with the conditions around them."""
        choice = Choice("id", "Title", None, Stanza("http://a/k", (), (Initrd("http://a/i"),)))
        script = menu([choice], "http://a", "title", 15, None)
        self.assertEqual(
            [(each.kind, each.url) for each in fetches(script, "192.0.2.1", None)],
            [("kernel", "http://a/k"), ("initrd", "http://a/i")],
        )

    def test_what_is_no_url(self) -> None:
        """Relative paths, file names and bare commands are passed over."""
        script = (
            "kernel\ninitrd\nkernel vmlinuz root=/dev/sda\nkernel --name x\ninitrd tftp://a/b\n"
        )
        self.assertEqual(fetches(script, "192.0.2.1", None), ())

    def test_is_bounded(self) -> None:
        """A script of a hundred thousand kernels is asked about for so many."""
        script = "".join(f"kernel http://a/{at}\n" for at in range(100_000))
        self.assertEqual(len(fetches(script, "192.0.2.1", None)), MAX_FETCHES)

    @settings(max_examples=200, deadline=None)
    @given(st.text(st.sampled_from("kernel initrd http://${}|&;\n--name")))
    def test_any_text(self, script: str) -> None:
        """Whatever the script is, only URLs come out."""
        for each in fetches(script, "192.0.2.1", MACHINE):
            self.assertTrue(each.url.startswith(("http://", "https://")))
