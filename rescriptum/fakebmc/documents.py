"""Every resource of a BMC, as it reads at one moment."""

from collections.abc import Callable, Iterable, Mapping

from .asking import Document
from .hardware import CHASSIS, hardware
from .places import ROOT, Places
from .state import LAGGING, MODEL, SERIAL, VENDOR, State, Task
from .switches import Switch

_RESETS = ("On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi")
_UNKNOWN = {
    Switch.NO_GRACEFUL_RESTART: "GracefulRestart",
    Switch.NO_FORCE_RESTART: "ForceRestart",
    Switch.NO_POWER_CYCLE: "PowerCycle",
    Switch.NO_NMI: "Nmi",
}


def resets(state: State) -> tuple[str, ...]:
    """The reset types that the system knows."""
    unknown = {word for switch, word in _UNKNOWN.items() if switch in state.switches}
    return tuple(each for each in (*_RESETS, "PowerCycle") if each not in unknown)


def targets(state: State) -> tuple[str, ...]:
    """What the system can boot from."""
    cd = "UsbCd" if Switch.USB_CD in state.switches else "Cd"
    http = () if Switch.NO_HTTP_BOOT in state.switches else ("UefiHttp",)
    return ("None", "Pxe", "Hdd", cd, *http)


def enabling(state: State) -> tuple[str, ...]:
    """For how long an override may hold."""
    forever = () if Switch.NO_CONTINUOUS in state.switches else ("Continuous",)
    return ("Disabled", "Once", *forever)


def documents(state: State, now: float) -> Mapping[str, Document]:
    """:returns: by their paths."""
    switches, places = state.switches, Places.of(state.switches)
    lists = _lists(state)
    found: dict[str, Document] = {
        ROOT: _root(state, places),
        places.system: _system(state, places, now),
        places.manager: _manager(state, places),
        f"{ROOT}/AccountService": {"Accounts": _link(places.accounts)},
        f"{ROOT}/UpdateService": _updates(state, places),
        f"{ROOT}/UpdateService/FirmwareInventory/BMC": _firmware("BMC", f"1.{state.firmware}"),
        f"{ROOT}/UpdateService/FirmwareInventory/BIOS": _firmware("BIOS", "2.4.6"),
        f"{ROOT}/Registries": lists(()),
        f"{ROOT}/TaskService": {"Tasks": _link(f"{ROOT}/TaskService/Tasks")},
        places.log: {"Entries": _link(f"{places.log}/Entries")},
        f"{places.manager}/LogServices": lists((places.log,)),
        **hardware(places.system, lists),
    }
    if Switch.NO_SESSIONS not in switches:
        found[f"{ROOT}/SessionService"] = {"Sessions": _link(places.sessions)}
        held: dict[str, Document] = {
            f"{places.sessions}/{each.id}": {"UserName": each.user} for each in state.sessions
        }
        found |= {**held, places.sessions: lists(held)}
    if Switch.BOOT_SETTINGS in switches:
        found[places.settings] = {"Boot": _boot(state)}
    if Switch.ACTION_INFO in switches:
        allowed = {"Name": "ResetType", "Required": True, "AllowableValues": list(resets(state))}
        found[places.reset_info] = {"Parameters": [allowed]}
    found |= {**_collections(state, places, lists), **_log(state, places)}
    found |= dict(_tasks(state, now))
    for path, document in found.items():
        document.setdefault("@odata.id", path + ("/" if path == ROOT else ""))
        document.setdefault("Id", path.rpartition("/")[2])
    return found


def _link(path: str) -> Document:
    return {"@odata.id": path}


def _lists(state: State) -> Callable[[Iterable[str]], Document]:
    """:returns: what makes a collection, in this BMC's way."""
    switches = state.switches

    def collection(paths: Iterable[str]) -> Document:
        members = [_link(each) for each in paths]
        count = {"Members@odata.count": len(members)}
        if Switch.MEMBERS_DICT in switches:
            return {**count, "Members": {str(at): each for at, each in enumerate(members)}}
        if Switch.MEMBERS_LINKS in switches:
            return {**count, "Links": {"Members": members}}
        return {**count, "Members": members}

    return collection


