"""
A machine deployed from nothing by a real gateway, site agent and ramdisk agent: its disk is a file,
and what only a machine of its own can do is done by programs that write down that they were asked.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from twisted.trial.unittest import SkipTest

from rescriptum.cli.main import main
from rescriptum.contract.structure import JSON
from tests.agentprocess import TWISTD, AgentProcess
from tests.functional.test_site_boot import MAC, BootCase

MIB = 1 << 20
START, SIZE, DISK = MIB, 30 * MIB, 5 << 30
USER_DATA = "#cloud-config\nhostname: m1\n"
TOOLS = ("mke2fs", "debugfs", "sgdisk", "zstd")
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
UUID = "11111111-2222-4333-8444-555555555555"
#: Says what the kernel would: the partition is there once its table is.
LSBLK = """#!{python}
import json, pathlib
disk = pathlib.Path({disk!r})
row = {{"name": "vda", "path": str(disk), "type": "disk", "size": {whole}, "serial": "S1",
        "log-sec": 4096, "mountpoints": []}}
with disk.open("rb") as file:
    file.seek(512)
    written = file.read(8) == b"EFI PART"
if written:
    row["children"] = [{{"name": "vda1", "path": f"{{disk}}?offset={start}", "type": "part",
        "size": {size}, "start": {start} // 512, "fstype": "ext4", "uuid": {uuid!r},
        "label": "root", "mountpoints": []}}]
print(json.dumps({{"blockdevices": [row]}}))
"""
ASKED = """#!/bin/sh
echo "$(basename "$0") $*" >> {log}
"""
KEXEC = (
    ASKED
    + """[ "$1" = --load ] || exit 0
cp "$3" {here}/kernel
mkdir -p {root}/sys/kernel
echo 1 > {root}/sys/kernel/kexec_loaded
"""
)


class DeployCase(BootCase):
    def setUp(self) -> None:
        missing = [each for each in TOOLS if shutil.which(each, path=PATH) is None]
        if missing:
            raise SkipTest(f"not installed: {', '.join(missing)}")
        super().setUp()
        self.machine = self.here / "machine"
        nic = self.machine / "root/sys/class/net/eth0"
        (nic / "device").mkdir(parents=True)
        (nic / "address").write_text(f"{MAC}\n")
        self.disk = self.machine / "disk"
        with self.disk.open("wb") as file:  # it has holes: what is not written takes no room
            file.write(b"old!" * MIB)
            file.seek(DISK - 4 * MIB)
            file.write(b"old!" * MIB)
        self.asked = self.machine / "asked"
        self.tools()
        self.image = self.stored(self.made())

    def tools(self) -> None:
        here = self.machine / "bin"
        here.mkdir()
        values = {
            "python": shutil.which("python3"),
            "disk": str(self.disk),
            "whole": DISK,
            "start": START,
            "size": SIZE,
            "uuid": UUID,
            "log": self.asked,
            "here": self.machine,
            "root": self.machine / "root",
        }
        scripts = dict.fromkeys(("blockdev", "udevadm", "ip", "dmsetup", "mdadm"), ASKED)
        for name, script in {**scripts, "lsblk": LSBLK, "kexec": KEXEC}.items():
            (here / name).write_text(script.format(**values))
            (here / name).chmod(0o755)

    def made(self) -> bytes:
        """:returns: a disk with a table, and a root file system with a kernel."""
        tree = self.machine / "tree"
        for directory in ("boot", "etc", "var/lib"):
            (tree / directory).mkdir(parents=True)
        (tree / "boot/vmlinuz-6.1.0-9").write_bytes(b"the older kernel")
        (tree / "boot/vmlinuz-6.1.0-13").write_bytes(b"the kernel")
        (tree / "boot/initrd.img-6.1.0-13").write_bytes(b"its initrd")
        image = self.machine / "image"
        with image.open("wb") as file:
            file.truncate(START + SIZE + MIB)
        first, last = START // 512, (START + SIZE) // 512 - 1
        argv = ["sgdisk", "--clear", f"--new=1:{first}:{last}", "--typecode=1:8304", str(image)]
        subprocess.run(argv, check=True, capture_output=True)
        offset = f"offset={START},root_owner=0:0"
        argv = ["mke2fs", "-q", "-t", "ext4", "-U", UUID, "-d", str(tree), "-E", offset]
        subprocess.run([*argv, str(image), f"{SIZE // 1024}k"], check=True, capture_output=True)
        return image.read_bytes()

    def stored(self, data: bytes) -> Path:
        """:returns: an image as it is handed out."""
        raw, packed = self.machine / "raw", self.machine / "served" / "image.zst"
        raw.write_bytes(data)
        packed.parent.mkdir(exist_ok=True)
        subprocess.run(["zstd", "-q", "-f", str(raw), "-o", str(packed)], check=True)
        return packed

    def served(self) -> str:
        """:returns: URL of the image."""

        class Quiet(SimpleHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        handler = partial(Quiet, directory=str(self.image.parent))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/{self.image.name}"

    def begun(self, digest: str = "") -> str:
        """:returns: the workflow's id; its script is there."""
        agent = self.boots(token=self.gateway.token())
        agent.until(self.active, 90)
        self.site = agent
        self.gateway.operate("PUT", "secrets/hello", {"value": USER_DATA})
        parameters = {
            "sha256": digest or hashlib.sha256(self.image.read_bytes()).hexdigest(),
            "url": self.served(),
            "user_data_ref": "hello",
            "args": "console=ttyS0",
        }
        body = {"kind": "deploy", "machine": "m1", "parameters": parameters}
        made = self.gateway.operate("POST", "workflows", body)
        agent.until(lambda: "bc.token=" in self.script())
        line = next(each for each in self.script().splitlines() if each.startswith("kernel"))
        (self.machine / "cmdline").write_text(f"{line}\n")
        return str(made["id"])

    def ramdisk(self) -> AgentProcess:
        argv = [
            *("--cmdline", str(self.machine / "cmdline"), "--data-dir", str(self.machine / "d")),
            *("--root", str(self.machine / "root")),
        ]
        path = f"{self.machine / 'bin'}:{PATH}"
        made = AgentProcess(self.machine, *argv, entry=TWISTD, role="ramdisk", PATH=path)
        self.agents.append(made)
        return made

    def workflow(self, name: str) -> JSON:
        return self.gateway.operate("GET", f"workflows/{name}")

    def ended(self, name: str) -> JSON:
        self.site.until(lambda: self.workflow(name)["state"] not in ("running", "waiting"), 90)
        return self.workflow(name)

    def head(self, count: int) -> bytes:
        """:returns: what the disk begins with."""
        with self.disk.open("rb") as file:
            return file.read(count)

    def file(self, path: str) -> bytes:
        """:returns: what the installed system has there."""
        out = self.machine / "out"
        argv = ["debugfs", "-R", f"dump {path} {out}", f"{self.disk}?offset={START}"]
        subprocess.run(argv, check=True, capture_output=True)
        return out.read_bytes()

    def certified(self, workflow: str) -> None:
        """The wipe's certificate, as the gateway tells it, is good without it."""
        made = self.gateway.operate("GET", f"commands?workflow={workflow}")["commands"]
        assert isinstance(made, list)
        (wipe,) = (each for each in made if each["kind"] == "disk.wipe")
        told = {"wipe": f"commands/{wipe['id']}", "node": f"nodes/{wipe['node']}"}
        files = {name: self.machine / f"{name}.json" for name in told}
        for name, path in told.items():
            files[name].write_text(json.dumps(self.gateway.operate("GET", path)))
        out, err = io.StringIO(), io.StringIO()
        argv = ["ramdisk", "verify-wipe", str(files["wipe"]), "--node", str(files["node"])]
        self.assertEqual(main(argv, {}, out, err), 0, out.getvalue() + err.getvalue())
        self.assertIn("verified: quick", out.getvalue())


