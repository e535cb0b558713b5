"""Tests for what is done with an installed system: seeds, its start, and the machine's power."""

import json
from collections.abc import Sequence
from pathlib import Path

from attrs import define, evolve, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import Result
from rescriptum.contract.ramdisk import Kexec, NothingSaid, SeedKind, SeedWrite
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.interfaces import Anew
from rescriptum.ramdisk.collecting import CollectInventory
from rescriptum.ramdisk.disks import BlockDevice
from rescriptum.ramdisk.hardware.inventory import MOST, Nic, bmc, cpus, inventory, mac, memory, text
from rescriptum.ramdisk.hardware.store import KernelFiles
from rescriptum.ramdisk.installed.files import Entry, FilesTrouble
from rescriptum.ramdisk.kexec import Around as Starting
from rescriptum.ramdisk.kexec import StartInstalled
from rescriptum.ramdisk.power import Leave
from rescriptum.ramdisk.seeding import LONGEST, WriteSeed
from rescriptum.ramdisk.seeding import Around as Seeding
from rescriptum.ramdisk.store import LOOKS, PAUSE, BlockDevices, InstalledDisk
from rescriptum.ramdisk.tools import Ran
from tests.ramdiskcases import MemoryRunning, MemoryTools

ROOT = BlockDevice("sda2", "/dev/sda2", "part", 1 << 33, filesystem="ext4", uuid="u-1")
DISK = BlockDevice("sda", "/dev/sda", "disk", 1 << 34, serial="S1", holds=(ROOT,))
SEED = BlockDevice("sda3", "/dev/sda3", "part", 1 << 20, filesystem="vfat", label="CIDATA")


@define
class MemoryFiles:
    """Satisfies :class:`rescriptum.ramdisk.installed.files.Files`. :ivar ended: how often."""

    files: dict[str, bytes] = field(factory=dict)
    modes: dict[str, int] = field(factory=dict)
    ended: int = 0
    full: bool = False

    async def listed(self, directory: str) -> tuple[Entry, ...]:
        above = directory.rstrip("/") + "/"
        found = [each.removeprefix(above) for each in self.files if each.startswith(above)]
        return tuple(Entry(each, True) for each in found if "/" not in each)

    async def copied(self, path: str, name: str) -> str:
        if path not in self.files:
            raise FilesTrouble(f"no file {path}")
        return f"/scratch/{name}"

    async def read(self, path: str, most: int) -> bytes:
        return self.files[path][:most]

    async def write(self, path: str, data: bytes, mode: int) -> None:
        if self.full:
            raise FilesTrouble("no space left")
        self.files[path], self.modes[path] = data, mode

    async def done(self) -> None:
        self.ended += 1


class InstalledCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.disk = DISK
        self.places: dict[str, MemoryFiles] = {}
        self.tools = MemoryTools()

    async def installed(self) -> BlockDevice:
        return self.disk

    def files(self, place: BlockDevice) -> MemoryFiles:
        return self.places.setdefault(place.name, MemoryFiles())

    def rejected(self, started: Deferred[JSON]) -> Rejected:
        error = self.failureResultOf(started, Rejected).value
        assert isinstance(error, Rejected)
        return error


