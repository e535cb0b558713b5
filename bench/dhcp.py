"""
``python -m bench.dhcp``: our proxy DHCP beside dnsmasq's, each over a veth of its own namespaces.

Root, and the packages dnsmasq-base and iproute2.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .benchlib import FIRST, HERE, TOOLS, Bar, Sample, Server, compare, end_on_request, load, report

OURS, DNSMASQ = "rescriptum", "dnsmasq"
MACHINES = 1000
ADDRESS = "10.77.9.1"

STORM, ONE = "32 outstanding", "one outstanding, median latency"
CASES = {STORM: ("-o", "32", "-n", "60000"), ONE: ("-o", "1", "-n", "15000")}
#: Issue 5. Latencies are compared by their inverse: 1.2 and 0.8 times dnsmasq's.
BARS = (Bar(STORM, DNSMASQ, 0.8, 1.3), Bar(ONE, DNSMASQ, 1 / 1.2, 1 / 0.8))
RATES = {STORM: "offers_per_s", ONE: "medians_per_s"}


def ip(*argv: str) -> None:
    subprocess.run(["ip", *argv], check=True)


@contextmanager
def wire(name: str) -> Iterator[tuple[str, str]]:
    """:returns: a server's namespace and a client's, with a cable between; no route leads out."""
    server, client = (f"rescriptum-bench-{os.getpid()}-{name}-{end}" for end in "sc")
    with ExitStack() as stack:
        for each in (server, client):
            ip("netns", "add", each)
            stack.callback(ip, "netns", "del", each)
        ip("-n", server, "link", "add", "eth0", "type", "veth", "peer", "eth0", "netns", client)
        ip("-n", server, "address", "add", f"{ADDRESS}/24", "dev", "eth0")
        for each in (server, client):
            ip("-n", each, "link", "set", "lo", "up")
            ip("-n", each, "link", "set", "eth0", "up")
        yield server, client


def servers(directory: Path, places: dict[str, str]) -> list[Server]:
    """:param places: the namespace of each."""
    commands = {
        OURS: [sys.executable, "-m", "bench.dhcp_server", ADDRESS, str(MACHINES)],
        DNSMASQ: [
            "dnsmasq",
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--pid-file=",
            "--user=root",
            "--port=0",
            "--interface=eth0",
            "--dhcp-range=10.77.9.0,proxy",
            "--pxe-service=X86-64_EFI,rescriptum,ipxe-x86_64.efi",
            f"--dhcp-leasefile={directory / 'leases'}",
            "--log-facility=-",
            "--quiet-dhcp",  # ours says more; the less it writes, the harder it is to beat
        ],
    }
    return [
        Server(
            name,
            argv,
            "udp",
            67,
            {"PYTHONPATH": str(HERE.parent)},
            directory / f"{name}.log",
            (*FIRST, "ip", "netns", "exec", places[name]),
            places[name],
        )
        for name, argv in commands.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.dhcp", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of every case and server")
    end_on_request()
    rounds = int(parser.parse_args().rounds)
    missing = [each for each in (DNSMASQ, "ip") if shutil.which(each) is None]
    if missing:
        sys.exit(f"nothing to compare with: {', '.join(missing)} is not installed")
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="rescriptum-bench-"))
        wires = {name: stack.enter_context(wire(name[0])) for name in (OURS, DNSMASQ)}
        beside = servers(Path(directory), {name: ends[0] for name, ends in wires.items()})
        rates: dict[Sequence[str], str] = {CASES[case]: rate for case, rate in RATES.items()}

        def run(server: Server, options: Sequence[str]) -> Sample:
            blast = [str(TOOLS / "dhcpblast"), "-i", "eth0", "-m", str(MACHINES), *options]
            argv = ["ip", "netns", "exec", wires[server.name][1], *blast]
            return load(server, argv, rates[options])

        for each in beside:
            stack.enter_context(each)
        results = compare(CASES, BARS, beside, run, rounds)
    return 0 if report(results, BARS, OURS, "/s") else 1


if __name__ == "__main__":
    sys.exit(main())
