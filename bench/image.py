"""
``python -m bench.image``: an image from a web server onto a disk, beside the line of shell and the
``qemu-img convert`` that anybody would take, and beside our own stages one after the other. From
nginx over loopback; the packages nginx-light, curl, zstd, qemu-utils and qemu-block-extra.

The disk is a file of as many bytes, written past the page cache. The image is made of this
machine's own files, with zeros between them.
"""

import argparse
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from .benchlib import FIRST, HERE, Bar, Results, Sample, end_on_request, ratio, report
from .image_client import THREADS
from .pull import nginx

OURS, IN_TURN, SHELL, QEMU = "rescriptum", "in-turn", "shell", "qemu-img"
WAYS = (OURS, SHELL, QEMU, IN_TURN)
PORT = 6952
MIB = 1 << 20
#: Bytes of one write, here as everywhere.
BLOCK = 4 * MIB
FILES = (Path("/usr/bin"), Path("/usr/lib"), Path("/usr/share"))


@frozen
class Packing:
    """
    How an image is stored.

    :ivar pack: the program that packs it from its input. :ivar unpack: and that unpacks it.
    :ivar convert: options that make qemu-img's own image of the same packing.
    """

    pack: Sequence[str]
    unpack: Sequence[str]
    convert: Sequence[str]


PACKINGS: Mapping[str, Packing] = {
    "zstd": Packing(
        ("zstd", "-q", "-3"), ("zstd", "-dcq"), ("-O", "qcow2", "-c", "-o", "compression_type=zstd")
    ),
    "gzip": Packing(("gzip", "-6"), ("gzip", "-dc"), ("-O", "qcow2", "-c")),
    "raw": Packing(("cat",), (), ("-O", "raw")),
}
#: Issue 7, beside the shell; and that it is worth its threads.
BARS = (
    Bar("zstd", SHELL, 1.0, 1.5),
    Bar("gzip", SHELL, 1.5, 3.0),
    Bar("raw", SHELL, 2.0, 5.0),
    *(Bar(packing, IN_TURN, 1.0, 1.15) for packing in PACKINGS),
)


def content() -> Iterator[bytes]:
    """:returns: files, as an image has them, and a third of it nothing."""
    for directory in FILES:
        for path in sorted(directory.rglob("*")):
            if path.is_file() and not path.is_symlink():
                data = path.read_bytes()
                yield data
                yield bytes(len(data) // 2)


def make_image(path: Path, size: int) -> None:
    left = size
    with path.open("wb") as file:
        for data in content():
            left -= file.write(data[:left])
        if left:
            file.truncate(size)


class Place:
    """
    Where everything is.

    :ivar image: before it is packed. :ivar disk: that it is written to.
    """

    def __init__(self, root: Path, size: int) -> None:
        self.size = size
        self.served = root / "images"
        self.served.mkdir()
        self.image = self.served / "raw"
        make_image(self.image, size)
        self.digests = {name: self._pack(name, packing) for name, packing in PACKINGS.items()}
        self.disk = root / "disk"
        shutil.copyfile(self.image, self.disk)
        self.spoil()

    def _pack(self, name: str, packing: Packing) -> str:
        path = self.served / name
        if packing.unpack:
            with self.image.open("rb") as given, path.open("wb") as made:
                subprocess.run(packing.pack, stdin=given, stdout=made, check=True)
        of_qemu = self.served / f"{name}.qemu"
        convert = ("qemu-img", "convert", "-f", "raw", *packing.convert, str(self.image))
        subprocess.run([*convert, str(of_qemu)], check=True)
        said = subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True)
        return said.stdout.split()[0]

    def spoil(self) -> None:
        """Whatever was written before is not right any more."""
        with self.disk.open("rb+") as file:
            for at in range(0, self.size, BLOCK):
                file.seek(at)
                file.write(os.urandom(16))
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def right(self) -> bool:
        """:returns: whether the image is on the disk."""
        command = ["cmp", "-s", str(self.image), str(self.disk)]
        return subprocess.run(command, check=False).returncode == 0


