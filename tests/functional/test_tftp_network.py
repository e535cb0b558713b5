"""
TFTP over a network of its own: two namespaces and a pair of veths, made and removed here.

The server is the whole one, as an operator starts it, with nothing said about addresses.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from tests.processes import ROOT

PREFIX = "rescriptum-tftp"
#: Reads a file from an address and prints what it saw: ``ADDRESS OPTIONS NAME``, options by comma.
CLIENT = """
import json, socket, sys
host, options, name = sys.argv[1:]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
sock = socket.socket(family, socket.SOCK_DGRAM)
sock.settimeout(float(3))
sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1) if family == socket.AF_INET else None
request = b"\\0\\1" + name.encode() + b"\\0octet\\0"
for each in filter(None, options.split(",")):
    request += b"".join(part.encode() + b"\\0" for part in each.split("="))
server = socket.getaddrinfo(host, 69, family, socket.SOCK_DGRAM)[0][4]
sock.sendto(request, server)
seen = {"from": [], "lengths": [], "oack": "", "size": 0, "error": ""}
window, since, block, full = 1, 0, 0, 512
while True:
    try:
        datagram, peer = sock.recvfrom(70000)
    except TimeoutError:
        seen["error"] = "silence"
        break
    if peer[0] not in seen["from"]:
        seen["from"].append(peer[0])
    kind = datagram[1]
    if kind == 6:
        seen["oack"] = datagram[2:].decode()
        pairs = datagram[2:].split(b"\\0")
        granted = dict(zip(pairs[::2], pairs[1::2]))
        window = int(granted.get(b"windowsize", 1))
        full = int(granted.get(b"blksize", 512))
    elif kind == 3:
        if int.from_bytes(datagram[2:4], "big") != (block + 1) & 65535:
            continue
        block += 1
        since += 1
        seen["size"] += len(datagram) - 4
        if len(datagram) not in seen["lengths"]:
            seen["lengths"].append(len(datagram))
        if since < window and len(datagram) == full + 4:
            continue
    else:
        seen["error"] = datagram[4:-1].decode()
        break
    since = 0
    sock.sendto(b"\\0\\4" + (block & 65535).to_bytes(2, "big"), peer)
    if kind == 3 and len(datagram) < full + 4:
        break
