"""Tests for ``rescriptum.bmc.redfish``: its table, inventories, logs, resets and profiles."""

import json
from typing import Any

from twisted.internet.defer import Deferred

from rescriptum.bmc.redfish.documents import Member
from rescriptum.bmc.redfish.operations import PERFORMING
from rescriptum.bmc.redfish.probing import probe
from rescriptum.bmc.redfish.quirks import KEPT, Profiles, QuirkProfile
from rescriptum.bmc.redfish.session import talk
from rescriptum.bmc.redfish.upkeep import chosen_log
from rescriptum.contract.bmc import OPERATIONS
from rescriptum.contract.structure import plain, structured

from .redfishcases import BASE, MANAGER, SESSIONS, SYSTEM, RedfishCase, collection, linked, reply

LOGS = f"{MANAGER}/LogServices"
SEL = f"{LOGS}/SEL"


class TableTests(RedfishCase):
    def test_every_operation_is_there(self) -> None:
        self.assertEqual(set(PERFORMING), set(OPERATIONS))


class InventoryTests(RedfishCase):
    def test_what_a_machine_is_made_of(self) -> None:
        nics = f"{SYSTEM}/EthernetInterfaces"
        self.bmc.system.update(
            Manufacturer="Example ",
            Model="X1",
            SerialNumber="S-7",
            UUID="AABB",
            BiosVersion="2.3",
            MemorySummary={"TotalSystemMemoryGiB": 64},
            ProcessorSummary={"Count": 2, "Model": "Fast", "LogicalProcessorCount": 32},
            EthernetInterfaces=linked(nics),
        )
        self.bmc.documents[nics] = collection(f"{nics}/1", f"{nics}/2", f"{nics}/3", f"{nics}/4")
        self.bmc.documents[f"{nics}/1"] = {"Id": "1", "MACAddress": "AA-BB-CC-00-00-01"}
        self.bmc.documents[f"{nics}/2"] = {
            "Id": "2",
            "PermanentMACAddress": "aabbcc000002",
            "SpeedMbps": 10000,
            "LinkStatus": "LinkUp",
        }
        self.bmc.documents[f"{nics}/3"] = {"Id": "3", "MACAddress": "none"}
        made = self.run_operation("inventory.get")
        self.assertEqual(
            made,
            {
                "manufacturer": "Example",
                "model": "X1",
                "serial": "S-7",
                "uuid": "aabb",
                "bios_version": "2.3",
                "bmc_version": "1.2",
                "power": "off",
                "memory_gib": 64,
                "cpus": {"count": 2, "model": "Fast", "threads": 32},
                "nics": [
                    {
                        "mac": "aa:bb:cc:00:00:01",
                        "id": "1",
                        "name": "",
                        "speed_mbps": None,
                        "link": "",
                    },
                    {
                        "mac": "aa:bb:cc:00:00:02",
                        "id": "2",
                        "name": "",
                        "speed_mbps": 10000,
                        "link": "LinkUp",
                    },
                ],
            },
        )

    def test_what_is_missing_is_missing(self) -> None:
        """Also what a BMC fails to put together: 404 and 500 are nothing."""
        self.bmc.system["EthernetInterfaces"] = linked(f"{SYSTEM}/EthernetInterfaces")
        self.bmc.doing[("GET", f"{SYSTEM}/EthernetInterfaces")] = [reply(500)]
        del self.bmc.documents[MANAGER]
        made = self.run_operation("inventory.get")
        self.assertEqual((made["nics"], made["bmc_version"], made["serial"]), ([], "", ""))


