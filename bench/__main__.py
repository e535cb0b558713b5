"""``python -m bench [--rounds N]``: every suite, one after the other; 1 when one is too slow."""

import subprocess
import sys
from pathlib import Path

from .benchlib import end_on_request

HERE = Path(__file__).parent
SUITES = ("tftp", "http", "answers", "dhcp", "gateway", "pull", "image")


def main() -> int:
    end_on_request()
    code = 0
    for suite in SUITES:
        if (HERE / f"{suite}.py").exists():
            command = [sys.executable, "-m", f"bench.{suite}", *sys.argv[1:]]
            with subprocess.Popen(command) as running:
                try:
                    code |= running.wait()
                finally:
                    running.terminate()  # it ends the servers that it started
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
