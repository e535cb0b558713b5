"""
What runs beside the machines: the server under test, and DHCP servers that know of it by nothing
but what ``rescriptum boot dhcp-snippet`` prints.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from .assets import CHECKOUT
from .network import CLIENTS, DHCP, MASK, NETWORK, SERVER, Network, Running, wait_for

TWISTD = (
    *(sys.executable, "-c", "from twisted.scripts.twistd import run; run()"),
    *("-n", "--pidfile="),
)
RESCRIPTUM = (sys.executable, "-c", "from rescriptum.cli.main import run; run()")
ANSWERS_PORT, MEDIA_PORT, TFTP_PORT = 8000, 8001, 69


class Logged:
    """What writes its events as JSON, a line each."""

    _running: Running

    def events(self, name: str = "") -> list[Mapping[str, object]]:
        """:returns: what it logged of machines, in order; of one kind where that is named."""
        events = []
        for line in self._running.text().splitlines():
            if line.startswith("{") and line.endswith("}"):
                event = json.loads(line)
                if event.get("event") and name in ("", event["event"]):
                    events.append(event)
        return events

    def complaints(self) -> list[str]:
        """:returns: lines that are no events: a traceback, a warning of Python's."""
        lines = self._running.text().splitlines()
        return [each for each in lines if not each.startswith("{") or '"traceback"' in each]


class BootServer(Logged):
    """
    ``twistd -n rescriptum`` from this checkout, alone in its namespace.

    :ivar answers: its answer set, and ``media`` its images; both start empty.
    :ivar loaders: its boot directory.
    :ivar settings: further variables of its environment.
    """

    def __init__(self, network: Network, loaders: Path) -> None:
        self._network = network
        self.loaders = loaders
        self.settings: dict[str, str] = {}
        self.answers = network.directory / "answers"
        self.media = network.directory / "media"
        for each in (self.answers, self.media):
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir()
        network.host("srv", SERVER)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {
            "PYTHONPATH": str(CHECKOUT),
            "RESCRIPTUM_ANSWERS_DIR": str(self.answers),
            "RESCRIPTUM_MEDIA_DIR": str(self.media),
            "RESCRIPTUM_BOOT_DIR": str(self.loaders),
            "RESCRIPTUM_BOOT_TIMEOUT_SECS": "1",
            "RESCRIPTUM_PUBLIC_HOST": SERVER,
            **self.settings,
        }

    def start(self) -> None:
        """:raises AssertionError: when it does not listen within 20 seconds."""
        self._running = self._network.spawn(
            "srv",
            "server",
            [*TWISTD, "--logger", "rescriptum.logs.json", "rescriptum"],
            self._environment,
        )
        wanted = (("tcp", ANSWERS_PORT), ("tcp", MEDIA_PORT), ("udp", TFTP_PORT))
        listens = wait_for(
            lambda: all(self._network.port_open("srv", *each) for each in wanted),
            20,
            lambda: self._running.ended,
        )
        if not listens:
            raise AssertionError(f"the server does not listen:\n{self._running.text()[-4000:]}")

    def command(self, *argv: str, code: int = 0) -> str:
        """
        :returns: what ``rescriptum ARGV`` prints, run as the server is.
        :raises AssertionError: when it exits with anything but ``code``.
        """
        done = self._network.call("srv", [*RESCRIPTUM, *argv], self._environment)
        if done.returncode != code:
            raise AssertionError(f"rescriptum {' '.join(argv)}: {done.stdout}{done.stderr}")
        return done.stdout


def dnsmasq(network: Network, snippet: str) -> Running:
    """DHCP and nothing else: the snippet, a range, and a router that is not there."""
    configuration = network.directory / "dnsmasq.conf"
    configuration.write_text(
        f"{snippet}\ndhcp-range={CLIENTS[0]},{CLIENTS[1]},{MASK},1h\n"
        # Debian's installer stops at a question without these two.
        f"dhcp-option=3,{SERVER}\ndhcp-option=6,{SERVER}\n"
    )
    running = network.spawn(
        "dhcp",
        "dhcp",
        [
            *("dnsmasq", "-k", "-C", configuration, "--port=0", "--user=root", "--no-ping"),
            *("--log-dhcp", "--log-facility=-"),
            f"--dhcp-leasefile={network.directory / 'dnsmasq.leases'}",
        ],
    )
    running.wait_for("DHCP, IP range", 10)
    return running


def isc(network: Network, snippet: str) -> Running:
    """ISC's dhcpd: the snippet in its global scope, and a subnet."""
    configuration = network.directory / "dhcpd.conf"
    leases = network.directory / "dhcpd.leases"
    leases.write_text("")
    configuration.write_text(
        f"{snippet}\nsubnet {NETWORK.split('/')[0]} netmask {MASK} {{\n"
        f"  range {CLIENTS[0]} {CLIENTS[1]};\n  option routers {SERVER};\n}}\n"
    )
    running = network.spawn(
        "dhcp",
        "dhcp",
        [
            *("dhcpd", "-4", "-f", "-d", "-user", "root", "-group", "root"),
            *("-cf", configuration, "-lf", leases),
            *("-pf", network.directory / "dhcpd.pid", "eth0"),
        ],
    )
    running.wait_for("Sending on", 10)
    return running


def kea(network: Network, snippet: str) -> Running:
    """Kea: a subnet beside what the snippet says."""
    configuration = network.directory / "kea.json"
    document = json.loads(snippet)
    document["Dhcp4"] |= {
        "interfaces-config": {"interfaces": ["eth0"], "dhcp-socket-type": "raw"},
        "lease-database": {"type": "memfile", "persist": False},
        "subnet4": [{"id": 1, "subnet": NETWORK, "pools": [{"pool": " - ".join(CLIENTS)}]}],
        "loggers": [
            {"name": "kea-dhcp4", "severity": "INFO", "output_options": [{"output": "stdout"}]}
        ],
    }
    configuration.write_text(json.dumps(document, indent=1))
    running = network.spawn(
        "dhcp",
        "dhcp",
        ["kea-dhcp4", "-c", configuration],
        {
            "KEA_LOCKFILE_DIR": str(network.directory),
            "KEA_PIDFILE_DIR": str(network.directory),
        },
    )
    running.wait_for("DHCP4_STARTED", 15)
    return running


def site(network: Network) -> None:
    """The namespace that DHCP servers run in; it has the router that iPXE waits for, too."""
    network.host("dhcp", DHCP)
    network.router6("dhcp")