class LogTests(RedfishCase):
    def setUp(self) -> None:
        super().setUp()
        self.bmc.manager["LogServices"] = linked(LOGS)
        self.bmc.documents[LOGS] = collection(f"{LOGS}/Lclog", SEL)
        self.bmc.documents[SEL] = {"Entries": linked(f"{SEL}/Entries")}

    def event(self, number: int) -> dict[str, Any]:
        return {
            "@odata.id": f"{SEL}/Entries/{number}",
            "Id": str(number),
            "Created": "2026-11-30T00:00:00Z",
            "Severity": "OK",
            "Message": "fan",
        }

    def test_entries_whole_or_by_link(self) -> None:
        self.bmc.documents[f"{SEL}/Entries"] = {
            "Members": [self.event(1), linked(f"{SEL}/Entries/2")]
        }
        self.bmc.documents[f"{SEL}/Entries/2"] = self.event(2)
        made = self.run_operation("management.getSelLog")
        self.assertEqual((made["log"], made["more"]), ("SEL", False))
        self.assertEqual([each["id"] for each in made["entries"]], ["1", "2"])
        self.assertEqual(made["entries"][0]["message"], "fan")

    def test_pages_are_bounded(self) -> None:
        """500 entries, on 20 pages: a log may lead in a circle."""
        page = f"{SEL}/Entries"
        self.bmc.documents[page] = {
            "Members": [self.event(each) for each in range(200)],
            "Members@odata.nextLink": page,
        }
        made = self.run_operation("management.getSelLog")
        self.assertEqual((len(made["entries"]), made["more"]), (500, True))
        self.bmc.documents[page]["Members"] = [self.event(1)]
        made = self.run_operation("management.getSelLog")
        self.assertEqual((len(made["entries"]), made["more"]), (20, True))

    def test_no_log(self) -> None:
        del self.bmc.manager["LogServices"]
        self.assertEqual(self.refused("management.getSelLog").code, "unsupported-operation")

    def test_the_likeliest_log(self) -> None:
        for names, expected in (
            (("Lclog", "Sel"), "Sel"),
            (("IML", "IEL"), "IEL"),
            (("Audit", "Other"), "Audit"),
        ):
            found = chosen_log(tuple(Member(f"/x/{each}", {}) for each in names))
            assert found is not None
            self.assertEqual(found.name, expected)


class ResetTests(RedfishCase):
    def setUp(self) -> None:
        super().setUp()
        self.target = f"{MANAGER}/Actions/Manager.Reset"
        self.bmc.manager["Actions"] = {"#Manager.Reset": {"target": self.target}}
        self.bmc.doing[("POST", self.target)] = [reply(204)]

    def test_gracefully_if_it_may_be(self) -> None:
        action = self.bmc.manager["Actions"]["#Manager.Reset"]
        for allowed, kind in (
            (None, "GracefulRestart"),
            (["ForceRestart", "GracefulRestart"], "GracefulRestart"),
            (["ForceRestart"], "ForceRestart"),
        ):
            action["ResetType@Redfish.AllowableValues"] = allowed
            self.assertEqual(self.run_operation("management.reset"), {"done": [kind]})
        self.assertEqual(self.bmc.sent("POST")[-1], (self.target, {"ResetType": "ForceRestart"}))
        action["ResetType@Redfish.AllowableValues"] = ["ResetToDefaults"]
        self.assertEqual(self.refused("management.reset").code, "unsupported-operation")

    def test_no_such_action(self) -> None:
        self.bmc.manager["Actions"] = {}
        self.assertEqual(self.refused("management.reset").code, "unsupported-operation")

    def test_managers_are_not_guessed_at(self) -> None:
        """With several and no link, none is reset."""
        del self.bmc.system["Links"]
        self.assertEqual(self.run_operation("management.reset")["done"], ["GracefulRestart"])
        self.profile = QuirkProfile()
        self.bmc.documents[f"{BASE}/Managers"] = collection(MANAGER, f"{BASE}/Managers/2")
        self.assertEqual(self.refused("management.reset").code, "unsupported-operation")


class ProfileTests(RedfishCase):
    def probed(self) -> QuirkProfile:
        session = self.session()
        self.successResultOf(Deferred.fromCoroutine(talk(session, lambda each: probe(each, ""))))
        return session.profile

    def test_it_is_read_and_nothing_is_written(self) -> None:
        made = self.probed()
        self.assertEqual((made.vendor, made.version), ("Example", "1.9.0"))
        self.assertEqual((made.sessions, made.system, made.manager), (SESSIONS, SYSTEM, MANAGER))
        self.assertIn("PowerCycle", made.resets)
        self.assertEqual({each.method for each in self.bmc.asked}, {"GET"})

    def test_it_goes_through_json(self) -> None:
        made = self.probed()
        self.assertEqual(structured(QuirkProfile, json.loads(json.dumps(plain(made)))), made)

    def test_profiles_are_kept_by_address(self) -> None:
        profiles = Profiles()
        one, two = QuirkProfile(vendor="1"), QuirkProfile(vendor="2")
        profiles.keep("BMC1", one)
        profiles.keep("bmc1", two, system="blade-2")
        self.assertEqual((profiles.of("bmc1"), profiles.of("Bmc1", "blade-2")), (one, two))
        self.assertEqual(profiles.of("bmc2"), QuirkProfile())

    def test_profiles_are_bounded(self) -> None:
        """The one that was learnt longest ago goes."""
        profiles = Profiles()
        for each in range(KEPT + 1):
            profiles.keep(f"bmc{each}", QuirkProfile(vendor=str(each)))
        self.assertEqual(profiles.of("bmc0"), QuirkProfile())
        self.assertEqual(profiles.of("bmc1").vendor, "1")
        self.assertEqual(profiles.of(f"bmc{KEPT}").vendor, str(KEPT))
