"""
THE architecture table: which loader answers which DHCP option 93 code, and by what transport.

TFTP, ``/boot/…``, DHCP snippets and ``boot check`` read it; nothing else holds a copy.
The codes are IANA's *processor architecture types* (RFC 4578 section 2.1, RFC 5970).
"""

from enum import Enum

from attrs import frozen


class Transport(Enum):
    """How the firmware fetches its loader."""

    TFTP = "tftp"
    HTTP = "http"


@frozen
class Architecture:
    """
    One row: a kind of firmware.

    :ivar code: what it sends in option 93.
    :ivar client: its name for people.
    :ivar tag: what snippets call it; rows of one tag get one loader.
    :ivar loader: the file in the boot directory, or None: known, and not served.
    """

    code: int
    client: str
    tag: str
    loader: str | None
    transport: Transport = Transport.TFTP

    @property
    def vendor_class(self) -> str:
        """What it says of itself in option 60, code in five decimal digits (W031)."""
        kind = "HTTPClient" if self.transport is Transport.HTTP else "PXEClient"
        return f"{kind}:Arch:{self.code:05}"


BIOS_LOADER = "ipxe-undionly.kpxe"
#: For a machine that runs an iPXE with drivers of its own already: beneath ours there would be no
#: driver of the card for ``undionly.kpxe`` to use (W040).
BIOS_NATIVE_LOADER = "ipxe-bios.pxe"
X64_LOADER = "ipxe-x86_64.efi"
ARM64_LOADER = "ipxe-arm64.efi"
RISCV64_LOADER = "ipxe-riscv64.efi"

#: For a machine whose DHCP server cannot tell iPXE from the firmware that loaded it: stock
#: ``undionly.kpxe`` would load itself for ever, pxelinux carries our script instead.
ONE_LOADER = "pxelinux.0"
#: What it fetches from beside itself to become iPXE; the script is answered from memory.
ONE_LOADER_PARTS = ("ldlinux.c32", "ipxe.lkrn")
#: For firmware that sends no option 93 at all.
FALLBACK = BIOS_LOADER

_HTTP = Transport.HTTP

ARCHITECTURES = (
    Architecture(0x00, "BIOS", "bios", BIOS_LOADER),
    Architecture(0x06, "UEFI IA32", "efi32", None),
    # 9 is x64 in RFC 4578 and EBC in IANA's registry; real x64 firmware sends either (W028).
    Architecture(0x07, "UEFI x64", "efi64", X64_LOADER),
    Architecture(0x09, "UEFI x64 (as EBC)", "efi64", X64_LOADER),
    Architecture(0x0A, "UEFI ARM32", "efiarm32", None),
    Architecture(0x0B, "UEFI ARM64", "efiarm64", ARM64_LOADER),
    Architecture(0x0F, "UEFI HTTP IA32", "http32", None, _HTTP),
    Architecture(0x10, "UEFI HTTP x64", "http64", X64_LOADER, _HTTP),
    Architecture(0x11, "UEFI HTTP EBC", "httpebc", None, _HTTP),
    Architecture(0x12, "UEFI HTTP ARM32", "httparm32", None, _HTTP),
    Architecture(0x13, "UEFI HTTP ARM64", "httparm64", ARM64_LOADER, _HTTP),
    Architecture(0x14, "BIOS HTTP", "httpbios", None, _HTTP),
    Architecture(0x15, "U-Boot ARM32", "uboot32", None),
    Architecture(0x16, "U-Boot ARM64", "uboot64", None),
    Architecture(0x1B, "UEFI RISC-V 64", "efiriscv64", RISCV64_LOADER),
    Architecture(0x1C, "UEFI HTTP RISC-V 64", "httpriscv64", RISCV64_LOADER, _HTTP),
)

SERVED = tuple(row for row in ARCHITECTURES if row.loader is not None)


def architecture(code: int) -> Architecture | None:
    """:returns: the row of ``code``, or None for one that the table does not know (W032)."""
    return next((row for row in ARCHITECTURES if row.code == code), None)