class DeployTests(DeployCase):
    def test_from_nothing_to_its_kernel(self) -> None:
        """Wiped, written, seeded and started; the workflow says so, step by step."""
        name = self.begun()
        agent = self.ramdisk()
        workflow = self.ended(name)
        self.assertEqual(workflow["state"], "done", f"{json.dumps(workflow, indent=1)}{agent.log}")
        image = self.machine / "raw"
        self.assertEqual(self.head(START // 2), image.read_bytes()[: START // 2])
        self.assertEqual(self.file("/var/lib/cloud/seed/nocloud/user-data").decode(), USER_DATA)
        self.assertIn(b"instance-id", self.file("/var/lib/cloud/seed/nocloud/meta-data"))
        self.assertIn(b'site = "lab"', self.file("/etc/rescriptum/config.toml"))
        self.assertIn(b'"X25519"', self.file("/etc/rescriptum/join-encryption.jwk"))
        self.site.until(lambda: "kexec -e" in self.asked.read_text())
        self.assertEqual((self.machine / "kernel").read_bytes(), b"the kernel")
        asked = self.asked.read_text()
        self.assertIn(f"--command-line=root=UUID={UUID} ro console=ttyS0", asked)
        self.assertLess(asked.index("ip link set eth0 down"), asked.index("kexec -e"))
        self.certified(name)
        self.assertNotIn("hostname: m1", agent.log + self.site.log + self.gateway.text)
        self.assertNotIn("Traceback", agent.log + self.site.log)

    def test_another_image_than_was_promised(self) -> None:
        """Nothing on the disk boots, and the workflow says at which stage it failed."""
        name = self.begun("ab" * 32)
        self.ramdisk()
        workflow = self.ended(name)
        self.assertEqual(workflow["state"], "failed")
        self.assertIn("image.write: failed: digest-mismatch: verify:", str(workflow["reason"]))
        self.assertEqual(self.head(2 * MIB), bytes(2 * MIB))

    def test_the_agent_is_killed(self) -> None:
        """In the same boot it is begun anew, and does what it was at anew."""
        name = self.begun()
        agent = self.ramdisk()
        self.site.until(lambda: "Running image.write" in agent.log, 60)
        agent.kill()
        again = self.ramdisk()
        workflow = self.ended(name)
        self.assertEqual(workflow["state"], "done", f"{json.dumps(workflow, indent=1)}{again.log}")

    def test_the_gateway_is_killed(self) -> None:
        """The agents go on, and tell the next one of it."""
        name = self.begun()
        agent = self.ramdisk()
        self.site.until(lambda: "Running disk.wipe" in agent.log, 60)
        assert self.gateway.process is not None
        self.gateway.process.process.kill()
        self.gateway.process.process.wait()
        self.gateway.start()
        workflow = self.ended(name)
        self.assertEqual(workflow["state"], "done", f"{json.dumps(workflow, indent=1)}{agent.log}")
