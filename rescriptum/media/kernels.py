"""What the first bytes of a kernel say of it."""

from attrs import frozen

HEAD_BYTES = 0x240

_PE_MACHINES = {0x8664: "x86_64", 0xAA64: "arm64", 0x5064: "riscv64"}


@frozen
class Kernel:
    """
    :ivar architecture: as iPXE calls it, or None.
    :ivar trouble: why iPXE will not start it; empty where nothing is known against it.
    """

    architecture: str | None = None
    trouble: str = ""


def kernel(head: bytes) -> Kernel:
    """
    :param head: the first :data:`HEAD_BYTES` bytes, or all there are.
    :returns: by the boot protocols of Linux for x86, arm64 and RISC-V.
    """
    if head[0x202:0x206] == b"HdrS":
        return Kernel("x86_64")
    if head[56:60] == b"ARM\x64":
        return Kernel("arm64")
    if head[56:60] == b"RSC\x05":
        return Kernel("riscv64")
    if head[:2] == b"MZ" and head[4:8] == b"zimg":
        return Kernel(_PE_MACHINES.get(_pe_machine(head)))
    if head[:2] == b"\x1f\x8b":
        return Kernel(None, "its kernel is packed by gzip: iPXE for UEFI cannot start it")
    return Kernel(None, "its kernel has no header that this knows")


def _pe_machine(head: bytes) -> int:
    at = int.from_bytes(head[60:64], "little")
    if head[at : at + 4] != b"PE\0\0":
        return 0
    return int.from_bytes(head[at + 4 : at + 6], "little")
