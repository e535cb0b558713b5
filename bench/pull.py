"""
``python -m bench.pull``: how an image comes into the cache, beside treq that hashes and writes as
it goes. From nginx over loopback, into memory where there is room; the package nginx-light.
"""

import argparse
import hashlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from .benchlib import (
    FIRST,
    HERE,
    Bar,
    Results,
    Sample,
    Server,
    end_on_request,
    judged,
    ratio,
    report,
)

OURS, TREQ = "rescriptum", "treq"
PULL = "image pull with SHA-256"
PORT = 6951
MIB = 1 << 20
MEMORY = Path("/dev/shm")

#: Issue 5.
BAR = Bar(PULL, TREQ, 1.3, 1.3)
#: Milliseconds that timers may be late, at the 99th percentile, and seconds that a GB may take:
#: floor and goal.
LAG_BAR, GB_BAR = (20.0, 5.0), (math.inf, 1 / 0.6)

NGINX_CONF = """
daemon off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/nginx.log;
events {{ worker_connections 64; }}
http {{
  access_log off; sendfile on; tcp_nopush off;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
  fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}/images; }}
}}
"""


def nginx(root: Path, port: int) -> Server:
    """:returns: what serves ``images`` in ``root`` over loopback."""
    conf = root / "nginx.conf"
    conf.write_text(NGINX_CONF.format(root=root, port=port))
    return Server("nginx", ["nginx", "-c", str(conf)], "tcp", port, log=root / "log", prefix=FIRST)


def make_image(path: Path, size: int) -> str:
    """:returns: the digest of what was written."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(size // MIB):
            piece = os.urandom(MIB)
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def pull(how: str, digest: str, size: int, under: Path) -> Sample:
    """:returns: one pull, in a process of its own."""
    url = f"http://127.0.0.1:{PORT}/image"
    with tempfile.TemporaryDirectory(prefix="rescriptum-pull-", dir=under) as directory:
        command = [sys.executable, "-m", "bench.pull_client", how, url, digest, directory]
        done = subprocess.run(
            [*FIRST, *command],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        )
    try:
        figures = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f"{how} said {done.stdout!r} {done.stderr!r}") from None
    return Sample(figures["MBps"], figures["cpu"], figures["size"] == size, figures)


def rounds_of(number: int, digest: str, size: int, under: Path, results: Results) -> None:
    """Add ``number`` pulls of either kind; who comes first changes."""
    by_name = results.setdefault(PULL, {OURS: [], TREQ: []})
    for at in range(number):
        for how in (OURS, TREQ) if at % 2 == 0 else (TREQ, OURS):
            by_name[how].append(pull(how, digest, size, under))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.pull", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of either")
    parser.add_argument("--size", type=int, default=512, help="of the image, in MiB")
    asked = parser.parse_args()
    end_on_request()
    if shutil.which("nginx") is None:
        sys.exit("nothing to pull from: nginx is not installed")
    size = asked.size * MIB
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 * size
    results: Results = {}
    with tempfile.TemporaryDirectory(prefix="rescriptum-bench-") as directory:
        root = Path(directory)
        root.chmod(0o755)
        (root / "images").mkdir()
        digest = make_image(root / "images" / "image", size)
        with nginx(root, PORT):
            for _ in range(3):  # as benchlib.compare: other work levels out over more rounds
                rounds_of(asked.rounds, digest, size, MEMORY if roomy else root, results)
                if ratio(results, BAR, OURS) >= BAR.floor:
                    break
    fine = report(results, (BAR,), OURS, "MB/s")
    samples = results[PULL][OURS]
    late = statistics.median(each.figures["lag_p99"] for each in samples)
    print()
    fine = judged("timers late while an image comes, p99", "ms", late, LAG_BAR) and fine
    seconds = 1000 / statistics.median(each.rate for each in samples)
    return 0 if judged("a GB, hashed and in its place", "s", seconds, GB_BAR) and fine else 1


if __name__ == "__main__":
    sys.exit(main())
