"""Tests for ``rescriptum.roles.scripts``."""

from pathlib import Path

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.config import TLS, Config, read
from rescriptum.media.catalogue import Catalogue, Medium
from rescriptum.roles import scripts
from rescriptum.values import Content, Extent, Generated


def configured(**environ: str) -> Config:
    return read({"RESCRIPTUM_PUBLIC_HOST": "192.0.2.10", **environ}).config()


def content(name: str) -> Content:
    return Content(Path(name), (Extent(0, 10),), (1, 2, 10, 4))


def debian(name: str) -> Medium:
    return Medium(
        name,
        "debian",
        version="Debian 12",
        architecture="x86_64",
        kernel=content("linux"),
        initrd=content("initrd.gz"),
    )


class AddressTests(SynchronousTestCase):
    def test_an_ipv6_host_has_brackets(self) -> None:
        """W089."""
        config = configured(RESCRIPTUM_PUBLIC_HOST="2001:db8::1")
        self.assertEqual(scripts.media_url(config), "http://[2001:db8::1]:8001")

    def test_tls_is_in_the_name(self) -> None:
        config = evolve(configured(), tls=TLS(Path("cert"), Path("key")))
        self.assertEqual(scripts.answers_url(config), "https://192.0.2.10:8000")
        chain = scripts.generated(config)["autoexec.ipxe"]
        self.assertNotIn(b"http://", chain.data)

    def test_scripts_know_a_moved_port(self) -> None:
        config = configured(RESCRIPTUM_MEDIA_ADDR="0.0.0.0:9001", RESCRIPTUM_BOOT_DIR="/")
        chain = scripts.generated(config)["autoexec.ipxe"]
        self.assertIn(b"http://${next-server}:9001/ipxe/bootstrap", chain.data)


class GeneratedTests(SynchronousTestCase):
    def test_the_logo_is_served_where_one_is_named(self) -> None:
        logo = Path(self.mktemp())
        logo.write_bytes(b"\x89PNG")
        config = configured(RESCRIPTUM_BOOT_LOGO=str(logo))
        self.assertEqual(scripts.generated(config)["logo.png"], Generated(b"\x89PNG", "image/png"))
        self.assertNotIn("logo.png", scripts.generated(configured()))


class ChoicesTests(SynchronousTestCase):
    def test_offers_what_boots_and_discs_and_nothing_else(self) -> None:
        """A tree without a kernel is nothing that a machine could start."""
        disc = Medium("tool", "unknown", image=content("tool.iso"))
        broken = Medium("tree", "ramdisk")
        offered = scripts.choices(configured(), Catalogue((debian("d"), disc, broken)))
        self.assertEqual(
            [(each.name, each.stanza is None) for each in offered], [("d", False), ("tool", True)]
        )

    def test_the_menu_asks_whoever_stands_there(self) -> None:
        """Nobody is installed unattended because somebody touched a key."""
        [choice] = scripts.choices(configured(), Catalogue((debian("d"),)))
        assert choice.stanza is not None
        self.assertNotIn("auto=true", choice.stanza.arguments)

    def test_equal_titles_are_told_apart(self) -> None:
        offered = scripts.choices(configured(), Catalogue((debian("a"), debian("b"))))
        self.assertEqual([each.title for each in offered], ["a", "b"])
