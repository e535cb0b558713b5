"""Tests for ``rescriptum.media.families``, ``probing`` and ``files``."""

from collections.abc import Mapping
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.scripts import Stanza, stanza_script
from rescriptum.errors import MalformedImage, NotFound, Unavailable
from rescriptum.media.catalogue import Candidate, Catalogue, Medium
from rescriptum.media.families.table import FAMILIES, UNKNOWN, recognise, stanza
from rescriptum.media.files import Files, file_type, first_line, image_type
from rescriptum.media.probing import Probe, Scan, Seen, assemble, probe
from rescriptum.media.sidecar import Sidecar
from rescriptum.values import Content, Extent

from . import isos
from .isos import Layout

MEDIA, ANSWERS = "http://192.0.2.1:8001", "http://192.0.2.1:8000"
GONE = Path("/nonexistent")


class MemoryFiles:
    """A layout as :class:`Files`, without its links."""

    def __init__(self, files: Mapping[str, bytes | str], label: str, whole: bool) -> None:
        self._files = {path.lower(): data for path, data in files.items()}
        self.label = label
        self.whole = whole

    def _data(self, path: str) -> bytes:
        data = self._files.get(path.lower())
        if not isinstance(data, bytes):
            raise NotFound(path)
        return data

    def find(self, path: str) -> Content:
        return Content(GONE / path, (Extent(0, len(self._data(path))),), (0, 0, 0, 0))

    def names(self, path: str) -> tuple[str, ...]:
        below = f"{path.lower()}/" if path else ""
        found = (each[len(below) :] for each in self._files if each.startswith(below))
        return tuple(dict.fromkeys(each.partition("/")[0] for each in found))

    def read(self, path: str, length: int) -> bytes:
        return self._data(path)[:length]


def image(layout: Layout) -> Files:
    return MemoryFiles(layout.files, layout.label, True)


def tree(files: Mapping[str, bytes | str]) -> Files:
    return MemoryFiles(files, "", False)


def verdict(files: Files) -> str:
    recognised = recognise(files)
    return recognised[0].name if recognised is not None else UNKNOWN


