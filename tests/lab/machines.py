"""
Machines: QEMU command lines for real firmware.

Emulation always, KVM only where ``LAB_ACCEL=kvm`` asks for it: ``/dev/kvm`` can be there, start the
firmware, and hang the first Linux guest for ever.
"""

import os
import re
from enum import Enum
from pathlib import Path

from attrs import frozen

from .network import MACHINES, Network, Running, run, wait_for

UUID = "4c4c4544-0053-4d10-8052-b3c04f4c4142"
SERIAL = "SN-0001"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")
_FLASH, _ARM64_FLASH = Path("/usr/share/OVMF"), Path("/usr/share/AAVMF")


class Firmware(Enum):
    """How a machine starts, and by what transport it fetches its loader."""

    BIOS = "bios"
    """SeaBIOS; its PXE ROM is iPXE, which needs no loader from us."""
    UEFI_PXE = "uefi-pxe"
    UEFI_HTTP = "uefi-http"
    UEFI_SECURE = "uefi-secure"
    """By PXE, with Secure Boot and the keys that machines are sold with."""
    ARM64_PXE = "arm64-pxe"
    ARM64_HTTP = "arm64-http"

    @property
    def arm64(self) -> bool:
        return self in (Firmware.ARM64_PXE, Firmware.ARM64_HTTP)

    @property
    def console(self) -> str:
        """What Linux calls the machine's first serial port."""
        return "ttyAMA0" if self.arm64 else "ttyS0"


class Drive(Enum):
    """What a disk is to its machine."""

    VIRTIO = "virtio-blk-pci"
    NVME = "nvme"
    AHCI = "ide-hd"

    def devices(self, more: str) -> list[str]:
        """:param more: of the device."""
        if self is Drive.AHCI:
            return ["-device", "ich9-ahci,id=ahci", "-device", f"ide-hd,bus=ahci.0,{more}"]
        return ["-device", f"{self.value},{more}"]