def _collections(
    state: State, places: Places, lists: Callable[[Iterable[str]], Document]
) -> Mapping[str, Document]:
    switches = state.switches
    systems = [places.system]
    found: dict[str, Document] = {}
    if Switch.TWO_SYSTEMS in switches:
        systems.append(f"{ROOT}/Systems/2")
        found[systems[1]] = {"Name": "another", "PowerState": "Off", "SerialNumber": "FAKE0002"}
    accounts = [f"{places.accounts}/{at}" for at, _ in enumerate(state.accounts, 2)]
    for path, account in zip(accounts, state.accounts, strict=True):
        found[path] = {
            "UserName": account.name,
            "Password": None,
            "RoleId": "Administrator",
            "Enabled": True,
            "Locked": bool(account.locked_until),
        }
    slots = [places.medium]
    if Switch.MEDIA_DVD in switches:
        slots.insert(0, f"{places.slots}/1")
        found[slots[0]] = {"MediaTypes": ["USBStick"], "Inserted": False, "Image": None}
    found[places.medium] = _medium(state, places)
    inventory = f"{ROOT}/UpdateService/FirmwareInventory"
    return found | {
        f"{ROOT}/Systems": lists(systems),
        f"{ROOT}/Managers": lists([places.manager]),
        f"{ROOT}/Chassis": lists([CHASSIS]),
        places.accounts: lists(accounts),
        places.slots: lists(slots),
        inventory: lists([f"{inventory}/BMC", f"{inventory}/BIOS"]),
        f"{ROOT}/TaskService/Tasks": lists([places.task(each.id) for each in state.tasks]),
    }


def _root(state: State, places: Places) -> Document:
    found: Document = {
        "@odata.type": "#ServiceRoot.v1_5_0.ServiceRoot",
        "RedfishVersion": "1.6.0",
        "UUID": "92384634-2938-2342-8820-489239905423",
        "Vendor": VENDOR,
        "Product": "Fake BMC",
        "Links": {"Sessions": _link(places.sessions)},
    }
    names = ("Systems", "Managers", "Chassis", "AccountService", "UpdateService", "Registries")
    found |= {name: _link(f"{ROOT}/{name}") for name in names}
    found["Tasks"] = _link(f"{ROOT}/TaskService")
    if Switch.NO_SESSIONS in state.switches:
        del found["Links"]
    elif Switch.SESSIONS_ELSEWHERE not in state.switches:
        found["SessionService"] = _link(f"{ROOT}/SessionService")
    return found


def _system(state: State, places: Places, now: float) -> Document:
    switches = state.switches
    power: object = "On" if state.power.at(now) else "Off"
    lagging = now < state.power.due
    if Switch.POWER_NULL in switches and lagging:
        power = None
    reset: Document = {"target": places.reset}
    if Switch.ACTION_INFO in switches:
        reset["@Redfish.ActionInfo"] = places.reset_info
    elif Switch.NO_ALLOWABLE not in switches:
        reset["ResetType@Redfish.AllowableValues"] = list(resets(state))
    found: Document = {
        "@odata.type": "#ComputerSystem.v1_10_0.ComputerSystem",
        "Name": "System",
        "Manufacturer": VENDOR,
        "Model": MODEL,
        "SerialNumber": SERIAL,
        "UUID": "4c4c4544-0000-1000-8000-000000000001",
        "BiosVersion": "2.4.6",
        "PowerState": power,
        "Boot": _boot(state),
        "MemorySummary": {"TotalSystemMemoryGiB": 64},
        "ProcessorSummary": {"Count": 2, "Model": "Fake 3000"},
        "Processors": _link(f"{places.system}/Processors"),
        "Memory": _link(f"{places.system}/Memory"),
        "EthernetInterfaces": _link(f"{places.system}/EthernetInterfaces"),
        "Links": {"ManagedBy": [_link(places.manager)], "Chassis": [_link(CHASSIS)]},
        "Actions": {"#ComputerSystem.Reset": reset},
    }
    if Switch.MEDIA_IN_SYSTEM in switches:
        found["VirtualMedia"] = _link(places.slots)
    if Switch.BOOT_SETTINGS in switches:
        found["@Redfish.Settings"] = {"SettingsObject": _link(places.settings)}
    if Switch.WRONG_TYPES in switches:
        found |= {"PowerState": 7, "Boot": "none", "Actions": [], "SerialNumber": {"a": 1}}
    return found


