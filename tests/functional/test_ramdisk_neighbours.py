"""Tests for neighbours by LLDP: over a cable of its own, in a network namespace made for it."""

import json
import os
import subprocess
import sys

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from tests.processes import ROOT

#: Listens at one end of a cable, speaks at the other, and prints what was heard.
SCRIPT = """
import json, socket
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from rescriptum.ramdisk.hardware.client import Listening
from tests.test_ramdisk_hardware import FRAME

def speak():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind(("there", 0))
        sock.send(FRAME[:12] + b"\\x08\\x00" + FRAME[14:])
        sock.send(FRAME.ljust(60, b"\\0"))

async def listen():
    heard = Listening(reactor, reactor).heard(["here", "nowhere"], 30.0)
    reactor.callLater(0, speak)
    found, warnings = await heard
    print(json.dumps([{k: v.document for k, v in found.items()}, warnings]))

def begin():
    Deferred.fromCoroutine(listen()).addErrback(lambda f: f.printTraceback()).addBoth(
        lambda _: reactor.stop()
    )

reactor.callWhenRunning(begin)
reactor.run()
"""
CABLE = """
ip link add here type veth peer name there
ip link set here up
ip link set there up
exec "$0" -c "$1"
"""


class NeighboursTests(SynchronousTestCase):
    def setUp(self) -> None:
        if os.geteuid() != 0:
            raise SkipTest("needs root: it makes a network namespace")
        tried = subprocess.run(
            ["unshare", "-n", "ip", "link", "add", "cable0", "type", "veth"], capture_output=True
        )
        if tried.returncode:
            raise SkipTest(f"no network namespaces here: {tried.stderr.decode().strip()}")

    def test_real_frames(self) -> None:
        """Sent to its group address, and to no address of ours."""
        ran = subprocess.run(
            ["unshare", "-n", "sh", "-c", CABLE, sys.executable, SCRIPT],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=120,
        )
        self.assertEqual(ran.returncode, 0, ran.stderr.decode())
        found, warnings = json.loads(ran.stdout)
        self.assertEqual(found["here"]["system"], "leaf-3")
        self.assertEqual(warnings, ["nowhere: no neighbours: No such device"])
