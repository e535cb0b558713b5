"""
``python -m bench.http``: our server beside nginx, twisted.web and aiohttp, over loopback.

The packages nginx-light, wrk and xorriso. Files are read from the page cache, but for the lag.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

from .benchlib import (
    HERE,
    TOOLS,
    Bar,
    Results,
    Sample,
    Server,
    end_on_request,
    judged,
    load,
    measure,
    report,
    wrk,
)

OURS, NGINX, STATIC, AIOHTTP, LAG = "rescriptum", "nginx", "static.File", "aiohttp", "lag"
PORTS = {OURS: 6911, NGINX: 6912, STATIC: 6913, AIOHTTP: 6914, LAG: 6915}
MIB = 1 << 20

WHOLE_1, WHOLE_16 = "whole file, 1 connection", "whole file, 16 connections"
PARTS_1M, PARTS_64K = "1 MiB ranges, 16 connections", "64 KiB ranges, 16 connections"
SCRIPT = "bootstrap script, 64 connections"

#: What ``httppull`` is told.
CASES = {
    WHOLE_1: ("-n", "4"),
    WHOLE_16: ("-n", "16", "-c", "16"),
    PARTS_1M: ("-n", "3000", "-c", "16", "-R", str(MIB)),
    PARTS_64K: ("-n", "10000", "-c", "16", "-R", "65536"),
}
#: Issue 2.
BARS = (
    Bar(WHOLE_1, NGINX, 0.6, 0.9),
    Bar(WHOLE_16, NGINX, 0.6, 0.9),
    Bar(WHOLE_1, STATIC, 2.5, 3.5),
    Bar(WHOLE_16, STATIC, 2.5, 3.5),
    Bar(PARTS_1M, NGINX, 0.6, 0.9),
    Bar(PARTS_64K, NGINX, 0.25, 0.5),
    Bar(SCRIPT, AIOHTTP, 1.2, 2.0),
)
#: Milliseconds at the 99th percentile, and MB: floor and goal.
LAG_BAR, MEMORY_BAR = (10.0, 3.0), (30.0, 10.0)
SLOW_CLIENTS = 1000

NGINX_CONF = """
daemon off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/nginx.log;
events {{ worker_connections 2048; }}
http {{
  # With tcp_nopush on, ranges wait 40 ms each on loopback: that would be no comparison.
  access_log off; sendfile on; tcp_nopush off; keepalive_requests 100000000;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
  fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}/media; }}
}}
"""


def make_image(root: Path, size: int) -> int:
    """
    Write ``media/image.iso`` with one file of ``size`` bytes.

    :returns: the image's own size.
    """
    tree, media = root / "tree", root / "media"
    tree.mkdir()
    media.mkdir()
    with (tree / "large.bin").open("wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
    image = media / "image.iso"
    command = ["xorriso", "-as", "mkisofs", "-quiet", "-R", "-o", str(image), str(tree)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    os.sync()  # pages that are not on the disk yet do not leave memory
    shutil.rmtree(tree)
    return image.stat().st_size


def servers(root: Path) -> list[Server]:
    twistd = [sys.executable, "-c", "from twisted.scripts.twistd import run; run()", "-n"]
    conf = root / "nginx.conf"
    conf.write_text(NGINX_CONF.format(root=root, port=PORTS[NGINX]))
    (root / "answers").mkdir()
    listen = f"tcp:{PORTS[STATIC]}:interface=127.0.0.1"
    commands = {
        OURS: [*twistd, f"--pidfile={root}/ours.pid", "rescriptum"],
        NGINX: ["nginx", "-c", str(conf)],
        STATIC: [*twistd, "--pidfile=", "web", "--listen", listen, "--path", str(root / "media")],
        AIOHTTP: [sys.executable, "-m", "bench.http_aiohttp", str(PORTS[AIOHTTP])],
        LAG: [sys.executable, "-m", "bench.http_lag", str(PORTS[LAG])],
    }
    commands[LAG].append(str(root / "media" / "image.iso"))
    environ = {
        "PYTHONPATH": str(HERE.parent),
        "RESCRIPTUM_ANSWERS_DIR": str(root / "answers"),
        "RESCRIPTUM_MEDIA_DIR": str(root / "media"),
        "RESCRIPTUM_PUBLIC_HOST": "127.0.0.1",
        "RESCRIPTUM_LISTEN_ADDR": "127.0.0.1:6910",
        "RESCRIPTUM_MEDIA_ADDR": f"127.0.0.1:{PORTS[OURS]}",
        "RESCRIPTUM_MEDIA_MAX_CONNECTIONS": str(SLOW_CLIENTS + 100),
        # As its peers: they write no access log either.
        "RESCRIPTUM_LOG": "problems",
    }
    return [
        Server(name, argv, "tcp", PORTS[name], environ, root / f"{name}.log")
        for name, argv in commands.items()
    ]


def pull(server: Server, path: str, *options: str) -> list[str]:
    return [str(TOOLS / "httppull"), "-p", str(server.port), "-u", path, "-d", "60", *options]


def ask_for_scripts(server: Server, options: Sequence[str]) -> Sample:
    return wrk(server, "/ipxe/bootstrap", options)


def lag(server: Server, image: Path, rounds: int) -> float:
    """:returns: how late timers were, at the 99th percentile, while a cold image was sent."""
    url = f"http://127.0.0.1:{server.port}/lag"
    with urlopen(url):
        pass  # what was before does not count
    with image.open("rb") as file:
        for _ in range(rounds):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            subprocess.run(pull(server, "/file"), check=True, stdout=subprocess.DEVNULL)
    with urlopen(url) as reply:
        return float(json.load(reply)["p99"])


def resident(pid: str) -> float:
    """:returns: MB of memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+([0-9]+) kB", status)[0]) / 1000