class SeedTests(InstalledCase):
    def start(self, payload: SeedWrite, data: str = "#cloud-config\n") -> Deferred[JSON]:
        kind = WriteSeed(
            Seeding(self.installed, self.files), {"config.toml": b"c", "join-encryption.jwk": b"k"}
        )
        context = MemoryRunning("seed.write", secrets={"hello": data})
        return Deferred.fromCoroutine(kind.run(context, payload))

    def test_nocloud(self) -> None:
        """In the root file system; what an agent joins by as well, which is no secret."""
        payload = SeedWrite(user_data_ref="hello", instance_id="i-1", hostname="m1")
        result = self.successResultOf(self.start(payload))
        root = self.places["sda2"]
        self.assertEqual(
            root.files,
            {
                "/var/lib/cloud/seed/nocloud/meta-data": b'instance-id: "i-1"\n'
                b'local-hostname: "m1"\n',
                "/var/lib/cloud/seed/nocloud/user-data": b"#cloud-config\n",
                "/etc/rescriptum/config.toml": b"c",
                "/etc/rescriptum/join-encryption.jwk": b"k",
            },
        )
        self.assertEqual(root.modes["/var/lib/cloud/seed/nocloud/user-data"], 0o600)
        self.assertEqual(root.modes["/etc/rescriptum/config.toml"], 0o640)
        self.assertEqual(root.ended, 2)
        self.assertNotIn("cloud-config", json.dumps(result))

    def test_a_partition_for_it(self) -> None:
        """W298: where the image has one, that is where cloud-init looks."""
        self.disk = evolve(DISK, holds=(ROOT, SEED))
        self.successResultOf(self.start(SeedWrite(user_data_ref="hello")))
        self.assertEqual(
            self.places["sda3"].files,
            {"/meta-data": b'instance-id: "w1"\n', "/user-data": b"#cloud-config\n"},
        )

    def test_a_name_that_is_no_name(self) -> None:
        """Whatever is in it, it is one text in the document."""
        self.successResultOf(self.start(SeedWrite(hostname='a\nb: "c"')))
        data = self.places["sda2"].files["/var/lib/cloud/seed/nocloud/meta-data"]
        self.assertEqual(data.count(b"\n"), 2)

    def test_ignition(self) -> None:
        payload = SeedWrite(SeedKind.IGNITION, "hello")
        for label, path in (("boot", "/ignition/config.ign"), ("OEM", "/config.ign")):
            place = evolve(ROOT, name=label, label=label)
            self.disk = evolve(DISK, holds=(ROOT, place))
            self.successResultOf(self.start(payload, "{}"))
            self.assertEqual(self.places[label].files, {path: b"{}"})
        self.disk = DISK
        self.assertEqual(self.rejected(self.start(payload)).code, "not-found")

    def test_too_long(self) -> None:
        started = self.start(SeedWrite(user_data_ref="hello"), "x" * (LONGEST + 1))
        self.assertEqual(self.rejected(started).code, "too-large")
        self.assertEqual(self.places, {})

    def test_what_cannot_be_written(self) -> None:
        """It fails, and the file system is let go of."""
        self.places["sda2"] = MemoryFiles(full=True)
        self.failureResultOf(self.start(SeedWrite()), FilesTrouble)
        self.assertEqual(self.places["sda2"].ended, 1)


