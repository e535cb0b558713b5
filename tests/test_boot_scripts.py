"""Tests for ``rescriptum.boot.scripts``."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.scripts import (
    MENU_COLUMNS,
    Choice,
    Initrd,
    Stanza,
    Unclaimed,
    autoexec,
    bootstrap,
    menu,
    prose,
    pxelinux_config,
    script,
    site_autoexec,
    site_script,
    stanza_script,
    word,
)
from rescriptum.errors import Malformed

MEDIA = "http://192.0.2.10:8001"
ANSWERS = "http://192.0.2.10:8000"
DEBIAN = Stanza(
    f"{MEDIA}/debian-12/kernel",
    ("initrd=initrd", "auto=true", "url=http://192.0.2.10:8000/debian/${netX/mac}/preseed.cfg"),
    (Initrd(f"{MEDIA}/debian-12/initrd", name="initrd"),),
    ("Debian 12",),
)


def labels(text: str) -> list[str]:
    return re.findall(r"^:(\S+)$", text, re.M)


class EscapingTests(SynchronousTestCase):
    def test_refuses_what_is_not_one_word(self) -> None:
        """Blanks, line ends, separators, control characters and non-ASCII cannot be a word."""
        for text in ("", "a b", "a\nb", "||", "&&", ";", "a\x00", "café", "a\tb"):
            with self.assertRaises(Malformed):
                word(text)

    def test_lets_a_semicolon_inside_a_word_be(self) -> None:
        """iPXE ends a command at a standalone ``;`` only."""
        self.assertEqual(word("ds=nocloud;s=http://a/"), "ds=nocloud;s=http://a/")

    @settings(max_examples=200, deadline=None)
    @given(st.text())
    def test_shows_any_text_harmlessly(self, text: str) -> None:
        """Whatever a vendor wrote, it is one line, expands nothing and ends no command."""
        shown = prose(text, MENU_COLUMNS)
        self.assertTrue(shown.isascii() and (shown.isprintable() or not shown))
        self.assertLessEqual(len(shown), MENU_COLUMNS)
        self.assertNotIn("${", shown)
        self.assertFalse({"||", "&&", ";"} & set(shown.split(" ")))


class StanzaTests(SynchronousTestCase):
    def test_renders_an_answer_document(self) -> None:
        """Kernel, initrds and boot, in the order iPXE needs them."""
        self.assertEqual(
            stanza_script(DEBIAN),
            "#!ipxe\n"
            "# Debian 12\n"
            "imgfree ||\n"
            "kernel http://192.0.2.10:8001/debian-12/kernel initrd=initrd auto=true "
            "url=http://192.0.2.10:8000/debian/${netX/mac}/preseed.cfg\n"
            "initrd --name initrd http://192.0.2.10:8001/debian-12/initrd\n"
            "boot\n",
        )

    def test_names_a_cpio_member_after_the_url(self) -> None:
        """Only text after the URL wraps the file in an archive; ``--name`` does not."""
        self.assertEqual(
            Initrd(f"{MEDIA}/pve/pve.iso", member="proxmox.iso").line(),
            f"initrd {MEDIA}/pve/pve.iso proxmox.iso",
        )

    def test_refuses_an_argument_that_would_be_two(self) -> None:
        with self.assertRaises(Malformed):
            stanza_script(Stanza(f"{MEDIA}/x/kernel", ("console=ttyS0 quiet",)))


class BootstrapTests(SynchronousTestCase):
    def test_identifies_the_interface_that_booted(self) -> None:
        """S48: ``netX``, never ``net0``."""
        for text in (bootstrap(MEDIA, ANSWERS, Unclaimed.MENU), autoexec(MEDIA, 8001)):
            self.assertIn("${netX/mac}", text)
            self.assertNotIn("net0", text)

    def test_encodes_every_string_of_the_firmware(self) -> None:
        """W172: a manufacturer with a blank in it must not end the URL."""
        text = bootstrap(MEDIA, ANSWERS, Unclaimed.MENU)
        for name in ("serial", "asset", "manufacturer", "product"):
            self.assertIn(f"{name}=${{{name}:uristring}}", text)

    def test_falls_through_to_the_menu(self) -> None:
        """A machine that nothing claims gets a 404, and then the menu."""
        last = bootstrap(MEDIA, ANSWERS, Unclaimed.MENU).splitlines()[-1]
        self.assertEqual(
            last,
            f"chain {ANSWERS}/ipxe/boot?${{machine}} || chain {MEDIA}/ipxe/menu?${{machine}}",
        )

    def test_falls_through_to_the_local_disk(self) -> None:
        """With ``local``, an unclaimed machine never sees a menu."""
        text = bootstrap(MEDIA, ANSWERS, Unclaimed.LOCAL)
        self.assertTrue(text.endswith(f"{ANSWERS}/ipxe/boot?${{machine}} || exit\n"))
        self.assertNotIn("menu", text)


class AutoexecTests(SynchronousTestCase):
    def test_asks_the_server_that_handed_it_over_first(self) -> None:
        """``next-server`` is known to be reachable; the configured address is the second try."""
        text = autoexec(MEDIA, 8001)
        self.assertLess(text.index("${next-server}:8001"), text.index("192.0.2.10"))

    def test_does_not_chain_into_nowhere(self) -> None:
        """W173: an empty ``next-server`` would make a relative URL."""
        self.assertIn("isset ${next-server} && chain", autoexec(MEDIA, 8001))

    def test_of_a_site(self) -> None:
        """
        W142: one place to go to, as the site is configured; without a URL it is whoever handed
        the script over. A stock build may have no address yet.
        """
        url = "http://192.0.2.10:8080"
        lines = site_autoexec(url, 8080).splitlines()
        self.assertEqual(lines[0], "#!ipxe")
        self.assertEqual(lines[2], "isset ${netX/ip} || dhcp || goto unreachable")
        self.assertEqual(lines[3], f"chain {site_script(url)} && exit 1 ||")
        self.assertNotIn("next-server", "".join(lines))
        lines = site_autoexec("", 8080).splitlines()
        where = site_script("http://${next-server}:8080")
        self.assertEqual(lines[3], f"isset ${{next-server}} && chain {where} && exit 1 ||")

    def test_is_a_kernels_initrd_for_pxelinux(self) -> None:
        """The chain for machines whose DHCP names one loader only."""
        self.assertIn(" KERNEL ipxe.lkrn\n INITRD script.ipxe\n", pxelinux_config())


class MenuTests(SynchronousTestCase):
    def rendered(self, *choices: Choice, logo: str | None = None) -> str:
        return menu(choices, MEDIA, "rescriptum", 15, logo)

    def test_boots_the_local_disk_when_nobody_chooses(self) -> None:
        """The timeout is in milliseconds, and every way out of it is the local disk."""
        text = self.rendered()
        self.assertIn("choose --timeout 15000 --default local chosen || goto local\n", text)
        self.assertIn("\n:local\n", text)

    def test_every_goto_has_its_label_once(self) -> None:
        """Labels are unique, even where an image is called like one of the menu's own."""
        names = ("local", "shell", "again", "debian-12")
        text = self.rendered(*(Choice(each, each, None, DEBIAN) for each in names))
        found = labels(text)
        self.assertEqual(len(found), len(set(found)))
        targets = set(re.findall(r"goto ([a-z][^\s$]*)", text))
        self.assertEqual(targets - set(found), set())
        for item in re.findall(r"^item (?!--)(\S+)", text, re.M):
            self.assertIn(item, found)

    def test_offers_an_image_to_its_architecture_only(self) -> None:
        text = self.rendered(Choice("a64", "Debian", "arm64", DEBIAN))
        self.assertIn("iseq ${arch} arm64 && item image-a64 Debian ||\n", text)

    def test_offers_64_bit_images_to_a_bios_build(self) -> None:
        """A BIOS iPXE calls itself i386; the processor says whether it can do more."""
        self.assertIn("cpuid --ext 29 && set arch x86_64 ||", self.rendered())

    def test_offers_an_unknown_image_as_a_disc(self) -> None:
        text = self.rendered(Choice("tool", "Some tool", None, None))
        self.assertIn(f"sanboot {MEDIA}/tool/iso || goto again\n", text)

    def test_a_console_without_a_screen_goes_on(self) -> None:
        text = self.rendered(logo=f"{MEDIA}/boot/logo.png")
        self.assertIn(f"console --picture {MEDIA}/boot/logo.png --keep ||\n", text)

    def test_no_image_can_break_out(self) -> None:
        """A hostile title is a title."""
        text = self.rendered(Choice("x", "a ${shell} || shell\nreboot", None, None))
        self.assertIn("item image-x a $ {shell} shell reboot\n", text)

    def test_every_line_is_ascii_and_the_mark_comes_first(self) -> None:
        """W170: anything before ``#!ipxe`` is an "Exec format error"."""
        text = self.rendered(Choice("x", "Ubuntu “Noble”", "x86_64", DEBIAN))
        self.assertTrue(text.startswith("#!ipxe\n") and text.isascii())

    def test_makes_every_line_a_command(self) -> None:
        """S41: every initrd of a stanza is loaded before it boots, and a failure comes back."""
        text = self.rendered(Choice("d", "Debian", None, DEBIAN))
        section = text[text.index("\n:image-d\n") :].splitlines()[1:]
        self.assertEqual(section[0], ":image-d")
        self.assertTrue(all(each.endswith("|| goto failed") for each in section[2:5]))


class ScriptTests(SynchronousTestCase):
    def test_ends_every_line(self) -> None:
        self.assertEqual(script(["boot"]), "#!ipxe\nboot\n")