@frozen
class Machine:
    """
    :ivar mac: six octets with colons.
    :ivar disk: an image that it may boot after the network.
    :ivar kept: whether what it writes there stays.
    :ivar memory: in MiB.
    :ivar removable: an image that it boots before all else: in a drive if it is a ``disc``, else
        a stick.
    :ivar disk_first: whether it boots its disk before the network.
    :ivar drive: what its disk is to it.
    :ivar processors: how many it has.
    """

    firmware: Firmware
    mac: str
    disk: Path | None = None
    memory: int = 512
    removable: Path | None = None
    disc: bool = False
    disk_first: bool = False
    drive: Drive = Drive.VIRTIO
    processors: int = 1
    kept: bool = False

    def command(self, tap: str, directory: Path) -> list[str]:
        """:param directory: gets the serial log and the machine's own flash."""
        uefi = self.firmware is not Firmware.BIOS
        secure = self.firmware is Firmware.UEFI_SECURE
        board = "pc,graphics=off"
        if self.firmware.arm64:
            board = "virt"
        elif uefi:
            board = "q35,smm=on" if secure else "q35"
        # romfile= (empty): EDK2's own PXE, else the card's ROM brings iPXE's driver. OVMF has no
        # driver for an e1000; SeaBIOS gets iPXE from the card.
        card = "virtio-net-pci,romfile=" if uefi else "e1000"
        # From a disc or a stick, the disk comes next; else the network comes first.
        network, disk = (1, 2) if self.removable is None and not self.disk_first else (3, 2)
        argv = [
            f"qemu-system-{'aarch64' if self.firmware.arm64 else 'x86_64'}",
            *("-M", board),
            *("-cpu", "cortex-a57" if self.firmware.arm64 else "max"),
            *("-smp", str(self.processors), "-m", str(self.memory)),
            *("-accel", "kvm" if self._kvm() else "tcg,thread=multi"),
            *("-display", "none", "-nodefaults", "-monitor", "stdio", "-no-reboot"),
            *("-serial", f"file:{directory / 'serial.log'}"),
            *("-uuid", UUID, "-device", "virtio-rng-pci"),
            *("-smbios", f"type=1,manufacturer=Lab Inc.,product=Box 1,serial={SERIAL}"),
            *("-netdev", f"tap,id=n0,ifname={tap},script=no,downscript=no"),
            *("-device", f"{card},netdev=n0,mac={self.mac},bootindex={network}"),
        ]
        if self.removable is not None:
            media = "cdrom" if self.disc else "disk"
            drive = f"if=none,id=r0,media={media},format=raw,readonly=on,file={self.removable}"
            if self.disc:
                argv += ["-drive", drive, "-device", "ide-cd,drive=r0,bootindex=1"]
            else:
                stick = "usb-storage,drive=r0,removable=on,bootindex=1"
                argv += ["-drive", drive, "-device", "qemu-xhci", "-device", stick]
        if self.disk is not None:
            snapshot = "off" if self.kept else "on"
            argv += [
                *("-drive", f"if=none,id=d0,format=raw,snapshot={snapshot},file={self.disk}"),
                *self.drive.devices(f"drive=d0,serial=disk1,bootindex={disk}"),
            ]
        if uefi:
            code, pristine = self._flash()
            variables = directory / "vars.fd"
            # 64 MiB of nothing, for arm64.
            run("cp", "--sparse=always", pristine, variables)
            argv += [
                *("-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={code}"),
                *("-drive", f"if=pflash,unit=1,format=raw,file={variables}"),
                *("-fw_cfg", "name=opt/org.tianocore/IPv6PXESupport,string=n"),
            ]
        if secure:
            argv += ["-global", "driver=cfi.pflash01,property=secure,value=on"]
            argv += ["-global", "ICH9-LPC.disable_s3=1"]
        if self.firmware in (Firmware.UEFI_HTTP, Firmware.ARM64_HTTP):
            # Else two minutes of PXE time-outs come first.
            argv += ["-fw_cfg", "name=opt/org.tianocore/IPv4PXESupport,string=n"]
        return argv

    def _kvm(self) -> bool:
        return os.environ.get("LAB_ACCEL") == "kvm" and not self.firmware.arm64

    def _flash(self) -> tuple[Path, Path]:
        """:returns: the firmware's code, and its variables as they come."""
        if self.firmware.arm64:
            return _ARM64_FLASH / "AAVMF_CODE.fd", _ARM64_FLASH / "AAVMF_VARS.fd"
        if self.firmware is Firmware.UEFI_SECURE:
            return _FLASH / "OVMF_CODE_4M.secboot.fd", _FLASH / "OVMF_VARS_4M.ms.fd"
        return _FLASH / "OVMF_CODE_4M.fd", _FLASH / "OVMF_VARS_4M.fd"


class Boot:
    """A machine that is on."""

    def __init__(self, network: Network, machine: Machine, bridge: str = MACHINES) -> None:
        self._serial = network.directory / "serial.log"
        self._serial.unlink(missing_ok=True)
        self.process: Running = network.spawn(
            "br", "qemu", machine.command(network.tap(bridge), network.directory), typed=True
        )

    def press(self, keys: str) -> None:
        """:param keys: as QEMU's monitor calls them, joined by ``-``."""
        self.process.type(f"sendkey {keys}")

    def screen(self) -> str:
        """What the machine wrote to its first serial port, without the paint."""
        if not self._serial.exists():
            return ""
        return _ESCAPES.sub("", self._serial.read_bytes().decode("utf-8", "replace"))

    def reaches(self, pattern: str, seconds: float) -> bool:
        """Whether ``pattern`` is on the serial line in time; a machine that ends ends the wait."""
        return wait_for(
            lambda: re.search(pattern, self.screen()), seconds, lambda: self.process.ended
        )