print(json.dumps(seen))
"""


def ip(*words: str) -> str:
    return subprocess.run(
        ["ip", *words], check=True, capture_output=True, text=True, timeout=20
    ).stdout


def sweep() -> None:
    """Remove what killed runs have left: namespaces of ours whose process is gone."""
    for line in ip("netns", "list").splitlines():
        found = re.match(rf"({PREFIX}-(\d+)-[a-z]+)\b", line)
        if found and not Path(f"/proc/{found[2]}").exists():
            for pid in ip("netns", "pids", found[1]).split():
                os.kill(int(pid), signal.SIGKILL)
            ip("netns", "del", found[1])


class NetworkTests(SynchronousTestCase):
    def setUp(self) -> None:
        if os.geteuid() != 0:
            raise SkipTest("namespaces need root")
        try:
            sweep()
            for side in ("srv", "cli"):
                ip("netns", "add", self.name(side))
                self.addCleanup(ip, "netns", "del", self.name(side))
                self.ip(side, "link set lo up")
            self.ip("srv", f"link add eth0 type veth peer name eth0 netns {self.name('cli')}")
        except (OSError, subprocess.SubprocessError) as e:
            raise SkipTest(f"no network namespaces here: {e}") from None
        for side, addresses in (
            ("srv", ("10.0.0.1/24", "10.0.0.2/24", "fd00::1/64", "fd00::2/64")),
            ("cli", ("10.0.0.9/24", "fd00::9/64")),
        ):
            for address in addresses:
                extra = " nodad" if ":" in address else ""
                self.ip(side, f"addr add {address} dev eth0{extra}")
            self.ip(side, "link set eth0 up")
        self.ip("srv", "addr add 192.0.2.1/32 dev lo")
        self.ip("cli", "route add default via 10.0.0.1")
        self.start()

    def name(self, side: str) -> str:
        return f"{PREFIX}-{os.getpid()}-{side}"

    def ip(self, side: str, words: str) -> None:
        ip("-n", self.name(side), *words.split())

    def start(self) -> None:
        here = Path(self.mktemp()).absolute()
        for each in ("answers", "boot"):
            (here / each).mkdir(parents=True)
        (here / "boot" / "loader.efi").write_bytes(bytes(300000))
        self.log = here / "log"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("RESCRIPTUM_")}
        environ = {
            "PYTHONPATH": str(ROOT),
            "RESCRIPTUM_ANSWERS_DIR": str(here / "answers"),
            "RESCRIPTUM_BOOT_DIR": str(here / "boot"),
            "RESCRIPTUM_TFTP_ADDR": "[::]:69",
            "RESCRIPTUM_PUBLIC_HOST": "10.0.0.1",
        }
        twistd = "from twisted.scripts.twistd import run; run()"
        inside = ("ip", "netns", "exec", self.name("srv"))
        with self.log.open("wb") as log:
            server = subprocess.Popen(
                [*inside, sys.executable, "-c", twistd, "-n", "--pidfile=", "rescriptum"],
                env={**kept, **environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.addCleanup(self.end, server)
        until = time.monotonic() + 30
        while "tftp listens on 0.0.0.0" not in self.log.read_text():
            if server.poll() is not None or time.monotonic() > until:
                self.fail(self.log.read_text())
            time.sleep(0.05)

    def end(self, server: subprocess.Popen[bytes]) -> None:
        server.terminate()
        try:
            server.wait(40)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()

    def ask(self, host: str, options: str = "", name: str = "loader.efi") -> dict[str, object]:
        command = ["ip", "netns", "exec", self.name("cli"), sys.executable, "-c", CLIENT]
        done = subprocess.run(
            [*command, host, options, name], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads(done.stdout)
        assert isinstance(seen, dict)
        return seen

    def usable(self, side: str) -> str:
        """:returns: the interface's own address, once the kernel knows that nobody else has it."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            listed = ip("-n", self.name(side), "-6", "-j", "addr", "show", "dev", "eth0")
            for each in json.loads(listed)[0]["addr_info"]:
                if each["scope"] == "link" and not each.get("tentative"):
                    return str(each["local"])
            time.sleep(0.05)
        raise AssertionError(f"{side} has no address of its own: {listed}")

    def test_answers_come_from_the_address_that_was_asked(self) -> None:
        """
        Two addresses on one interface, one on lo, IPv4 and IPv6, files and errors: every datagram
        comes from there (field case B28).
        """
        for host in ("10.0.0.1", "10.0.0.2", "192.0.2.1", "fd00::1", "fd00::2"):
            for options in ("", "blksize=1468,windowsize=16"):
                seen = self.ask(host, options)
                self.assertEqual((seen["from"], seen["size"]), ([host], 300000), seen)
            self.assertEqual(self.ask(host, name="missing")["from"], [host])

    def test_a_link_local_address_is_answered(self) -> None:
        """It means nothing without its interface."""
        self.usable("cli")
        local = self.usable("srv")
        seen = self.ask(f"{local}%eth0", "blksize=1468")
        self.assertEqual(seen["size"], 300000, seen)

    def test_blocks_fit_the_path(self) -> None:
        """1468 bytes on Ethernet, 1448 by IPv6, less on a smaller link (field case B34)."""
        for mtu, host, blksize in (
            (1500, "10.0.0.1", 1468),
            (1500, "fd00::1", 1448),
            (1400, "10.0.0.1", 1368),
            (1400, "fd00::1", 1348),
        ):
            for side in ("srv", "cli"):
                self.ip(side, f"link set eth0 mtu {mtu}")
            for windowsize in (1, 16):
                seen = self.ask(host, f"blksize=65464,windowsize={windowsize}")
                self.assertIn(f"blksize\0{blksize}\0", str(seen["oack"]))
                lengths = [blksize + 4, 300000 % blksize + 4]
                self.assertEqual((seen["lengths"], seen["size"]), (lengths, 300000), seen)

    def test_a_broadcast_meets_silence(self) -> None:
        """To all of the net, to all of the link: no answer, one line (field case B29)."""
        for host in ("255.255.255.255", "10.0.0.255"):
            self.assertEqual(self.ask(host)["error"], "silence")
        text = self.log.read_text()
        self.assertEqual(text.count("tftp: loader.efi refused: broadcast"), 1, text)