def command_of(way: str, case: str, place: Place) -> list[str]:
    """:returns: the command that writes an image, and that says a digest where it takes one."""
    url, disk = f"http://127.0.0.1:{PORT}/{case}", str(place.disk)
    if way == QEMU:
        shown = "qcow2" if PACKINGS[case].unpack else "raw"
        direct = ("-n", "-W", "-t", "none")
        return ["qemu-img", "convert", *direct, "-f", shown, "-O", "raw", f"{url}.qemu", disk]
    if way == SHELL:
        quoted = shlex.quote(disk)
        stages = [
            f"curl -sSf {url}",
            "tee >(sha256sum >&3)",
            shlex.join(PACKINGS[case].unpack),
            f"dd of={quoted} oflag=direct iflag=fullblock bs=4M conv=notrunc,fsync status=none",
        ]
        line = " | ".join(each for each in stages if each)
        # bash waits for what is in >( ) no longer than for the line: the reader of 3 does.
        return ["bash", "-c", f"set -o pipefail; exec 4>&1; {{ {line} >&4; }} 3>&1 | cat"]
    return [sys.executable, "-m", "bench.image_client", way, url, place.digests[case], disk]


def written(way: str, case: str, place: Place) -> Sample:
    """:returns: one image onto the disk, in processes of its own."""
    place.spoil()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [*FIRST, *command_of(way, case, place)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    )
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures: dict[str, float] = {}
    said = done.returncode == 0
    if way in (OURS, IN_TURN) and said:
        figures = json.loads(done.stdout.splitlines()[-1])
        seconds, cpu = figures["seconds"], figures["cpu"]  # without the interpreter's start
    elif way == SHELL:
        said = said and place.digests[case] in done.stdout
    if not said:
        raise RuntimeError(f"{way} said {done.stdout!r} {done.stderr!r}")
    return Sample(place.size / seconds / 1e6, cpu, place.right(), figures)


def rounds_of(number: int, place: Place, results: Results) -> None:
    """Add ``number`` images of each packing and way; who comes first changes."""
    for at in range(number):
        turn = WAYS[at % len(WAYS) :] + WAYS[: at % len(WAYS)]
        for case in PACKINGS:
            for way in turn:
                by_name = results.setdefault(case, {each: [] for each in WAYS})
                by_name[way].append(written(way, case, place))


def told(results: Results) -> None:
    """
    Print what each stage takes, by itself and beside the others. A machine with as many
    processors as stages would need as long as the slowest one takes.
    """
    print(f"\n{'seconds':<18}" + "".join(f"{each:>9}" for each in (*THREADS, "sum", "all")), end="")
    print("   all/slowest  sum/all")
    for case, by_name in results.items():
        slowest = 0.0
        for way in (IN_TURN, OURS):
            figures = {
                each: statistics.median(sample.figures[each] for sample in by_name[way])
                for each in (*THREADS, "seconds")
            }
            stages = [figures[each] for each in THREADS]
            slowest = slowest or max(stages)
            total, seconds = sum(stages), figures["seconds"]
            shown = "".join(f"{each:9.2f}" for each in (*stages, total, seconds))
            print(f"{case:<6}{way:<12}{shown}   {seconds / slowest:11.2f} {total / seconds:8.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.image", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of each")
    parser.add_argument("--size", type=int, default=512, help="of the image, in MiB")
    asked = parser.parse_args()
    end_on_request()
    for program in ("nginx", "curl", "zstd", "qemu-img"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed")
    results: Results = {}
    with tempfile.TemporaryDirectory(prefix="rescriptum-bench-") as directory:
        root = Path(directory)
        root.chmod(0o755)
        place = Place(root, -(-asked.size * MIB // BLOCK) * BLOCK)
        with nginx(root, PORT):
            for _ in range(3):  # as benchlib.compare: other work levels out over more rounds
                rounds_of(asked.rounds, place, results)
                if all(ratio(results, bar, OURS) >= bar.floor for bar in BARS):
                    break
    fine = report(results, BARS, OURS, "MB/s")
    told(results)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
