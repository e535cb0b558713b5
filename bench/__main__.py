"""``python -m bench [--rounds N]``: every suite, one after the other; 1 when one is too slow."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SUITES = ("tftp", "http")


def main() -> int:
    code = 0
    for suite in SUITES:
        if (HERE / f"{suite}.py").exists():
            command = [sys.executable, "-m", f"bench.{suite}", *sys.argv[1:]]
            code |= subprocess.run(command, check=False).returncode
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