class DetectionTests(SynchronousTestCase):
    """families.md 3: which row takes which image."""

    KNOWN = (
        ("debian", isos.DEBIAN_NETINST),
        ("debian", isos.DEBIAN_ARM64),
        ("debian", isos.KALI),
        ("ubuntu", isos.UBUNTU_SERVER),
        ("ubuntu", isos.UBUNTU_2004),
        ("ubuntu", isos.UBUNTU_DESKTOP),
        ("rhel", isos.ROCKY_DVD),
        ("rhel", isos.ALMA_BOOT),
        ("rhel", isos.FEDORA_SERVER),
        ("proxmox", isos.PROXMOX),
    )

    def test_each_family(self) -> None:
        """Every row takes its own images."""
        for name, layout in self.KNOWN:
            self.assertEqual(verdict(image(layout)), name, layout.label)

    def test_families_that_have_no_row(self) -> None:
        """
        No row swallows the image of a family that is not here: Fedora Live and CoreOS share
        Anaconda's kernel, XenServer its ``.treeinfo``; a data disc with a kernel is nobody's.
        """
        for name, layout in isos.UNKNOWN.items():
            self.assertEqual(verdict(image(layout)), UNKNOWN, name)
        self.assertEqual(verdict(image(isos.ESXI)), UNKNOWN)

    def test_minus_one_file(self) -> None:
        """Without the file that decides, the next row that holds takes it, or none."""
        cases = (
            (isos.PROXMOX.minus(".disk/info"), "proxmox"),  # .cd-info says the same
            (isos.PROXMOX.minus(".disk/info", ".cd-info"), UNKNOWN),
            (isos.ROCKY_DVD.minus(".treeinfo"), UNKNOWN),
            (isos.ROCKY_DVD.minus("images/pxeboot/vmlinuz"), UNKNOWN),
            (isos.ROCKY_DVD.minus("images/pxeboot/initrd.img"), UNKNOWN),
            (isos.UBUNTU_SERVER.minus("casper/vmlinuz"), UNKNOWN),
            (isos.DEBIAN_NETINST.minus("install.amd"), UNKNOWN),
        )
        for layout, expected in cases:
            self.assertEqual(verdict(image(layout)), expected, layout.files.keys())

    def test_plus_one_file(self) -> None:
        """What must be absent: a derivative of Ubuntu keeps Debian's directory, and more."""
        both = isos.UBUNTU_SERVER.also({"install.amd/vmlinuz": b"x"})
        self.assertEqual(verdict(image(both)), "ubuntu")
        self.assertEqual(
            verdict(image(isos.DEBIAN_NETINST.also({"casper/filesystem.squashfs": b"x"}))), UNKNOWN
        )
        coreos = isos.ROCKY_DVD.also({"images/pxeboot/rootfs.img": b"x"})
        self.assertEqual(verdict(image(coreos)), UNKNOWN)

    def test_stage2_named_by_treeinfo(self) -> None:
        """An image whose second stage has another name, which ``.treeinfo`` says."""
        layout = isos.ROCKY_DVD.minus("images/install.img")
        self.assertEqual(verdict(image(layout)), "rhel")
        bare = layout.also({".treeinfo": b"[general]\narch = x86_64\n"})
        self.assertEqual(verdict(image(bare)), UNKNOWN)

    def test_trees(self) -> None:
        """Debian's netboot tree, an unpacked Anaconda tree, and a home-made ramdisk."""
        self.assertEqual(verdict(tree(isos.DEBIAN_NETBOOT)), "debian")
        self.assertEqual(verdict(tree(isos.ROCKY_DVD.files)), "rhel")
        self.assertEqual(verdict(tree({"vmlinuz": b"k", "initrd.img": b"i"})), "ramdisk")
        self.assertEqual(verdict(tree({"bzImage": b"k", "initramfs-6.1.cpio.xz": b"i"})), "ramdisk")
        self.assertEqual(verdict(tree({"vmlinuz": b"k"})), UNKNOWN)

    def test_several_kernels(self) -> None:
        """With several of a kind the plainly named one counts; without one, none does."""
        files = {"vmlinuz-1": b"", "vmlinuz-2": b"x", "initrd": b"i"}
        self.assertEqual(verdict(tree({**files, "vmlinuz-1": b"k"})), UNKNOWN)
        self.assertEqual(verdict(tree({**files, "vmlinuz": b"k"})), "ramdisk")


def probed(files: Files, sidecar: Sidecar | None = None) -> Probe:
    return probe(files, sidecar or Sidecar())