def memory(server: Server, pid: str, path: str) -> float:
    """:returns: MB more for a thousand clients that read slowly."""
    before = resident(pid)
    slow = pull(server, path, "-w", "100", "-c", str(SLOW_CLIENTS), "-n", str(SLOW_CLIENTS))
    with subprocess.Popen(slow, stdout=subprocess.DEVNULL) as clients:
        time.sleep(4)
        most = resident(pid)
        clients.terminate()
    return most - before


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.http", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of every case and server")
    parser.add_argument("--size", type=int, default=1024, help="of the image, in MiB")
    asked = parser.parse_args()
    end_on_request()
    missing = [each for each in ("nginx", "wrk", "xorriso") if shutil.which(each) is None]
    if missing:
        sys.exit(f"nothing to compare with: {', '.join(missing)} is not installed")
    files: Results = {}
    scripts: Results = {}
    with tempfile.TemporaryDirectory(prefix="rescriptum-bench-") as directory:
        root = Path(directory)
        root.chmod(0o755)
        make_image(root, asked.size * MIB)
        ours, nginx, static, aiohttp, watched = servers(root)
        whole = {OURS: "/image/iso", NGINX: "/image.iso", STATIC: "/image.iso"}
        parts = {**whole, OURS: "/image/file/large.bin"}

        def run(server: Server, options: Sequence[str]) -> Sample:
            ranged = "-R" in options
            path = (parts if ranged else whole)[server.name]
            more = ("-S", str(asked.size * MIB)) if ranged else ()
            return load(server, pull(server, path, *options, *more), "MBps")

        with ExitStack() as running:
            for each in (ours, nginx, static, aiohttp, watched):
                running.enter_context(each)
            grown = memory(ours, (root / "ours.pid").read_text(), whole[OURS])
            measure(CASES, (ours, nginx, static), run, asked.rounds, files)
            measure({SCRIPT: ("-d2",)}, (ours, aiohttp), ask_for_scripts, asked.rounds, scripts)
            late = lag(watched, root / "media" / "image.iso", asked.rounds)
    fine = report(files, [each for each in BARS if each.case != SCRIPT], OURS, "MB/s")
    fine = report(scripts, [each for each in BARS if each.case == SCRIPT], OURS, "1/s ") and fine
    print()
    fine = judged("timers late, cold image, p99", "ms", late, LAG_BAR) and fine
    fine = judged(f"{SLOW_CLIENTS} slow clients", "MB", grown, MEMORY_BAR) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
