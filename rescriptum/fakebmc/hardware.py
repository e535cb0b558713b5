"""What the machine is made of: the same in every one."""

from collections.abc import Callable, Iterable, Mapping

from .asking import Document
from .places import ROOT
from .state import MACS, MODEL, SERIAL, VENDOR

#: Of the one chassis.
CHASSIS = f"{ROOT}/Chassis/1"


def hardware(system: str, lists: Callable[[Iterable[str]], Document]) -> Mapping[str, Document]:
    """:param lists: makes a collection of paths."""
    parts: dict[str, Document] = {
        f"{system}/Processors/{at}": {
            "Socket": f"CPU {at}",
            "ProcessorType": "CPU",
            "Model": "Fake 3000",
            "Manufacturer": VENDOR,
            "TotalCores": 8,
            "TotalThreads": 16,
            "MaxSpeedMHz": 3000,
        }
        for at in (1, 2)
    }
    parts |= {
        f"{system}/Memory/{at}": {
            "Name": f"DIMM {at}",
            "CapacityMiB": 32768,
            "MemoryDeviceType": "DDR5",
            "OperatingSpeedMhz": 4800,
        }
        for at in (1, 2)
    }
    parts |= {
        f"{system}/EthernetInterfaces/{at}": {
            "Name": f"NIC {at}",
            "MACAddress": mac.upper(),
            "PermanentMACAddress": mac.upper(),
            "SpeedMbps": 10000,
            "LinkStatus": "LinkUp",
        }
        for at, mac in enumerate(MACS, 1)
    }
    found = dict(parts)
    for name in ("Processors", "Memory", "EthernetInterfaces"):
        above = f"{system}/{name}"
        found[above] = lists(each for each in parts if each.startswith(f"{above}/"))
    found[CHASSIS] = {
        "ChassisType": "RackMount",
        "Manufacturer": VENDOR,
        "Model": MODEL,
        "SerialNumber": SERIAL,
        "PartNumber": "FAKE-1",
    }
    return found