class ProbingTests(SynchronousTestCase):
    def test_versions(self) -> None:
        """In the vendor's words, as short as tells one release from another."""
        cases = {
            'Debian GNU/Linux 12.11.0 "Bookworm"': isos.DEBIAN_NETINST,
            'Kali GNU/Linux 2025.2 "Kali-last"': isos.KALI,
            'Ubuntu-Server 24.04.3 LTS "Noble Numbat"': isos.UBUNTU_SERVER,
            "Rocky Linux 9.4": isos.ROCKY_DVD,
            "Fedora 44": isos.FEDORA_SERVER,
            "Proxmox VE 9.2-1": isos.PROXMOX,
        }
        for version, layout in cases.items():
            self.assertEqual(probed(image(layout)).version, version)
        self.assertEqual(probed(tree(isos.DEBIAN_NETBOOT)).version, "Debian 12 (bookworm)")

    def test_versions_elsewhere(self) -> None:
        """``.discinfo`` where ``.treeinfo`` has no name; the volume's id where nothing has."""
        info = b"[general]\narch = x86_64\n[stage2]\nmainimage = images/install.img\n"
        layout = isos.ROCKY_DVD.also({".treeinfo": info})
        self.assertEqual(probed(image(layout)).version, "Rocky Linux 9.4")
        bare = isos.UBUNTU_DESKTOP.minus(".disk")
        self.assertEqual(probed(image(bare)).version, "Ubuntu 24.04.4 LTS amd64")

    def test_variants(self) -> None:
        """Server and desktop, DVD and boot image."""
        cases = (
            ("server", isos.UBUNTU_SERVER),
            ("server", isos.UBUNTU_2004),
            ("desktop", isos.UBUNTU_DESKTOP),
            ("dvd", isos.ROCKY_DVD),
            ("dvd", isos.FEDORA_SERVER),
            ("boot", isos.ALMA_BOOT),
            ("dvd", isos.ALMA_BOOT.also({"minimal/repodata/repomd.xml": b"x"})),
        )
        for variant, layout in cases:
            self.assertEqual(probed(image(layout)).variant, variant, layout.label)

    def test_architectures(self) -> None:
        """The kernel's header first, then the path, then text."""
        arm = isos.UBUNTU_SERVER.also({"casper/vmlinuz": isos.zboot_kernel()})
        self.assertEqual(probed(image(arm)).architecture, "arm64")
        self.assertEqual(probed(image(isos.DEBIAN_ARM64)).architecture, "arm64")
        packed = isos.ROCKY_DVD.also(
            {
                "images/pxeboot/vmlinuz": b"\x1f\x8b" + bytes(600),
                ".treeinfo": isos.ROCKY_DVD.files[".treeinfo"].replace(b"x86_64", b"aarch64"),  # type: ignore[arg-type]
            }
        )
        result = probed(image(packed))
        self.assertEqual(result.architecture, "arm64")
        self.assertIn("gzip", result.notes[0])
        old = {path.replace("amd64", "i386"): data for path, data in isos.DEBIAN_NETBOOT.items()}
        self.assertEqual(probed(tree(old)).architecture, "i386")

    def test_debian_disc(self) -> None:
        """C4: its own initrd has no network, so it does not boot, and says what would help."""
        result = probed(image(isos.DEBIAN_NETINST))
        self.assertFalse(result.boots)
        self.assertIn("netboot.tar.gz", result.missing)

    def test_proxmox_note(self) -> None:
        """An initrd packed by zstd is worth a word; one packed by gzip is not."""
        self.assertIn("zstd", probed(image(isos.PROXMOX)).notes[0])
        layout = isos.PROXMOX.also({"boot/initrd.img": isos.initrd()})
        self.assertEqual(probed(image(layout)).notes, ())

    def test_ubuntu_without_its_image(self) -> None:
        """casper downloads the image: an unpacked one does not boot."""
        result = probed(tree(isos.UBUNTU_SERVER.files))
        self.assertEqual((result.kernel, result.initrd), (None, None))
        self.assertIn(".iso", result.missing)

    def test_what_the_sidecar_knows_better(self) -> None:
        """Other boot files, another family; what it gets wrong is a problem, not an error."""
        hwe = Sidecar(kernel="casper/hwe-vmlinuz", initrd="casper/HWE-initrd")
        result = probed(image(isos.UBUNTU_2004), hwe)
        assert result.kernel is not None
        self.assertEqual(result.kernel.path.name, "hwe-vmlinuz")
        self.assertTrue(result.boots)
        talos = isos.UNKNOWN["talos"]
        forced = Sidecar(family="ramdisk", kernel="boot/vmlinuz", initrd="boot/initramfs.xz")
        self.assertEqual(
            (probed(image(talos), forced).family, probed(image(talos), forced).boots),
            ("ramdisk", True),
        )
        wrong = probed(image(talos), Sidecar(family="plan9", kernel="boot/nothing"))
        self.assertEqual((wrong.family, len(wrong.problems)), (UNKNOWN, 2))

    def test_images_that_make_no_sense(self) -> None:
        """A contradiction in the image, or a disk that fails, is a problem of the entry."""

        class Broken(MemoryFiles):
            error: Exception = MalformedImage("it bites its tail")

            def find(self, path: str) -> Content:
                raise self.error

            def read(self, path: str, length: int) -> bytes:
                raise self.error

        broken = Broken({}, "", True)
        result = probed(broken)
        self.assertEqual((result.problems, result.fleeting), (("it bites its tail",), False))
        broken.error = Unavailable("input/output error")
        self.assertTrue(probed(broken).fleeting)

    def test_text_for_tables(self) -> None:
        """One line, printable, not long: an image's words end up on terminals and in logs."""
        self.assertEqual(first_line("\ufeffA \x1b[31mB\tC \nD"), "A [31mB C")
        self.assertEqual(len(first_line("x" * 500)), 120)

    def test_media_types(self) -> None:
        """W152: exact types for what firmware boots; an initrd called .img is no disk."""
        self.assertEqual(image_type("X.ISO"), "application/vnd.efi-iso")
        self.assertEqual(image_type("x.img"), "application/vnd.efi-img")
        self.assertEqual(file_type("BOOTX64.EFI"), "application/efi")
        for name in ("initrd.img", "vmlinuz", "initrd.gz", "repomd.xml"):
            self.assertEqual(file_type(name), "application/octet-stream")


