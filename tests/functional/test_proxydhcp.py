"""
Proxy DHCP over a network of its own: two namespaces and a pair of veths, made and removed here.

The server's side has two addresses and no default route, as boot networks have.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from rescriptum.proxydhcp import wire
from tests.dhcpcases import MACHINE, asked, packet
from tests.processes import ROOT

PREFIX = "rescriptum-dhcp"
SERVER = """
import sys, time
from ipaddress import IPv4Address
from twisted.internet import reactor
from twisted.logger import globalLogBeginner
from rescriptum import logs
from rescriptum.boot.discovery import Discoveries
from rescriptum.boot.entries import BootEntries, BootEntry, BootKind
from rescriptum.net.udp import UDP
from rescriptum.proxydhcp.answer import BootFiles
from rescriptum.proxydhcp.policy import Policy
from rescriptum.proxydhcp.protocol import ProxyDHCP
from rescriptum.proxydhcp.service import ProxyDHCPService
from rescriptum.proxydhcp.strategies import Strategies
from tests.dhcpcases import MACHINE, Lease
globalLogBeginner.beginLoggingTo([logs.observer("all", "stdout")], redirectStandardIO=False)
own, lease = IPv4Address("10.78.0.1"), Lease(0)
policy = Policy(BootFiles(own, "http://10.78.0.1:8080"), lease,
    BootEntries([BootEntry(MACHINE, BootKind.LOCAL)]), Strategies(), time.time)
server = ProxyDHCP(UDP(reactor, time.monotonic), policy, fence=lease,
    discovered=Discoveries(True), server=own.packed, monotonic=time.monotonic, now=time.time,
    found=lambda: None)
service = ProxyDHCPService(server)
service.privilegedStartService()
service.startService()
reactor.addSystemEventTrigger("before", "shutdown", service.stopService)
print("ready", flush=True)
reactor.run()
"""
#: Sends a packet and prints what comes back: ``SOURCE PORT TARGET PORT HEX``.
CLIENT = """
import json, socket, sys
source, port, target, to, data = sys.argv[1:]
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"veth0\\0")
sock.bind((source, int(port)))
sock.settimeout(2)
sock.sendto(bytes.fromhex(data), (target, int(to)))
try:
    datagram, peer = sock.recvfrom(4096)
except TimeoutError:
    print("null")
else:
    print(json.dumps([datagram.hex(), *peer]))
"""


def ip(*argv: str) -> None:
    subprocess.run(["ip", *argv], check=True, capture_output=True, text=True)


class NetworkTests(SynchronousTestCase):
    def setUp(self) -> None:
        if os.geteuid() or (not Path("/usr/sbin/ip").exists() and not Path("/sbin/ip").exists()):
            raise SkipTest("network namespaces need root, and iproute2")
        self.spaces = [f"{PREFIX}-{os.getpid()}-{end}" for end in "sc"]
        server, client = self.spaces
        for each in self.spaces:
            ip("netns", "add", each)
            self.addCleanup(ip, "netns", "del", each)
        ip("-n", server, "link", "add", "veth0", "type", "veth", "peer", "veth0", "netns", client)
        for space, addresses in ((server, ("10.78.0.1", "10.78.0.2")), (client, ("10.78.0.50",))):
            for each in addresses:
                ip("-n", space, "address", "add", f"{each}/24", "dev", "veth0")
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "link", "set", "veth0", "up")
        with tempfile.NamedTemporaryFile(prefix="rescriptum-", delete=False) as file:
            self.log = Path(file.name)
            self.addCleanup(self.log.unlink)
            command = ["ip", "netns", "exec", server, sys.executable, "-c", SERVER]
            environ = {**os.environ, "PYTHONPATH": str(ROOT)}
            self.server = subprocess.Popen(command, stdout=file, stderr=file, env=environ, cwd=ROOT)
        self.addCleanup(self.stop)
        self.wait_for("ready")

    def stop(self) -> int:
        if self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
        return self.server.wait(20)

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 30
        while text not in self.log.read_text():
            if time.monotonic() > end or self.server.poll() is not None:
                self.fail(f"it never said {text!r}: {self.log.read_text()}")
            time.sleep(0.05)

    def ask(
        self, source: str, port: int, target: str, to: int, datagram: bytes
    ) -> tuple[bytes, str, int] | None:
        words = [source, str(port), target, str(to), datagram.hex()]
        command = ["ip", "netns", "exec", self.spaces[1], sys.executable, "-c", CLIENT, *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
        found = json.loads(done.stdout)
        return None if found is None else (bytes.fromhex(found[0]), found[1], found[2])

    def test_broadcasts_without_a_default_route(self) -> None:
        """From its own address and port 67; a machine without an entry hears nothing."""
        heard = self.ask("0.0.0.0", 68, "255.255.255.255", 67, packet(asked()))
        assert heard is not None
        datagram, *peer = heard
        self.assertEqual(peer, ["10.78.0.1", 67])
        self.assertEqual(wire.decode(datagram).kind, wire.OFFER)
        stranger = bytearray(packet(asked()))
        stranger[33] ^= 1
        self.assertIsNone(self.ask("0.0.0.0", 68, "255.255.255.255", 67, bytes(stranger)))
        self.wait_for("left alone")

    def test_answers_at_4011_from_the_address_that_was_asked(self) -> None:
        """B28: of two on one interface."""
        for own in ("10.78.0.2", "10.78.0.1"):
            request = packet(asked(wire.REQUEST), client="10.78.0.50")
            heard = self.ask("10.78.0.50", 4011, own, 4011, request)
            assert heard is not None
            self.assertEqual(heard[1:], (own, 4011))
            self.assertEqual(wire.decode(heard[0]).kind, wire.ACK)

    def test_answers_a_relay_at_port_67(self) -> None:
        """Wherever it sent from."""
        relayed = packet(asked(), relay="10.78.0.50")
        self.assertIsNone(self.ask("10.78.0.50", 45000, "10.78.0.1", 67, relayed))
        heard = self.ask("10.78.0.50", 67, "10.78.0.1", 67, relayed)
        assert heard is not None
        self.assertEqual(wire.decode(heard[0]).mac.hex(), MACHINE.bare)

    def test_hears_others_and_not_itself(self) -> None:
        """And lets go of its ports when it is told to."""
        self.ask("0.0.0.0", 68, "255.255.255.255", 67, packet(asked()))
        said = ((53, b"\2"), (54, bytes((10, 78, 0, 9))), (60, b"PXEClient"))
        rival = packet(wire.encode_options(said) + b"\xff", operation=2)
        self.ask("10.78.0.50", 67, "255.255.255.255", 68, rival)
        self.wait_for("10.78.0.9 another-proxy")
        self.assertNotIn("10.78.0.1 another-proxy", self.log.read_text())
        self.assertEqual(self.stop(), 0)
        self.assertNotIn("Traceback", self.log.read_text())