class KexecTests(InstalledCase):
    def setUp(self) -> None:
        super().setUp()
        self.loaded, self.systemd = [True], False
        self.left: list[Sequence[tuple[str, ...]]] = []
        self.rebooted: list[bool] = []
        boot = {"/boot/vmlinuz-2": b"", "/boot/initrd.img-2": b"", "/boot/vmlinuz-1": b""}
        self.places["sda2"] = MemoryFiles(boot)

    def start(self, payload: Kexec = Kexec()) -> Deferred[JSON]:  # noqa: B008 - frozen
        around = Starting(
            self.installed,
            self.files,
            self.tools,
            lambda: self.loaded.pop(0) if self.loaded else False,
            self.left.append,
            lambda: self.rebooted.append(True),
            self.systemd,
            lambda: ["eth0", "eth1"],
        )
        kind = StartInstalled(around)
        return Deferred.fromCoroutine(kind.run(MemoryRunning("boot.kexec"), payload))

    def test_by_the_file_call(self) -> None:
        """W300: it is all that Secure Boot allows. W305: interfaces go down before it leaves."""
        result = self.successResultOf(self.start(Kexec(args="quiet")))
        self.assertEqual(
            self.tools.asked,
            [
                (
                    "kexec",
                    "--load",
                    "--kexec-file-syscall",
                    "/scratch/kernel",
                    "--command-line=root=UUID=u-1 ro quiet",
                    "--initrd=/scratch/initrd",
                )
            ],
        )
        self.assertEqual(
            self.left,
            [
                [
                    ("ip", "link", "set", "eth0", "down"),
                    ("ip", "link", "set", "eth1", "down"),
                    ("kexec", "-e"),
                ]
            ],
        )
        self.assertEqual(result["kernel"], "/boot/vmlinuz-2")
        self.assertEqual(self.places["sda2"].ended, 1)

    def test_by_the_old_call(self) -> None:
        """W302: the first error is not the last word."""
        self.tools.answers["kexec", "--load", "--kexec-file-syscall"] = Ran(
            ("kexec",), 255, stderr="kexec_file_load failed: Operation not permitted"
        )
        self.successResultOf(self.start())
        self.assertEqual(self.tools.asked[1][2], "--kexec-syscall")

    def test_neither(self) -> None:
        """D64: both are told, and nothing leaves."""
        self.tools.answers["kexec",] = Ran(("kexec",), 255, stderr="Operation not permitted")
        error = self.rejected(self.start())
        self.assertEqual(error.code, "kexec-refused")
        self.assertIn("kexec-file-syscall: kexec: Operation not permitted", error.detail)
        self.assertIn("kexec-syscall: kexec: Operation not permitted", error.detail)
        self.assertEqual(self.left, [])

    def test_neither_but_a_reboot_will_do(self) -> None:
        """D64: it boots from its disk; what was refused is told."""
        self.tools.answers["kexec",] = Ran(("kexec",), 255, stderr="Operation not permitted")
        said = self.successResultOf(self.start(Kexec(reboot=True)))
        self.assertEqual(said["way"], "reboot")
        self.assertIn("kexec-syscall: kexec: Operation not permitted", str(said["refused"]))
        self.assertEqual((self.left, self.rebooted), ([], [True]))

    def test_no_reboot_without_a_kernel(self) -> None:
        """D64: a disk that nothing is found on would not boot either."""
        self.places["sda2"] = MemoryFiles()
        self.assertEqual(self.rejected(self.start(Kexec(reboot=True))).code, "not-found")
        self.assertEqual(self.rebooted, [])

    def test_nothing_is_loaded(self) -> None:
        """D64, W303: whatever kexec says: systemctl is not asked to start what is not there."""
        self.loaded, self.systemd = [False, False], True
        error = self.rejected(self.start())
        self.assertIn("no kernel is loaded", error.detail)
        self.assertEqual(self.left, [])

    def test_systemd(self) -> None:
        self.systemd = True
        self.successResultOf(self.start())
        self.assertEqual(self.left[0][-1], ("systemctl", "kexec"))

    def test_a_given_kernel(self) -> None:
        payload = Kexec("/boot/vmlinuz-1", "/boot/initrd.img-2")
        result = self.successResultOf(self.start(payload))
        self.assertEqual((result["kernel"], result["initrd"]), (payload.kernel, payload.initrd))
        error = self.rejected(self.start(Kexec("/boot/other")))
        self.assertEqual((error.code, error.detail), ("not-found", "sda: no /boot/other"))
        for path in ("boot/vmlinuz-1", "/boot/../etc", "/boot/a\nrm b"):
            self.assertEqual(self.rejected(self.start(Kexec(path))).code, "invalid-payload")
            self.assertEqual(self.rejected(self.start(Kexec("", path))).code, "invalid-payload")

    def test_arguments_that_are_no_line(self) -> None:
        """A kernel takes one line, and no program an argument with a NUL in it."""
        for args in ("a\nb", "a\0b", "\x1b[2J"):
            self.assertEqual(self.rejected(self.start(Kexec(args=args))).code, "invalid-payload")
        self.assertEqual(self.tools.asked, [])
        said = self.successResultOf(self.start(Kexec(args='a="b c" $(d) \u00e9')))
        self.assertEqual(said["arguments"], 'root=UUID=u-1 ro a="b c" $(d) \u00e9')

    def test_a_root_without_a_name(self) -> None:
        """An image may have emptied its UUID: a kernel would wait for it for ever."""
        self.disk = evolve(DISK, holds=(evolve(ROOT, uuid=""),))
        error = self.rejected(self.start())
        self.assertEqual(error.detail, "sda2 has no UUID to boot by: want root= in args")
        said = self.successResultOf(self.start(Kexec(args="root=LABEL=system")))
        self.assertEqual(said["arguments"], "ro root=LABEL=system")

    def test_a_partition_for_kernels(self) -> None:
        boot = evolve(ROOT, name="sda1", label="boot", size=1 << 20)
        self.disk = evolve(DISK, holds=(boot, ROOT))
        self.places = {"sda1": MemoryFiles({"/vmlinuz-5": b"", "/initramfs-5.img": b""})}
        result = self.successResultOf(self.start())
        self.assertEqual((result["kernel"], result["initrd"]), ("/vmlinuz-5", "/initramfs-5.img"))

    def test_a_given_kernel_of_a_partition(self) -> None:
        """Where the installed system mounts it, and not where it is in there."""
        boot = evolve(ROOT, name="sda1", label="boot", size=1 << 20)
        self.disk = evolve(DISK, holds=(boot, ROOT))
        self.places = {
            "sda1": MemoryFiles({"/vmlinuz-5": b"", "/initrd-5": b"", "/vmlinuz-6": b""})
        }
        result = self.successResultOf(self.start(Kexec("/boot/vmlinuz-5", "/boot/initrd-5")))
        self.assertEqual((result["kernel"], result["initrd"]), ("/vmlinuz-5", "/initrd-5"))

    def test_another_initrd(self) -> None:
        """With the kernel that is found."""
        result = self.successResultOf(self.start(Kexec(initrd="/boot/vmlinuz-1")))
        found = (result["kernel"], result["initrd"])
        self.assertEqual(found, ("/boot/vmlinuz-2", "/boot/vmlinuz-1"))

    def entries(self, **texts: bytes) -> dict[str, bytes]:
        files = {f"/loader/entries/{name}.conf": text for name, text in texts.items()}
        return {**files, "/vmlinuz-5": b"", "/initramfs-5.img": b""}

    def test_a_boot_entry(self) -> None:
        """It knows which tree of a volume the root is; what is asked for comes behind that."""
        boot = evolve(ROOT, name="sda1", label="boot", size=1 << 20)
        self.disk = evolve(DISK, holds=(boot, ROOT))
        text = (
            b"version 5\nlinux /vmlinuz-5\ninitrd /initramfs-5.img $tuned_initrd\n"
            b"options root=UUID=u-1 ro rootflags=subvol=root $tuned_params\n"
        )
        gone = text.replace(b"5", b"6")
        self.places = {"sda1": MemoryFiles(self.entries(a=text, b=gone, c=b"nothing"))}
        result = self.successResultOf(self.start(Kexec(args="quiet")))
        self.assertEqual(
            (result["kernel"], result["initrd"], result["arguments"]),
            ("/vmlinuz-5", "/initramfs-5.img", "root=UUID=u-1 ro rootflags=subvol=root quiet"),
        )

    def test_a_boot_entry_of_no_root(self) -> None:
        """Whatever else it says is kept."""
        boot = evolve(ROOT, name="sda1", label="boot", size=1 << 20)
        self.disk = evolve(DISK, holds=(boot, ROOT))
        for options, line in (
            (b"console=ttyS0", "root=UUID=u-1 ro console=ttyS0"),
            (b"$kernelopts", "root=UUID=u-1 ro"),
        ):
            text = b"linux /vmlinuz-5\noptions " + options
            self.places, self.loaded = {"sda1": MemoryFiles(self.entries(a=text))}, [True]
            self.assertEqual(self.successResultOf(self.start())["arguments"], line)

    def test_ignition_has_not_run(self) -> None:
        """The boot loader would say so."""
        boot = evolve(ROOT, name="sda1", label="boot", size=1 << 20)
        self.disk = evolve(DISK, holds=(boot, ROOT))
        text = b"linux /vmlinuz-5\noptions $ignition_firstboot ostree=/a ignition.platform.id=metal"
        files = self.entries(a=text)
        for stamped, line in (
            (True, "ignition.firstboot ostree=/a ignition.platform.id=metal"),
            (False, "ostree=/a ignition.platform.id=metal"),
        ):
            more = {"/ignition.firstboot": b""} if stamped else {}
            self.places, self.loaded = {"sda1": MemoryFiles({**files, **more})}, [True]
            self.assertEqual(self.successResultOf(self.start())["arguments"], line)

    def test_no_kernel(self) -> None:
        self.places["sda2"] = MemoryFiles()
        self.assertEqual(self.rejected(self.start()).code, "not-found")

    def test_stopped_meanwhile(self) -> None:
        """Nobody can tell."""
        kind = StartInstalled(Starting)  # type: ignore[arg-type]
        self.assertIsNone(kind.resume("a", "a"))


