"""Where a BMC has its things: by its switches."""

from attrs import frozen

from .switches import Switch, Switches

ROOT = "/redfish/v1"


@frozen
class Places:
    """Paths, without a slash at their ends."""

    system: str
    manager: str
    sessions: str
    accounts: str
    slots: str
    medium: str

    @classmethod
    def of(cls, switches: Switches) -> "Places":
        odd = Switch.ODD_IDS in switches
        system = f"{ROOT}/Systems/{'System.Embedded.1' if odd else '1'}"
        manager = f"{ROOT}/Managers/{'iDRAC.Embedded.1' if odd else '1'}"
        elsewhere = Switch.SESSIONS_ELSEWHERE in switches
        above = manager if Switch.ACCOUNTS_IN_MANAGER in switches else f"{ROOT}/AccountService"
        holder = system if Switch.MEDIA_IN_SYSTEM in switches else manager
        return cls(
            system,
            manager,
            f"{ROOT}/{'Sessions' if elsewhere else 'SessionService/Sessions'}",
            f"{above}/Accounts",
            f"{holder}/VirtualMedia",
            f"{holder}/VirtualMedia/{'2' if Switch.MEDIA_DVD in switches else 'Cd'}",
        )

    @property
    def reset(self) -> str:
        return f"{self.system}/Actions/ComputerSystem.Reset"

    @property
    def reset_info(self) -> str:
        return f"{self.system}/ResetActionInfo"

    @property
    def settings(self) -> str:
        return f"{self.system}/Settings"

    @property
    def manager_reset(self) -> str:
        return f"{self.manager}/Actions/Manager.Reset"

    @property
    def insert(self) -> str:
        return f"{self.medium}/Actions/VirtualMedia.InsertMedia"

    @property
    def eject(self) -> str:
        return f"{self.medium}/Actions/VirtualMedia.EjectMedia"

    @property
    def update(self) -> str:
        return f"{ROOT}/UpdateService/Actions/UpdateService.SimpleUpdate"

    @property
    def account(self) -> str:
        """Of the first account, whose name no path tells."""
        return f"{self.accounts}/2"

    @property
    def log(self) -> str:
        return f"{self.manager}/LogServices/Sel"

    def task(self, id: str) -> str:
        return f"{ROOT}/TaskService/Tasks/{id}"

    def monitor(self, id: str, switches: Switches) -> str:
        if Switch.MONITOR_SUFFIX in switches:
            return f"{self.task(id)}/Monitor"
        return f"{ROOT}/TaskService/TaskMonitors/{id}"