VERSION = (1, 2, 1000, 5)
WHOLE = Content(GONE / "x.iso", (Extent(0, 1000),), VERSION)


def seen(
    name: str, beside: Probe | None = None, sidecar: Sidecar | None = None, whole: bool = True
) -> Seen:
    return Seen(
        Candidate(name), WHOLE if whole else None, GONE / name, beside, sidecar or Sidecar()
    )


class AssemblingTests(SynchronousTestCase):
    def one(self, entry: Seen, probe: Probe) -> Medium:
        [medium] = assemble(Scan((entry,)), {entry.candidate.id: probe}).entries
        return medium

    def test_boot_files_beside_an_image(self) -> None:
        """A Debian disc and the netboot tree of its id are one entry that boots."""
        inside = probed(image(isos.DEBIAN_NETINST))
        beside = probed(tree(isos.DEBIAN_NETBOOT))
        medium = self.one(seen("debian-12", beside), inside)
        self.assertTrue(medium.bootable)
        self.assertEqual((medium.family, medium.variant), ("debian", "disc"))
        self.assertEqual(medium.title, "Debian 12.11.0")
        self.assertEqual(medium.size, 1000)
        self.assertEqual(medium.notes, ())

    def test_stripped_proxmox(self) -> None:
        """The vendor's PXE preparation: an image without /boot, its kernel and initrd beside."""
        inside = probed(image(isos.PROXMOX.minus("boot")))
        files = probed(tree({"vmlinuz": isos.x86_kernel(), "initrd.img": isos.initrd()}))
        self.assertFalse(self.one(seen("pve"), inside).bootable)
        self.assertTrue(self.one(seen("pve", files), inside).bootable)

    def test_files_in_the_media_directory(self) -> None:
        """Where the vendor's assistant leaves them; with two such images nobody knows whose."""
        inside = probed(image(isos.PROXMOX.minus("boot")))
        files = probed(tree({"vmlinuz": isos.x86_kernel(), "initrd.img": isos.initrd()}))
        one = assemble(Scan((seen("a"),), around=files), {"a": inside})
        self.assertEqual([each.bootable for each in one.entries], [True])
        two = assemble(Scan((seen("a"), seen("b")), around=files), {"a": inside, "b": inside})
        self.assertEqual([each.bootable for each in two.entries], [False, False])
        other = assemble(Scan((seen("a"),), around=files), {"a": Probe()})
        self.assertEqual([each.bootable for each in other.entries], [False])

    def test_trees(self) -> None:
        """A tree has no image; its size is that of what boots."""
        beside = probed(tree(isos.DEBIAN_NETBOOT))
        medium = assemble(Scan((seen("d", beside, whole=False),)), {}).entries[0]
        self.assertTrue(medium.bootable)
        self.assertIsNone(medium.image)
        self.assertEqual(medium.size, 4096 + len(isos.initrd()))
        self.assertEqual(medium.memory, 1024)

    def test_images_that_were_not_looked_into(self) -> None:
        """They are pending, and no entry."""
        catalogue = assemble(Scan((seen("a"), seen("b"))), {"b": Probe()})
        self.assertEqual(catalogue.pending, frozenset(["a"]))
        self.assertEqual([each.id for each in catalogue.entries], ["b"])

    def test_digests(self) -> None:
        """
        A digest becomes the entity tag while the file is the one it was taken of; after that
        the image has its own, and there is a problem.
        """
        digest = "ab" * 32
        good = self.one(seen("a", sidecar=Sidecar(digest, 1000, 5)), Probe())
        assert good.image is not None
        self.assertEqual(good.image.etag, f'"{digest}"')
        replaced = seen("a", sidecar=Sidecar(digest, 1000, 4))
        catalogue = assemble(Scan((replaced,)), {"a": Probe()})
        assert catalogue.entries[0].image is not None
        self.assertEqual(catalogue.entries[0].image.digest, None)
        self.assertEqual(catalogue.entries[0].digest, digest)
        self.assertIn("replaced", catalogue.problems[0].text)
        bare = assemble(Scan((seen("a", sidecar=Sidecar(digest)),)), {"a": Probe()})
        assert bare.entries[0].image is not None
        self.assertEqual((bare.entries[0].image.digest, bare.problems), (None, ()))


