"""A machine with an empty disk powers on, and runs the system that was decided for it."""

import hashlib
from pathlib import Path
from unittest import TestSuite

from . import assets, sites
from .boots import MAC
from .case import ASKED_FOR_ALL
from .machines import Boot, Drive, Firmware, Machine
from .network import Running, run, wait_for
from .sitecase import SiteTestCase

if not ASKED_FOR_ALL:
    testSuite = TestSuite

WEB, MIB = "10.79.0.6", 1 << 20
ROOT_START, ROOT_SIZE, DISK = MIB, 80 * MIB, 5 << 30
USER_DATA = "#cloud-config\nhostname: deployed\n"
#: Under emulation: 34 seconds on a quiet machine of two cores until the agent runs.
SECONDS = 420


def image(directory: Path) -> Path:
    """:returns: a disk with a kernel in its root file system, which says its marker; packed."""
    tree, built = directory / "tree", assets.tree("amd64")
    for each in ("boot", "etc", "var/lib"):
        (tree / each).mkdir(parents=True)
    for name in ("vmlinuz", "initrd.img"):
        (tree / "boot" / name).write_bytes((built / name).read_bytes())
    raw = directory / "image.raw"
    with raw.open("wb") as file:
        file.truncate(ROOT_START + ROOT_SIZE + MIB)
    first, last = ROOT_START // 512, (ROOT_START + ROOT_SIZE) // 512 - 1
    run("sgdisk", "--clear", f"--new=1:{first}:{last}", "--typecode=1:8304", raw)
    offset = f"offset={ROOT_START},root_owner=0:0"
    run("mke2fs", "-q", "-t", "ext4", "-d", tree, "-E", offset, raw, f"{ROOT_SIZE // 1024}k")
    run("zstd", "-q", "-f", raw, "-o", directory / "image.zst")
    return directory / "image.zst"


class DeployCase(SiteTestCase):
    tools = (*SiteTestCase.tools, "zstd", "sgdisk", "mke2fs")

    def ramdisk(self) -> Path | None:
        made = self.network.directory / "ramdisk"
        made.mkdir(exist_ok=True)
        return assets.ramdisk_of_today(made)

    def web(self) -> Running:
        """A web server on the uplink, for the site's cache and for machines that miss it."""
        self.network.host("web", WEB, sites.UPLINK)
        argv = ["python3", "-m", "http.server", "80", "--directory", str(self.www)]
        running = self.network.spawn("web", "web", argv)
        self.assertTrue(wait_for(lambda: self.network.port_open("web", "tcp", 80), 20))
        return running

    def begun(self, digest: str = "") -> str:
        """:returns: the workflow, which waits for the machine."""
        self.www = self.network.directory / "www"
        self.www.mkdir()
        packed = image(self.www)
        digest = digest or hashlib.sha256(packed.read_bytes()).hexdigest()
        self.web()
        gateway = self.gateway
        gateway.command(
            *("image", "add", "tiny", f"http://{WEB}/image.zst", digest, "--site", sites.SITE)
        )
        cached = self.agent.cache / digest
        self.assertTrue(wait_for(cached.exists, 60), "the image is not in the site's cache")
        secret = self.network.directory / "user-data"
        secret.write_text(USER_DATA)
        gateway.command("secret", "set", "hello", "--file", secret)
        gateway.command("machine", "add", "m1", sites.SITE, "--mac", MAC)
        made = gateway.ask(
            *("deploy", "m1", "--image", "tiny", "--user-data", "hello"),
            *("--set", "cmdline=console=ttyS0 panic=-1", "--set", "args=console=ttyS0 panic=-1"),
        )
        return str(made["id"])

    def power(self, firmware: Firmware, drive: Drive) -> Boot:
        disk = self.network.directory / "empty.img"
        with disk.open("wb") as file:
            file.truncate(DISK)
        machine = Machine(firmware, MAC, disk, 1536, drive=drive, processors=2)
        return Boot(self.network, machine)

    def ended(self, workflow: str) -> sites.Said:
        said = self.gateway.ask("workflow", "show", workflow)
        found = [said]

        def over() -> bool:
            found[0] = self.gateway.ask("workflow", "show", workflow)
            return found[0]["state"] not in ("running", "waiting")

        wait_for(over, 60)
        return found[0]

    def deploys(self, firmware: Firmware, drive: Drive) -> None:
        with self.shown():
            sites.routed(self.network, self.agent)
            workflow = self.begun()
            boot = self.power(firmware, drive)
            marker = rf"{assets.MARKER} root=UUID=\S+ ro console=ttyS0"
            self.assertTrue(boot.reaches(marker, SECONDS), self.ended(workflow))
            said = self.ended(workflow)
            self.assertEqual(said["state"], "done", said)


class DeployTests(DeployCase):
    def test_bios_and_nvme(self) -> None:
        self.deploys(Firmware.BIOS, Drive.NVME)

    def test_uefi_and_virtio(self) -> None:
        self.deploys(Firmware.UEFI_PXE, Drive.VIRTIO)

    def test_bios_and_ahci(self) -> None:
        self.deploys(Firmware.BIOS, Drive.AHCI)
