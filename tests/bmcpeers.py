"""
BMCs that others wrote, each as a process of its own for as long as a test runs: sushy-tools'
emulator for Redfish, OpenIPMI's simulator for IPMI.
"""

import ctypes
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography.x509 import load_pem_x509_certificate
from twisted.trial.unittest import SkipTest

from rescriptum.contract.certificates import certificate_pin

from .certificates import write_certificate
from .processes import free_port

USER, PASSWORD = "admin", "Peer1Secret"
UUID = "11111111-2222-3333-4444-555555555555"
MAC = "52:54:00:12:34:56"
_DIE_WITH_PARENT = 1  # prctl(2): PR_SET_PDEATHSIG

#: Its machines change their power after 1 to 11 seconds, by chance; here after the shortest time.
_EMULATOR = (
    "import random, sys; random.randint = lambda least, most: least;"
    " from sushy_tools.emulator.main import main; sys.exit(main())"
)
_EMULATOR_CONF = """
SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = {port}
SUSHY_EMULATOR_SSL_CERT = {certificate!r}
SUSHY_EMULATOR_SSL_KEY = {key!r}
SUSHY_EMULATOR_AUTH_FILE = {passwords!r}
SUSHY_EMULATOR_FAKE_DRIVER = True
SUSHY_EMULATOR_STATE_DIR = {state!r}
SUSHY_EMULATOR_VMEDIA_VERIFY_SSL = False
SUSHY_EMULATOR_FAKE_SYSTEMS = [{{
    'uuid': {uuid!r}, 'name': 'box', 'power_state': 'Off', 'external_notifier': False,
    'nics': [{{'mac': {mac!r}, 'ip': '192.0.2.7'}}]}}]
"""
_LAN_CONF = """
name "peer"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{chassis} 0x20"
  startnow false
  user 1 true "" "none" user 10 none md2 md5 straight
  user 2 true "{user}" "{password}" admin 10 none md2 md5 straight
"""
_SIM_EMU = """
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
sel_add 0x20 0x02 0x00 0x00 0x00 0x00 0x20 0x00 0x04 0x01 0x30 0x01 0x00 0xff 0xff
mc_enable 0x20
"""
#: ``get NAME...`` and ``set NAME VALUE``, each in a file of its name.
_CHASSIS = """#!/bin/sh
op=$2
shift 2
if [ "$op" = get ]; then
  for each in "$@"; do echo "$each:$(cat {here}/$each)"; done
else
  while [ $# -gt 1 ]; do echo "$2" >{here}/$1; shift 2; done
fi
"""


class Peer:
    """
    A process.

    :ivar log: what it wrote.
    """

    def __init__(self, here: Path, argv: Sequence[str]) -> None:
        self.log = here / "log"
        library = ctypes.CDLL(None)
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=here,
                env={**os.environ, "TMPDIR": str(here)},  # images that it was told to fetch
                # However these tests end, it ends with them.
                preexec_fn=lambda: library.prctl(_DIE_WITH_PARENT, signal.SIGKILL),
            )

    def wait(self, ready: Callable[[], bool]) -> None:
        """:raises AssertionError: with its log, where it never is."""
        end = time.monotonic() + 30
        while not ready():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"it never listened: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)


class Emulator(Peer):
    """
    One machine by Redfish, over TLS, with basic authentication.

    :ivar url: and ``pin``: of it.
    """

    def __init__(self, here: Path) -> None:
        """:raises SkipTest: where sushy-tools is not installed."""
        if importlib.util.find_spec("sushy_tools") is None:
            raise SkipTest("sushy-tools is not installed")
        import bcrypt  # of sushy-tools

        certificate, key = write_certificate(here, "localhost")
        self.pin = certificate_pin(load_pem_x509_certificate(certificate.read_bytes())).text
        passwords, state, conf = here / "passwords", here / "state", here / "emulator.conf"
        hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
        passwords.write_text(f"{USER}:{hashed}\n")
        state.mkdir()
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        conf.write_text(
            _EMULATOR_CONF.format(
                port=port,
                certificate=str(certificate),
                key=str(key),
                passwords=str(passwords),
                state=str(state),
                uuid=UUID,
                mac=MAC,
            )
        )
        super().__init__(here, [sys.executable, "-c", _EMULATOR, "--config", str(conf)])
        self.wait(lambda: _accepts(port))


class Simulator(Peer):
    """
    One machine by IPMI 2.0.

    :ivar address: host and port.
    """

    def __init__(self, here: Path) -> None:
        """:raises SkipTest: where OpenIPMI's simulator or ipmitool is not installed."""
        for name in ("ipmi_sim", "ipmitool"):
            if shutil.which(name) is None:
                raise SkipTest(f"{name} is not installed")
        self._here = here
        port = free_port(socket.SOCK_DGRAM)
        self.address = f"127.0.0.1:{port}"
        chassis, state = here / "chassis", here / "state"
        chassis.write_text(_CHASSIS.format(here=here))
        chassis.chmod(0o700)
        state.mkdir()
        (here / "power").write_text("0\n")
        (here / "boot").write_text("none\n")
        conf, emu = here / "lan.conf", here / "sim.emu"
        conf.write_text(_LAN_CONF.format(port=port, chassis=chassis, user=USER, password=PASSWORD))
        emu.write_text(_SIM_EMU)
        argv = ["ipmi_sim", "-n", "-c", str(conf), "-f", str(emu), "-s", str(state)]
        super().__init__(here, argv)
        self.wait(lambda: self._answers(port))

    def told(self, name: str) -> str:
        """:returns: what the machine was last told: ``power`` or ``boot``."""
        return (self._here / name).read_text().strip()

    def _answers(self, port: int) -> bool:
        """:returns: whether it answers an RMCP ping (ASF)."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.settimeout(0.2)
            probe.connect(("127.0.0.1", port))
            try:
                probe.send(bytes.fromhex("0600ff06000011be80010000"))
                return bool(probe.recv(64))
            except OSError:
                return False


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