def medium_of(layout: Layout, sidecar: Sidecar | None = None, name: str = "x") -> Medium:
    entry = seen(name, probed(tree(isos.DEBIAN_NETBOOT)), sidecar)
    [medium] = assemble(Scan((entry,)), {name: probed(image(layout), sidecar)}).entries
    return medium


def booted(medium: Medium, unattended: bool) -> Stanza:
    return stanza(medium, MEDIA, ANSWERS, unattended)


class StanzaTests(SynchronousTestCase):
    """families.md 6, both columns."""

    ALL = (
        isos.DEBIAN_NETINST,
        isos.UBUNTU_SERVER,
        isos.UBUNTU_DESKTOP,
        isos.ROCKY_DVD,
        isos.ALMA_BOOT,
        isos.PROXMOX,
    )
    CASES = (
        (
            isos.DEBIAN_NETINST,
            "initrd=initrd auto=true priority=critical interface=auto"
            " BOOTIF=01-${netX/mac:hexhyp} url=A/debian/${netX/mac}/preseed.cfg ---",
            "initrd=initrd interface=auto BOOTIF=01-${netX/mac:hexhyp} ---",
        ),
        (
            isos.UBUNTU_SERVER,
            "initrd=initrd ip=dhcp url=M/x/x.iso cloud-config-url=/dev/null autoinstall"
            " ds=nocloud;s=A/ubuntu/${netX/mac}/ ---",
            "initrd=initrd ip=dhcp url=M/x/x.iso cloud-config-url=/dev/null ---",
        ),
        (
            isos.ROCKY_DVD,
            "initrd=initrd inst.repo=M/x/file/ inst.ks=A/rhel/${netX/mac}/ks.cfg inst.ks.sendmac"
            " inst.ks.sendsn BOOTIF=01-${netX/mac:hexhyp}",
            "initrd=initrd inst.repo=M/x/file/ BOOTIF=01-${netX/mac:hexhyp}",
        ),
        (
            isos.ALMA_BOOT,
            "initrd=initrd inst.stage2=M/x/file/ inst.ks=A/rhel/${netX/mac}/ks.cfg"
            " inst.ks.sendmac inst.ks.sendsn BOOTIF=01-${netX/mac:hexhyp}",
            "initrd=initrd inst.stage2=M/x/file/ BOOTIF=01-${netX/mac:hexhyp}",
        ),
        (
            isos.PROXMOX,
            "ramdisk_size=16777216 rw quiet initrd=initrd.magic splash=silent"
            " proxmox-start-auto-installer",
            "ramdisk_size=16777216 rw quiet initrd=initrd.magic splash=silent",
        ),
    )

    def test_arguments(self) -> None:
        """Every family, with an answer and without one."""
        for layout, unattended, interactive in self.CASES:
            medium = medium_of(layout)
            for wanted, expected in ((True, unattended), (False, interactive)):
                expected = expected.replace("=M/", f"={MEDIA}/").replace("=A/", f"={ANSWERS}/")
                found = booted(medium, wanted)
                self.assertEqual(" ".join(found.arguments), expected, layout.label)
                self.assertEqual(found.kernel, f"{MEDIA}/x/kernel")

    def test_initrds(self) -> None:
        """
        S41: every initrd line's image is named on the kernel's line, or ``initrd.magic``, which
        is all of them. The Proxmox image is a member of an archive: its name follows its URL.
        """
        for layout in self.ALL:
            found = booted(medium_of(layout), True)
            names = {each.removeprefix("initrd=") for each in found.arguments if "initrd=" in each}
            lines = {each.name or each.url.rpartition("/")[2] for each in found.initrds}
            self.assertTrue(names == {"initrd.magic"} or names == lines, layout.label)
        self.assertEqual(
            [each.line() for each in booted(medium_of(isos.PROXMOX), True).initrds],
            [f"initrd {MEDIA}/x/initrd", f"initrd {MEDIA}/x/x.iso proxmox.iso"],
        )

    def test_scripts(self) -> None:
        """Every stanza is a script that iPXE reads; no word of it breaks a line."""
        for layout in self.ALL:
            for unattended in (True, False):
                text = stanza_script(booted(medium_of(layout), unattended))
                self.assertTrue(text.startswith("#!ipxe\n"))
                self.assertTrue(text.endswith("boot\n"))
                self.assertNotIn("{{", text)

    def test_own_arguments(self) -> None:
        """
        The operator's words go before ``---``, and what follows a ``---`` of his own to the
        installed system; where a family has none, at the end.
        """
        own = Sidecar(arguments=("root=/dev/ram0", "---", "console=ttyS0"))
        words = booted(medium_of(isos.UBUNTU_SERVER, own), False).arguments
        self.assertEqual(words[-3:], ("root=/dev/ram0", "---", "console=ttyS0"))
        self.assertEqual(words.count("---"), 1)
        plain = Sidecar(arguments=("inst.text",))
        self.assertEqual(booted(medium_of(isos.ROCKY_DVD, plain), True).arguments[-1], "inst.text")

    def test_images_of_no_family(self) -> None:
        """A kernel and an initrd that the sidecar names boot by the sidecar's arguments."""
        own = Sidecar(
            kernel="boot/vmlinuz", initrd="boot/initramfs.xz", arguments=("talos.platform=metal",)
        )
        medium = medium_of(isos.UNKNOWN["talos"], own)
        self.assertTrue(medium.bootable)
        self.assertEqual(booted(medium, True).arguments, ("initrd=initrd", "talos.platform=metal"))


class TableTests(SynchronousTestCase):
    def test_rows(self) -> None:
        """Names are unique, and every row is exercised above."""
        names = [each.name for each in FAMILIES]
        self.assertEqual(len(names), len(set(names)))
        exercised = {name for name, _ in DetectionTests.KNOWN} | {"ramdisk"}
        self.assertEqual(set(names), exercised)

    def test_documented(self) -> None:
        """The operator's page names every family."""
        page = Path(__file__).parent.parent.joinpath("docs", "media.md").read_text()
        for each in FAMILIES:
            self.assertIn(f"| `{each.name}` |", page)

    def test_memory(self) -> None:
        """families.md 7."""
        advice = {each.name: each.memory("server") for each in FAMILIES}
        self.assertEqual(
            advice,
            {"debian": 1024, "ubuntu": 8192, "rhel": 4096, "proxmox": 8192, "ramdisk": None},
        )
        self.assertEqual(medium_of(isos.UBUNTU_DESKTOP).memory, 16384)

    def test_catalogue_is_a_value(self) -> None:
        """The same directory is the same catalogue."""
        self.assertEqual(
            Catalogue((medium_of(isos.PROXMOX),)), Catalogue((medium_of(isos.PROXMOX),))
        )