def _boot(state: State) -> Document:
    override = state.override
    found: Document = {
        "BootSourceOverrideEnabled": override.enabled,
        "BootSourceOverrideEnabled@Redfish.AllowableValues": list(enabling(state)),
        "BootSourceOverrideTarget": override.target,
        "BootSourceOverrideTarget@Redfish.AllowableValues": list(targets(state)),
        "BootSourceOverrideMode": override.mode,
        "BootSourceOverrideMode@Redfish.AllowableValues": ["UEFI", "Legacy"],
    }
    if Switch.NO_HTTP_BOOT not in state.switches:
        found["HttpBootUri"] = override.uri or None
    return found


def _manager(state: State, places: Places) -> Document:
    year = "1970-01-01" if Switch.WRONG_CLOCK in state.switches else "2026-01-01"
    found: Document = {
        "@odata.type": "#Manager.v1_5_0.Manager",
        "Name": "Manager",
        "ManagerType": "BMC",
        "FirmwareVersion": f"1.{state.firmware}",
        "DateTime": f"{year}T00:00:00Z",
        "Status": {"State": "Enabled", "Health": "OK"},
        "LogServices": _link(f"{places.manager}/LogServices"),
        "Links": {"ManagerForServers": [_link(places.system)]},
        "Actions": {
            "#Manager.Reset": {
                "target": places.manager_reset,
                "ResetType@Redfish.AllowableValues": ["GracefulRestart", "ForceRestart"],
            }
        },
    }
    if Switch.MEDIA_IN_SYSTEM not in state.switches:
        found["VirtualMedia"] = _link(places.slots)
    return found


def _medium(state: State, places: Places) -> Document:
    kind = "DVD" if Switch.MEDIA_DVD in state.switches else "CD"
    found: Document = {
        "Name": "Virtual Media",
        "MediaTypes": [kind],
        "Image": state.media or None,
        "Inserted": bool(state.media) or state.stale,
        "ConnectedVia": "URI" if state.media else "NotConnected",
        "WriteProtected": True,
    }
    if Switch.MEDIA_PATCH not in state.switches:
        found["Actions"] = {
            "#VirtualMedia.InsertMedia": {"target": places.insert},
            "#VirtualMedia.EjectMedia": {"target": places.eject},
        }
    return found


def _updates(state: State, places: Places) -> Document:
    found: Document = {
        "Name": "Update Service",
        "ServiceEnabled": True,
        "FirmwareInventory": _link(f"{ROOT}/UpdateService/FirmwareInventory"),
    }
    if Switch.NO_UPDATE not in state.switches:
        found["Actions"] = {"#UpdateService.SimpleUpdate": {"target": places.update}}
    return found


def _firmware(name: str, version: str) -> Document:
    return {"Name": name, "Version": version, "Updateable": name == "BMC"}


def _log(state: State, places: Places) -> Mapping[str, Document]:
    entries: dict[str, Document] = {
        f"{places.log}/Entries/{at}": {
            "@odata.id": f"{places.log}/Entries/{at}",
            "Id": str(at),
            "Name": "Log Entry",
            "EntryType": "SEL",
            "Severity": "OK",
            "Created": "2026-01-01T00:00:00Z",
            "Message": line,
        }
        for at, line in enumerate(state.log, 1)
    }
    whole = {"Members@odata.count": len(entries), "Members": list(entries.values())}
    return {**entries, f"{places.log}/Entries": whole}


def _tasks(state: State, now: float) -> Iterable[tuple[str, Document]]:
    switches, places = state.switches, Places.of(state.switches)
    for task in state.tasks:
        over = state.task_over(task, now) and Switch.TASK_STUCK not in switches
        if over and Switch.TASK_VANISHES in switches:
            continue
        if Switch.TASK_LATE in switches and now < task.began + LAGGING / 4:
            continue
        yield places.task(task.id), _task(task, over, Switch.TASK_CRITICAL in switches)
        yield places.monitor(task.id, switches), _task(task, over, Switch.TASK_CRITICAL in switches)


def _task(task: Task, over: bool, critical: bool) -> Document:
    text = "The image could not be applied." if critical and over else "Updating."
    return {
        "@odata.type": "#Task.v1_4_0.Task",
        "Id": task.id,
        "Name": "Update",
        "TaskState": "Completed" if over else "Running",
        "TaskStatus": "Critical" if critical and over else "OK",
        "PercentComplete": 100 if over else 50,
        "Messages": [{"Message": text}],
    }