class PowerTests(SynchronousTestCase):
    def test_leaving(self) -> None:
        """In another boot it is done; in the same one it is begun anew."""
        left: list[str] = []
        for name in ("power.off", "power.reboot"):
            kind = Leave(name, lambda: left.append("left"))
            run = kind.run(MemoryRunning(name), NothingSaid())
            self.assertEqual(self.successResultOf(Deferred.fromCoroutine(run)), {})
            self.assertEqual(kind.resume("a", "b"), Result(True, "ok"))
            self.assertEqual(kind.resume("a", "a"), Anew())
        self.assertEqual(left, ["left", "left"])


class InventoryTests(SynchronousTestCase):
    def test_texts(self) -> None:
        """What nobody has set says nothing."""
        for unset in (b"", b"None\n", b"To Be Filled By O.E.M.", b"Default string", b"0000", b"-"):
            self.assertEqual(text(unset), "")
        self.assertEqual(text(b" PowerEdge R650\n"), "PowerEdge R650")
        self.assertEqual(text(b"a\x1b[2Jb"), "a [2Jb")

    def test_processors_and_memory(self) -> None:
        info = b"processor\t: 0\nmodel name\t: EPYC\nphysical id\t: 0\n\nprocessor\t: 1\n"
        self.assertEqual(cpus(info), {"threads": 2, "sockets": 1, "model": "EPYC"})
        self.assertEqual(memory(b"MemTotal:       1024 kB\nMemFree: 1 kB\n"), 1 << 20)
        self.assertEqual(memory(b""), 0)

    def test_bmcs(self) -> None:
        lan = (
            b"IP Address Source       : DHCP Address\n"
            b"IP Address              : 10.0.0.9\n"
            b"MAC Address             : 0c:c4:7a:00:00:01\n"
        )
        self.assertEqual(bmc(lan), {"address": "10.0.0.9", "mac": "0c:c4:7a:00:00:01"})
        self.assertIsNone(bmc(lan.replace(b"10.0.0.9", b"0.0.0.0")))
        self.assertIsNone(bmc(b"Could not open device"))
        self.assertIsNone(bmc(lan.replace(b"10.0.0.9", b"10.0.0.1234")))

    def test_addresses(self) -> None:
        self.assertEqual(mac(b"52:54:00:12:34:56\n"), "52:54:00:12:34:56")
        for none in (b"", b"00:00:00:00:00:00", b"nonsense\xff"):
            self.assertEqual(mac(none), "")

    @given(st.binary(), st.binary(), st.binary(), st.binary())
    def test_whatever_comes(self, dmi: bytes, cpuinfo: bytes, meminfo: bytes, lan: bytes) -> None:
        """It can be told, and is bounded."""
        nics = [Nic("eth0", "52:54:00:12:34:56")] * (MOST + 1)
        warnings = ["x" * 1000] * (MOST + 1)
        made = inventory({"product_uuid": dmi}, cpuinfo, meminfo, nics, [DISK], [], lan, warnings)
        self.assertLess(len(json.dumps(made)), 192 * 1024)
        self.assertEqual(len(made["macs"]), MOST)  # type: ignore[arg-type]

    def test_the_kernels_files(self) -> None:
        """Interfaces with hardware behind them alone; what is not there says nothing."""
        root = Path(self.mktemp())
        for name, device in (("eth0", True), ("lo", False), ("eth1", True)):
            here = root / "sys/class/net" / name
            here.mkdir(parents=True)
            (here / "address").write_text(f"52:54:00:00:00:0{len(name)}\n")
            (here / "speed").write_text("-1\n" if name == "eth1" else "25000\n")
            if device:
                (here / "device").mkdir()
                (here / "device/driver").symlink_to("../../bus/pci/drivers/mlx5_core")
        slot = root / "sys/bus/pci/devices/0000:41:00.0"
        slot.mkdir(parents=True)
        for name, value in (("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x20b5")):
            (slot / name).write_text(f"{value}\n")
        files = KernelFiles(root)
        first, second = files.nics()
        self.assertEqual((first.name, first.speed, first.driver), ("eth0", 25000, "mlx5_core"))
        self.assertEqual((second.name, second.speed), ("eth1", 0))
        self.assertEqual(
            files.gpus(), ({"slot": "0000:41:00.0", "id": "0x10de:0x20b5", "driver": ""},)
        )
        self.assertEqual(files.dmi()["product_uuid"], b"")
        self.assertEqual((files.kexec_loaded, files.systemd, files.has_bmc), (False,) * 3)
        (root / "sys/kernel").mkdir()
        (root / "sys/kernel/kexec_loaded").write_text("1\n")
        self.assertTrue(files.kexec_loaded)

    def test_collected(self) -> None:
        async def collect() -> JSON:
            return {"macs": []}

        run = CollectInventory(collect).run(MemoryRunning("inventory.collect"), NothingSaid())
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(run)), {"macs": []})


class InstalledDiskTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.pauses: list[float] = []

    async def slept(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def test_found_again(self) -> None:
        """W280: whatever the kernel calls it then."""
        row = {"name": "sdq", "type": "disk", "size": 5, "serial": " S1"}
        tools = MemoryTools()
        devices = BlockDevices(Path("/nonexistent"), tools)
        place = Path(self.mktemp())
        installed = InstalledDisk(place, devices, self.slept)
        none = self.failureResultOf(Deferred.fromCoroutine(installed.find()), Rejected).value
        self.assertIn("no image was written", str(none))
        installed.written(DISK)
        printed = json.dumps({"blockdevices": [row]}).encode()
        tools.answers["lsblk",] = Ran(("lsblk",), 0, printed)
        anew = InstalledDisk(place, devices, self.slept)
        found = self.successResultOf(Deferred.fromCoroutine(anew.find()))
        self.assertEqual(found.name, "sdq")
        tools.answers["lsblk",] = Ran(("lsblk",), 0, b'{"blockdevices": []}')
        gone = self.failureResultOf(Deferred.fromCoroutine(installed.find()), Rejected).value
        self.assertIn("is gone", str(gone))

    def test_partitions_that_come_late(self) -> None:
        """W291: looked for again; not without end, where there are none."""
        part = {"name": "sda1", "type": "part", "size": 5, "fstype": "ext4"}
        row = {"name": "sda", "type": "disk", "size": 5, "serial": "S1"}
        said = [{**row, "children": [part]}, {**row, "children": [{**part, "fstype": None}]}, row]

        def printed() -> Ran:
            last = said.pop() if len(said) > 1 else said[0]
            return Ran(("lsblk",), 0, json.dumps({"blockdevices": [last]}).encode())

        tools = MemoryTools({("lsblk",): printed})
        place = Path(self.mktemp())
        installed = InstalledDisk(place, BlockDevices(Path("/nonexistent"), tools), self.slept)
        installed.written(DISK)
        found = self.successResultOf(Deferred.fromCoroutine(installed.find()))
        self.assertEqual(found.holds[0].filesystem, "ext4")
        self.assertEqual(self.pauses, [PAUSE, PAUSE])
        said[0] = row
        found = self.successResultOf(Deferred.fromCoroutine(installed.find()))
        self.assertEqual((found.holds, len(self.pauses)), ((), 2 + LOOKS))
