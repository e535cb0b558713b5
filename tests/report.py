"""
Runs trial and closes with ``N passed, N failed``.

Exit code 0 only where tests ran and all passed: trial alone calls an empty run PASSED.
"""

import argparse
import re
import subprocess
import sys

RAN = re.compile(r"Ran (\d+) tests? in")
VERDICT = re.compile(r"(?:PASSED|FAILED)(?: \((.*)\))?$")


def counted(lines: list[str]) -> dict[str, int]:
    """:returns: trial's own closing counts: ``ran``, ``failures``, ``errors``, ``skips`` …"""
    counts = {"ran": 0}
    for line in lines:
        if match := RAN.match(line):
            counts["ran"] = int(match[1])
        elif match := VERDICT.match(line.strip()):
            pairs = (part.split("=") for part in (match[1] or "").split(", ") if part)
            counts |= {name: int(number) for name, number in pairs}
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-skips", action="store_true", help="a skipped test is a failed one")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    argv = [sys.executable, "-W", "error::DeprecationWarning", "-m", "twisted.trial"]
    lab = any(each.startswith("tests.lab") for each in options.tests)
    # The lab runs its own boots side by side, and says what it does while it does it.
    argv += [] if lab else [f"-j{options.jobs}", "--reporter=text"]
    argv += options.tests or ["tests"]
    lines: list[str] = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, errors="replace") as trial:
        assert trial.stdout is not None
        for line in trial.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    counts = counted(lines)
    failed = sum(counts.get(each, 0) for each in ("failures", "errors", "unexpectedSuccesses"))
    skipped = counts.get("skips", 0)
    if options.no_skips:
        failed, skipped = failed + skipped, 0
    passed = max(0, counts["ran"] - failed - skipped)
    if not counts["ran"]:
        print("no test ran")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if trial.returncode == 0 and passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
