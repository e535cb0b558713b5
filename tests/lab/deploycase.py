"""A machine with an empty disk, and the system that was decided for it."""

import hashlib
import re
from pathlib import Path

from . import assets, sites
from .boots import MAC
from .machines import Boot, Drive, Firmware, Machine
from .network import Running, run, wait_for
from .sitecase import SiteTestCase

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


def spoil(image: Path) -> None:
    """One bit of it, in the middle."""
    data = bytearray(image.read_bytes())
    data[len(data) // 2] ^= 1
    image.write_bytes(data)


class DeployCase(SiteTestCase):
    """
    :ivar disk_file: what the machine's disk has, and keeps.
    """

    tools = (*SiteTestCase.tools, "zstd", "sgdisk", "mke2fs")
    disk_file: Path

    def ramdisk(self) -> Path | None:
        made = self.network.directory / "ramdisk"
        made.mkdir(exist_ok=True)
        return assets.ramdisk_of_today(made)

    def web(self, directory: Path) -> Running:
        """A web server on the uplink, for the site's cache and for machines that miss it."""
        self.network.host("web", WEB, sites.UPLINK)
        sites.route_back(self.network, self.agent, "web")
        argv: list[str | Path] = ["python3", "-u", "-m", "http.server", "80", "--directory"]
        running = self.network.spawn("web", "web", [*argv, directory])
        self.assertTrue(wait_for(lambda: self.network.port_open("web", "tcp", 80), 20))
        return running

    def begun(self, spoilt: bool = False, cmdline: str = "") -> str:
        """
        :param spoilt: whether the image is another one than was promised.
        :param cmdline: more of the ramdisk's.
        :returns: the workflow, which waits for the machine.
        """
        sites.routed(self.network, self.agent)
        www = self.network.directory / "www"
        www.mkdir()
        packed = image(www)
        digest = hashlib.sha256(packed.read_bytes()).hexdigest()
        if spoilt:
            spoil(packed)
        self.served = self.web(www)
        gateway = self.gateway
        gateway.command(
            *("image", "add", "tiny", f"http://{WEB}/image.zst", digest, "--site", sites.SITE)
        )
        if not spoilt:
            cached = self.agent.cache / digest
            self.assertTrue(wait_for(cached.exists, 60), "the image is not in the site's cache")
        secret = self.network.directory / "user-data"
        secret.write_text(USER_DATA)
        gateway.command("secret", "set", "hello", "--file", secret)
        gateway.command("machine", "add", "m1", sites.SITE, "--mac", MAC)
        console = "console=ttyS0 panic=-1"
        made = gateway.ask(
            *("deploy", "m1", "--image", "tiny", "--user-data", "hello"),
            *("--set", f"cmdline={console} {cmdline}".strip(), "--set", f"args={console}"),
        )
        return str(made["id"])

    def power(self, firmware: Firmware, drive: Drive) -> Boot:
        """On, with a disk that has never had anything on it."""
        self.disk_file = self.network.directory / "empty.img"
        with self.disk_file.open("wb") as file:
            file.truncate(DISK)
        return self.powered(firmware, drive)

    def powered(self, firmware: Firmware, drive: Drive, disk_first: bool = False) -> Boot:
        machine = Machine(
            *(firmware, MAC, self.disk_file, 1536),
            drive=drive,
            processors=2,
            disk_first=disk_first,
            kept=True,
        )
        return Boot(self.network, machine)

    def ended(self, workflow: str) -> sites.Said:
        """:returns: what is said of it at its end, or after a minute."""
        found: list[sites.Said] = []

        def over() -> bool:
            found[:] = [self.gateway.ask("workflow", "show", workflow)]
            return found[0]["state"] not in ("running", "waiting")

        wait_for(over, 60)
        return found[0]

    def comes_to(self, boot: Boot, pattern: str, workflow: str) -> None:
        """:param pattern: that the machine says on its serial line."""
        boot.reaches(rf"{pattern}|\): failed", SECONDS)
        if not re.search(pattern, boot.screen()):
            self.fail(f"never {pattern}: {self.ended(workflow)}")

    def comes_up(self, boot: Boot, workflow: str) -> None:
        """The installed system says its marker, from its own disk; the workflow is done."""
        self.comes_to(boot, rf"{assets.MARKER} root=UUID=\S+ ro console=ttyS0", workflow)
        said = self.ended(workflow)
        self.assertEqual(said["state"], "done", said)

    def deploys(self, firmware: Firmware, drive: Drive) -> None:
        with self.shown():
            workflow = self.begun()
            self.comes_up(self.power(firmware, drive), workflow)
            self.assertEqual(self.agent.complaints(), [])
