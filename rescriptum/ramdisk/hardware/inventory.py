"""What a machine is made of, as the kernel shows it: pure readers of its files."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve, frozen

from ...contract.refusals import Rejected
from ...contract.structure import JSON, parsed, rendered
from ...values import MAC
from ..disks import BlockDevice, disks
from .lldp import Neighbour

#: Of one kind of thing that are listed, and characters of one text.
MOST, LONGEST = 256, 128
#: Bytes of all of it: it goes along in reports and results, which have their own bounds.
FITS: Final = 128 * 1024
_CUT: Final = ("nics", "disks", "gpus", "warnings")
#: What vendors leave in place of a serial number or UUID that nobody has set.
_UNSET: Final = re.compile(
    r"|none|n/?a|not (specified|applicable|available|present)|to be filled by o\.?e\.?m\.?|default"
    r"( string)?|system serial number|0+|[0f-]+|(0123456789)+|empty|unknown",
    re.I,
)
_BMC: Final = re.compile(rb"^IP Address\s*: (\d{1,3}(?:\.\d{1,3}){3})$", re.M)
_BMC_MAC: Final = re.compile(rb"^MAC Address\s*: ([0-9A-Fa-f:]{17})$", re.M)


def text(value: bytes) -> str:
    """:returns: what a file of the kernel says, printable and bounded; empty where it is unset."""
    shown = value.decode("utf-8", "replace").strip()
    shown = "".join(each if each.isprintable() else " " for each in shown)[:LONGEST].strip()
    return "" if _UNSET.fullmatch(shown) else shown


def cpus(cpuinfo: bytes) -> JSON:
    """:param cpuinfo: ``/proc/cpuinfo``. :returns: how many threads, and of which model."""
    fields = [line.split(b":", 1) for line in cpuinfo.splitlines() if b":" in line]
    pairs = [(name.strip(), value) for name, value in fields]
    models = [text(value) for name, value in pairs if name in (b"model name", b"CPU part")]
    sockets = {bytes(value).strip() for name, value in pairs if name == b"physical id"}
    return {
        "threads": sum(name == b"processor" for name, _ in pairs),
        "sockets": len(sockets) or 1,
        "model": models[0] if models else "",
    }


def memory(meminfo: bytes) -> int:
    """:param meminfo: ``/proc/meminfo``. :returns: bytes; 0 where it does not say."""
    found = re.search(rb"^MemTotal:\s+(\d{1,15}) kB$", meminfo, re.M)
    return int(found[1]) * 1024 if found else 0


@frozen
class Nic:
    """
    A network interface with hardware behind it.

    :ivar mac: that it has now. :ivar speed: Mbit/s; 0: no link.
    :ivar permanent: the MAC that it was made with, where that is another one.
    :ivar neighbour: what the switch says that its cable ends in.
    """

    name: str
    mac: str
    driver: str = ""
    slot: str = ""
    speed: int = 0
    carrier: bool = False
    permanent: str = ""
    neighbour: Neighbour | None = None

    @property
    def document(self) -> JSON:
        """As it travels."""
        return {
            "name": self.name,
            "mac": self.mac,
            "permanent_mac": self.permanent or self.mac,
            "driver": self.driver,
            "slot": self.slot,
            "speed_mbit": self.speed,
            "carrier": self.carrier,
            "neighbour": None if self.neighbour is None else self.neighbour.document,
        }

    @property
    def macs(self) -> tuple[str, ...]:
        """By which a machine may be known."""
        return tuple(dict.fromkeys(each for each in (self.mac, self.permanent) if each))


def mac(value: bytes) -> str:
    """:returns: as we spell it; empty for what is none, or is nobody's."""
    try:
        found = str(MAC.parse(value.decode("ascii", "replace").strip()))
    except ValueError:
        return ""
    return "" if found == "00:00:00:00:00:00" else found


def bmc(lan: bytes) -> JSON | None:
    """:param lan: of ``ipmitool lan print``. :returns: None: there is none that says."""
    address, hardware = _BMC.search(lan), _BMC_MAC.search(lan)
    if address is None or address[1] == b"0.0.0.0":
        return None
    return {"address": address[1].decode(), "mac": "" if hardware is None else mac(hardware[1])}


def disk(device: BlockDevice) -> JSON:
    """:returns: one disk, as it travels."""
    return {
        "name": device.name,
        "size": device.size,
        "model": device.model[:LONGEST],
        "serial": device.serial[:LONGEST],
        "wwn": device.wwn[:LONGEST],
        "transport": device.transport,
        "rotational": device.rotational,
        "sector": device.sector,
        "slot": device.where[:LONGEST],
        "left_alone": device.left_alone,
    }


def inventory(
    dmi: Mapping[str, bytes],
    cpuinfo: bytes,
    meminfo: bytes,
    nics: Sequence[Nic],
    devices: Sequence[BlockDevice],
    gpus: Sequence[JSON],
    lan: bytes,
    warnings: Sequence[str],
) -> JSON:
    """
    :param dmi: files of ``/sys/class/dmi/id`` by name.
    :param warnings: what could not be found out, and why.
    :returns: for the join, for which ``macs`` and ``uuid`` decide, and for the result: no longer
        than both may be. ``cut`` names lists that are not whole for that.
    """
    said = {name: text(value) for name, value in dmi.items()}
    made: JSON = {
        "uuid": said.get("product_uuid", "").lower(),
        "macs": [one for each in nics for one in each.macs][:MOST],
        "vendor": said.get("sys_vendor", ""),
        "product": said.get("product_name", ""),
        "serial": said.get("product_serial", ""),
        "board": said.get("board_name", ""),
        "firmware": {
            "vendor": said.get("bios_vendor", ""),
            "version": said.get("bios_version", ""),
            "date": said.get("bios_date", ""),
        },
        "cpu": cpus(cpuinfo),
        "memory_bytes": memory(meminfo),
        "nics": [each.document for each in nics][:MOST],
        "disks": [disk(each) for each in disks(devices)][:MOST],
        "gpus": list(gpus)[:MOST],
        "bmc": bmc(lan),
        "warnings": [each[:LONGEST] for each in warnings][:MOST],
    }
    return _fitted(made)


def _fitted(made: JSON) -> JSON:
    """:returns: it, without the ends of its longest lists where all of it is too much."""
    while len(rendered(made)) > FITS:
        lists = {name: each for name in _CUT if isinstance(each := made[name], list)}
        name, longest = max(lists.items(), key=lambda each: len(rendered(each[1])))
        kept = longest[: len(longest) // 2]
        made = {**made, name: kept, "cut": sorted({*_names(made.get("cut")), name})}
    return made


def _names(cut: object) -> list[str]:
    return [str(each) for each in cut] if isinstance(cut, list) else []


def permanent(output: bytes, nics: Sequence[Nic]) -> tuple[Nic, ...]:
    """
    :param output: of ``ip -json link show``, which names a permanent MAC where it is another one.
    :returns: with these.
    """
    try:
        rows = parsed(output)
    except Rejected:
        return tuple(nics)
    found = {
        row.get("ifname"): mac(said.encode())
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(said := row.get("permaddr"), str)
    }
    return tuple(evolve(each, permanent=found.get(each.name, "")) for each in nics)
