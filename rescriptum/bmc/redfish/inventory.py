"""What a machine is made of, as its BMC has it: whatever is missing there is missing here."""

from typing import Final

from ...values import MAC
from .documents import Document, inner, link, members, number, text
from .resets import state_of
from .session import Session
from .systems import manager_of, system_of

#: Network interfaces that are listed.
_NICS: Final = 64


async def get_inventory(session: Session, system: str) -> dict[str, object]:
    """``inventory.get``."""
    _, document = await system_of(session, system)
    manager = await session.find(await manager_of(session, document))
    listed = await session.find(link(document, "EthernetInterfaces"))
    found = [
        each.document if "MACAddress" in each.document else await session.find(each.path)
        for each in members(listed)[:_NICS]
    ]
    return {
        **machine(document),
        "bmc_version": text(manager, "FirmwareVersion"),
        "nics": nics(found),
    }


def machine(system: Document) -> dict[str, object]:
    """:returns: what the machine's own document says."""
    processors = inner(system, "ProcessorSummary")
    return {
        "manufacturer": text(system, "Manufacturer"),
        "model": text(system, "Model"),
        "serial": text(system, "SerialNumber") or text(system, "SKU"),
        "uuid": text(system, "UUID").lower(),
        "bios_version": text(system, "BiosVersion"),
        "power": state_of(system).value,
        "memory_gib": number(inner(system, "MemorySummary"), "TotalSystemMemoryGiB"),
        "cpus": {
            "count": number(processors, "Count"),
            "model": text(processors, "Model"),
            "threads": number(processors, "LogicalProcessorCount"),
        },
    }


def nics(documents: list[Document]) -> list[dict[str, object]]:
    """:returns: those with an address, each once: machines are told apart by it."""
    made: dict[str, dict[str, object]] = {}
    for each in documents:
        spelt = text(each, "MACAddress") or text(each, "PermanentMACAddress")
        try:
            mac = str(MAC.parse(spelt))
        except ValueError:
            continue
        made.setdefault(
            mac,
            {
                "mac": mac,
                "id": text(each, "Id"),
                "name": text(each, "Name"),
                "speed_mbps": number(each, "SpeedMbps"),
                "link": text(each, "LinkStatus"),
            },
        )
    return list(made.values())
