"""
Boot a ramdisk in QEMU and say how long it takes until its agent runs.

``boot.py DIRECTORY [amd64|arm64]``, by default as this machine. It has a network with nobody on it
but a DHCP server: it never joins. ``LAB_ACCEL=kvm`` asks for KVM; see lab.md why nothing else does.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

SECONDS, MEBIBYTES = 240, 1024
MACHINES = {
    "amd64": ("qemu-system-x86_64", "q35", "max", "ttyS0"),
    "arm64": ("qemu-system-aarch64", "virt", "max,pauth-impdef=on", "ttyAMA0"),
}
NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
BEGUN, INIT = re.compile(r"Linux version"), re.compile(r"Run /init as")
RUNS = re.compile(r"rescriptum \S+ ramdisk of ")


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def line(console: str) -> str:
    """:returns: what the agent asks of a kernel's command line; the key is anybody's."""
    key = {"kty": "OKP", "crv": "X25519", "x": _encoded(b"\x09" + bytes(31))}
    said = {
        "gateway": "https://192.0.2.1:8443",
        "site": "nowhere",
        "token": "none",
        "assertion": "none",
        "jwk": _encoded(json.dumps(key).encode()),
    }
    told = " ".join(f"bc.{name}={value}" for name, value in said.items())
    return f"console={console} panic=-1 {told}"


def command(directory: Path, architecture: str) -> list[str]:
    """:returns: QEMU and its arguments, the kernel's console on its standard output."""
    qemu, board, processor, console = MACHINES[architecture]
    kvm = os.environ.get("LAB_ACCEL") == "kvm"
    return [
        *(qemu, "-M", board, "-cpu", "host" if kvm else processor, "-smp", "2"),
        *("-m", str(MEBIBYTES), "-accel", "kvm" if kvm else "tcg,thread=multi"),
        *("-display", "none", "-nodefaults", "-monitor", "none", "-no-reboot"),
        *("-serial", "stdio", "-device", "virtio-rng-pci"),
        *("-netdev", "user,id=n0,restrict=on", "-device", "virtio-net-pci,romfile=,netdev=n0"),
        *("-kernel", str(directory / "vmlinuz"), "-initrd", str(directory / "initrd.img")),
        *("-append", line(console)),
    ]


def main(directory: Path, architecture: str = "") -> int:
    architecture = architecture or NAMES[os.uname().machine]
    qemu = MACHINES[architecture][0]
    if shutil.which(qemu) is None:
        print(f"ramdisk: {qemu} is not here: not booted")
        return 0
    machine = subprocess.Popen(
        command(directory, architecture), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        text=True, errors="replace",
    )  # fmt: skip
    late = threading.Timer(SECONDS, machine.kill)
    late.start()
    begun = init = time.monotonic()
    lines = []
    try:
        assert machine.stdout is not None
        for each in machine.stdout:
            lines.append(each.rstrip())
            now = time.monotonic()
            if BEGUN.search(each):
                begun = now
            elif INIT.search(each):
                init = now
            elif RUNS.search(each):
                print(
                    f"ramdisk: unpacked {init - begun:.1f} s after the kernel has begun,"
                    f" the agent runs after {now - begun:.1f} s"
                )
                return 0
    finally:
        late.cancel()
        machine.kill()
        machine.wait()
    print("ramdisk: its agent never ran:", *lines[-40:], sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:3]))
