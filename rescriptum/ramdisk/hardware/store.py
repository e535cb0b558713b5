"""The kernel's files about the machine."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from ...contract.structure import JSON
from .inventory import MOST, Nic, mac, text

#: Bytes of one file that are read: a machine with a thousand threads has a long ``cpuinfo``.
_LONGEST: Final = 8 << 20
_DMI: Final = (
    "product_uuid",
    "product_name",
    "product_serial",
    "sys_vendor",
    "board_name",
    "bios_vendor",
    "bios_version",
    "bios_date",
)
#: Classes of PCI devices: displays, and processing accelerators.
_DISPLAY, _ACCELERATOR = 0x03, 0x12


class KernelFiles:
    """What is below ``/proc`` and ``/sys``. What is not there says nothing: no error."""

    def __init__(self, root: Path) -> None:
        """:param root: below which they are."""
        self._root = root
        self._sys = root / "sys"

    def read(self, path: str) -> bytes:
        """:param path: below the root. :returns: nothing where it cannot be read."""
        try:
            with (self._root / path).open("rb") as file:
                return file.read(_LONGEST)
        except OSError:
            return b""

    def dmi(self) -> dict[str, bytes]:
        """:returns: by the names of ``/sys/class/dmi/id``."""
        return {name: self.read(f"sys/class/dmi/id/{name}") for name in _DMI}

    def nics(self) -> tuple[Nic, ...]:
        """:returns: those with hardware behind them, by name."""
        found = []
        for name in self._names("class/net")[:MOST]:
            here = f"sys/class/net/{name}"
            device = self._root / here / "device"
            if not device.exists():
                continue
            speed = self.read(f"{here}/speed").strip()
            found.append(
                Nic(
                    name,
                    mac(self.read(f"{here}/address")),
                    self._led(device / "driver"),
                    self._led(device),
                    int(speed) if speed.isdigit() else 0,
                    self.read(f"{here}/carrier").strip() == b"1",
                )
            )
        return tuple(found)

    def gpus(self) -> tuple[JSON, ...]:
        """:returns: displays and accelerators, by slot."""
        found: list[JSON] = []
        for slot in self._names("bus/pci/devices"):
            here = f"sys/bus/pci/devices/{slot}"
            with suppress(ValueError):
                kind = int(self.read(f"{here}/class").strip(), 16) >> 16
                if kind in (_DISPLAY, _ACCELERATOR):
                    ids = [text(self.read(f"{here}/{each}")) for each in ("vendor", "device")]
                    driver = self._led(self._root / here / "driver")
                    found.append({"slot": slot, "id": ":".join(ids), "driver": driver})
        return tuple(found[:MOST])

    @property
    def has_bmc(self) -> bool:
        """Whether the kernel talks to one."""
        return (self._root / "dev/ipmi0").exists()

    @property
    def systemd(self) -> bool:
        """Whether that is what runs here: sd_booted(3)."""
        return (self._root / "run/systemd/system").is_dir()

    @property
    def kexec_loaded(self) -> bool:
        """Whether a kernel waits to be started; not the one for crashes (W306)."""
        return self.read("sys/kernel/kexec_loaded").strip() == b"1"

    def _names(self, below: str) -> list[str]:
        try:
            return sorted(os.listdir(self._sys / below))
        except OSError:
            return []

    def _led(self, link: Path) -> str:
        try:
            return Path(os.readlink(link)).name
        except OSError:
            return ""
