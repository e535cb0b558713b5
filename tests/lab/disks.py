"""
Disks that say when a machine boots from them, and do nothing else.

Both hold a few instructions that write a marker to the first serial port and stop the processor.
"""

import struct
from pathlib import Path

from .network import run

MARKER = "RESCRIPTUM-LAB-LOCAL-DISK-REACHED"
_TEXT = f"\r\n{MARKER}\r\n\0".encode("ascii")

# For each letter at [si] or [rsi]: wait for the port's transmit register, then write it.
_BIOS = bytes.fromhex(
    "fa 31c0 8ed8"  # cli; xor ax, ax; mov ds, ax
    "be 237c fc"  # mov si, 0x7c00 + 35; cld
    "ac 84c0 7412 88c4"  # next: lodsb; test al, al; jz done; mov ah, al
    "ba fd03 ec a820 74f8"  # wait: mov dx, 0x3fd; in al, dx; test al, 0x20; jz wait
    "ba f803 88e0 ee ebe9"  # mov dx, 0x3f8; mov al, ah; out dx, al; jmp next
    "f4 ebfd"  # done: hlt; jmp done
)
_UEFI = bytes.fromhex(
    "488d35 1c000000"  # lea rsi, [rip + 28]
    "ac 84c0 7414 88c4"
    "66ba fd03 ec a820 74f7"
    "66ba f803 88e0 ee ebe7"
    "f4 ebfd"
)


def boot_sector() -> bytes:
    """The first sector of a disk, as a BIOS loads it to 0000:7c00."""
    return (_BIOS + _TEXT).ljust(510, b"\0") + b"\x55\xaa"


def efi_application() -> bytes:
    """
    A PE32+ image of one section, for UEFI on x86-64.

    It is position-independent, and neither stripped of relocations nor in need of any.
    """
    align, base = 0x200, 0x1000
    code = _UEFI + _TEXT
    raw = code.ljust(align, b"\0")
    dos = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40)
    file_header = struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, 1, 0, 0, 0, 0xF0, 0x0022)
    optional = struct.pack(
        "<HBBIIIIIQIIHHHHHHIIIIHHQQQQII",
        0x20B, 0, 0,  # PE32+
        len(raw), 0, 0, base, base,  # code, data, bss, entry point, base of code
        0, base, align,  # image base, alignment in memory, in the file
        0, 0, 0, 0, 0, 0, 0,  # versions
        base * 2, align, 0, 10, 0,  # image, headers, checksum, EFI application
        0, 0, 0, 0, 0, 16,  # stacks and heaps are the firmware's; 16 directories
    ) + bytes(16 * 8)  # fmt: skip
    section = struct.pack(
        "<8sIIIIIIHHI", b".text", len(code), base, len(raw), align, 0, 0, 0, 0, 0x60000020
    )
    return (dos + file_header + optional + section).ljust(align, b"\0") + raw


def bios_disk(path: Path) -> Path:
    path.write_bytes(boot_sector().ljust(1 << 20, b"\0"))
    return path


def uefi_disk(path: Path) -> Path:
    """A FAT file system on the bare disk, the program where firmware looks by itself."""
    program = path.with_suffix(".efi")
    program.write_bytes(efi_application())
    path.unlink(missing_ok=True)
    run("mformat", "-i", path, "-C", "-f", "2880", "::")
    run("mmd", "-i", path, "::EFI", "::EFI/BOOT")
    run("mcopy", "-i", path, program, "::EFI/BOOT/BOOTX64.EFI")
    return path
