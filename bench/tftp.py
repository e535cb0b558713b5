"""
``python -m bench.tftp``: our server beside dnsmasq, tftpd-hpa and atftpd, over loopback.

Root, and the packages dnsmasq-base and tftpd-hpa. atftpd's package cannot be installed beside the
latter: it is fetched and unpacked, never installed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from .benchlib import FIRST, HERE, TOOLS, Bar, Sample, Server, compare, end_on_request, load, report

NAME = "loader.efi"
SIZE = 1048677
OURS, DNSMASQ, HPA, ATFTPD = "rescriptum", "dnsmasq", "tftpd-hpa", "atftpd"
PORTS = {OURS: 6900, DNSMASQ: 69, HPA: 6901, ATFTPD: 6902}

LOCK_512, LOCK_1468 = "one, lockstep 512", "one, lockstep 1468"
STORM = "64 at once, lockstep 1468"
WINDOW_16, WINDOW_64 = "one, windowsize 16", "one, windowsize 64"
STORM_16 = "64 at once, windowsize 16"
LOSS = "32 at once, windowsize 16, 1 % loss"

#: What ``tftpload`` is told. Clients have addresses of their own, as machines have: -A.
CASES = {
    LOCK_512: ("-n", "12"),
    LOCK_1468: ("-n", "40", "-b", "1468"),
    STORM: ("-n", "192", "-c", "64", "-b", "1468"),
    WINDOW_16: ("-n", "100", "-b", "1468", "-w", "16"),
    WINDOW_64: ("-n", "120", "-b", "1468", "-w", "64"),
    STORM_16: ("-n", "384", "-c", "64", "-b", "1468", "-w", "16"),
    LOSS: ("-n", "64", "-c", "32", "-b", "1468", "-w", "16", "-l", "10", "-T", "400"),
}
#: Issue 2. dnsmasq and tftpd-hpa know no windows and answer those requests in lockstep.
BARS = (
    Bar(LOCK_512, DNSMASQ, 0.9, 1.3),
    Bar(LOCK_1468, DNSMASQ, 0.9, 1.3),
    Bar(STORM, DNSMASQ, 0.6, 1.0),
    Bar(STORM, HPA, 1.2, 1.6),
    Bar(WINDOW_16, ATFTPD, 1.2, 1.5),
    Bar(WINDOW_64, ATFTPD, 1.8, 3.0),
    Bar(STORM_16, ATFTPD, 1.5, 2.0),
    Bar(STORM_16, DNSMASQ, 2.5, 4.0),
    Bar(LOSS, ATFTPD, 1.0, 1.4),
)


def atftpd() -> str:
    """:returns: the program of Debian's package, unpacked beside the load generators."""
    program = TOOLS / "atftpd" / "usr" / "sbin" / "atftpd"
    if not program.exists():
        with tempfile.TemporaryDirectory() as fetched:
            subprocess.run(["apt-get", "download", "-qq", "atftpd"], cwd=fetched, check=True)
            [package] = Path(fetched).glob("atftpd_*.deb")
            subprocess.run(["dpkg", "-x", str(package), str(TOOLS / "atftpd")], check=True)
    return str(program)


def servers(root: Path) -> list[Server]:
    """:param root: a directory with the file, where logs go too."""
    answers = root / "answers"
    answers.mkdir()
    twistd = "from twisted.scripts.twistd import run; run()"
    commands = {
        OURS: [sys.executable, "-c", twistd, "-n", "--pidfile=", "rescriptum"],
        DNSMASQ: [
            "dnsmasq",
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--pid-file=",
            "--user=root",
            "--port=0",
            "--listen-address=127.0.0.1",
            "--bind-interfaces",
            "--enable-tftp",
            f"--tftp-root={root}",
            "--tftp-max=300",
        ],
        HPA: [
            "in.tftpd",
            "--foreground",
            f"--address=127.0.0.1:{PORTS[HPA]}",
            "--user=root",
            "--secure",
            str(root),
        ],
        ATFTPD: [
            atftpd(),
            "--daemon",
            "--no-fork",
            "--bind-address=127.0.0.1",
            f"--port={PORTS[ATFTPD]}",
            "--user=root",
            "--group=root",
            "--maxthread=300",
            "--logfile=/dev/null",
            str(root),
        ],
    }
    missing = [argv[0] for argv in commands.values() if shutil.which(argv[0]) is None]
    if missing:
        sys.exit(f"nothing to compare with: {', '.join(missing)} is not installed")
    environ = {
        "PYTHONPATH": str(HERE.parent),
        "RESCRIPTUM_ANSWERS_DIR": str(answers),
        "RESCRIPTUM_BOOT_DIR": str(root),
        "RESCRIPTUM_PUBLIC_HOST": "127.0.0.1",
        "RESCRIPTUM_LISTEN_ADDR": "127.0.0.1:6903",
        "RESCRIPTUM_MEDIA_ADDR": "127.0.0.1:6904",
        "RESCRIPTUM_TFTP_ADDR": f"127.0.0.1:{PORTS[OURS]}",
    }
    return [
        Server(name, argv, "udp", PORTS[name], environ, root / f"{name}.log", FIRST)
        for name, argv in commands.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.tftp", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of every case and server")
    end_on_request()
    rounds = int(parser.parse_args().rounds)
    with tempfile.TemporaryDirectory(prefix="rescriptum-bench-") as directory:
        root = Path(directory)
        root.chmod(0o755)
        (root / NAME).write_bytes(bytes(n * n % 251 for n in range(SIZE)))
        beside = servers(root)

        def run(server: Server, options: Sequence[str]) -> Sample:
            argv = [*FIRST, str(TOOLS / "tftpload"), "-A", "-p", str(server.port), "-f", NAME]
            return load(server, [*argv, "-r", str(root / NAME), "-d", "60", *options], "MBps")

        with ExitStack() as running:
            for each in beside:
                running.enter_context(each)
            results = compare(CASES, BARS, beside, run, rounds)
    return 0 if report(results, BARS, OURS, "MB/s") else 1


if __name__ == "__main__":
    sys.exit(main())
