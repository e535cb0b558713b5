"""Tests for ``rescriptum.bmc.redfish.firmware`` and ``tasks``."""

from typing import Any

from twisted.internet.defer import Deferred

from rescriptum.bmc.driver import Asked
from rescriptum.bmc.redfish.documents import MEMBERS
from rescriptum.bmc.redfish.operations import perform
from rescriptum.bmc.redfish.replies import Ask, Dropped, Reply
from rescriptum.bmc.redfish.session import talk
from rescriptum.bmc.redfish.tasks import Phase, begun, progress
from rescriptum.contract.bmc import OPERATIONS, BmcRefusal, UpdateFirmware

from .redfishcases import (
    BASE,
    CREDENTIAL,
    ORIGIN,
    PASSWORD,
    RedfishCase,
    collection,
    linked,
    reply,
    said,
)

SERVICE, INVENTORY = f"{BASE}/UpdateService", f"{BASE}/UpdateService/FirmwareInventory"
SIMPLE = f"{SERVICE}/Actions/UpdateService.SimpleUpdate"
BIOS, NIC = f"{INVENTORY}/BIOS", f"{INVENTORY}/NIC.1"
TASK = f"{BASE}/TaskService/Tasks/7"
URL = "http://boot.example/cache/f/grant/abc"
ARGS = UpdateFirmware("00" * 32, "https://vendor.example/bios.bin")
DONE = {"TaskState": "Completed", "TaskStatus": "OK", "PercentComplete": 100}
RUNNING = {"TaskState": "Running", "PercentComplete": 40}


class FirmwareCase(RedfishCase):
    def setUp(self) -> None:
        super().setUp()
        self.service: dict[str, Any] = {
            "FirmwareInventory": linked(INVENTORY),
            "Actions": {"#UpdateService.SimpleUpdate": {"target": SIMPLE}},
        }
        self.bmc.root["UpdateService"] = linked(SERVICE)
        self.bmc.documents[SERVICE] = self.service
        self.bmc.documents[INVENTORY] = collection(BIOS, NIC)
        self.bios: dict[str, Any] = {"Name": "BIOS", "Version": "1.0", "Updateable": True}
        self.bmc.documents[BIOS] = self.bios
        self.bmc.documents[NIC] = {"Name": "NIC", "Version": "5"}

    def update(self, seconds: float = 600) -> dict[str, Any]:
        return self.run_operation("firmware.update", ARGS, image_url=URL, seconds=seconds)

    def no(self, seconds: float = 600) -> BmcRefusal:
        return self.refused("firmware.update", ARGS, image_url=URL, seconds=seconds)

    def installs(self, *answers: Reply) -> None:
        """The new version is there when these were the answers of the task."""
        left = list(answers)

        def look(_: Ask) -> Reply:
            given = left.pop(0) if len(left) > 1 else left[0]
            if len(left) == 1:
                self.bios["Version"] = "2.0"
            return given

        self.bmc.doing[("GET", TASK)] = look


class ListTests(FirmwareCase):
    def test_what_is_installed(self) -> None:
        self.assertEqual(
            self.run_operation("firmware.list")["firmware"],
            [
                {"id": "BIOS", "name": "BIOS", "version": "1.0", "updateable": True},
                {"id": "NIC.1", "name": "NIC", "version": "5", "updateable": False},
            ],
        )

    def test_what_cannot_be_read_is_empty(self) -> None:
        del self.bmc.documents[NIC]
        listed = self.run_operation("firmware.list")["firmware"]
        self.assertEqual(listed[1], {"id": "NIC.1", "name": "", "version": "", "updateable": False})

    def test_no_service(self) -> None:
        del self.bmc.documents[SERVICE]
        self.assertEqual(self.refused("firmware.list").code, "unsupported-operation")

    def test_parts_are_bounded(self) -> None:
        paths = [f"{INVENTORY}/{each}" for each in range(MEMBERS)]
        self.bmc.documents[INVENTORY] = collection(*paths)
        self.assertEqual(len(self.run_operation("firmware.list", seconds=600)["firmware"]), 128)


class UpdateTests(FirmwareCase):
    def test_an_image_must_have_been_verified(self) -> None:
        """Never the URL of the arguments: the BMC would fetch whatever is there now."""
        self.assertEqual(self.refused("firmware.update", ARGS).code, "image-unverified")
        self.assertEqual(self.bmc.sent("POST"), [])

    def test_each_way_to_be_told_of_a_task(self) -> None:
        """A header, a body, either with another host: all followed to the end (W236, W241, R54)."""
        for answer in (
            reply(202, location=TASK),
            reply(202, {"@odata.id": TASK}),
            reply(202, {"@odata.id": TASK, "TaskState": "New"}),
            reply(202, {"TaskMonitor": TASK, "TaskState": "New"}),
            reply(202, {"Task": {"@odata.id": TASK}}),
            reply(200, {"@odata.id": TASK, "TaskState": "New"}),
            reply(202, location=f"https://169.254.0.17{TASK}"),
            reply(202, location=f"{ORIGIN}{TASK}/Monitor"),
            reply(202, {"@odata.id": TASK, "TaskState": "New"}, location="/taskmon/7"),
        ):
            self.setUp()
            self.bmc.doing[("POST", SIMPLE)] = [answer]
            self.installs(reply(200, RUNNING), reply(200, DONE))
            self.assertEqual(
                self.update(), {"confirmed": "task", "changed": {"BIOS": ["1.0", "2.0"]}}
            )
            [(_, body)] = self.bmc.sent("POST")
            self.assertEqual(body, {"ImageURI": URL, "TransferProtocol": "HTTP"})

    def test_no_task_at_all(self) -> None:
        """200 and nothing: the versions tell (W236)."""
        for answer in (reply(200), reply(204), reply(202), Reply(200, {}, b"<ok/>")):
            self.setUp()
            self.bmc.doing[("POST", SIMPLE)] = [answer]
            looks = 0

            def bios(_: Ask) -> Reply:
                nonlocal looks
                looks += 1
                return reply(200, {"Version": "2.0" if looks > 3 else "1.0"})

            self.bmc.doing[("GET", BIOS)] = bios
            self.assertEqual(
                self.update(), {"confirmed": "version", "changed": {"BIOS": ["1.0", "2.0"]}}
            )

    def test_no_task_and_no_new_version(self) -> None:
        """Nobody knows: it may have been the same one."""
        self.bmc.doing[("POST", SIMPLE)] = [reply(200)]
        began = self.bmc.time
        self.assertEqual(self.no().code, "timeout")
        self.assertLess(self.bmc.time - began, 600)
        self.assertEqual(len(self.bmc.sent("POST")), 1)

    def test_a_task_that_is_gone(self) -> None:
        """It ended somehow: the versions tell (W237)."""
        self.bmc.doing[("POST", SIMPLE)] = [reply(202, location=TASK)]
        self.installs(reply(200, RUNNING), reply(404))
        self.assertEqual(self.update()["confirmed"], "version")

    def test_a_task_that_is_not_there_yet(self) -> None:
        """Dell's are not found for seconds (W239)."""
        self.bmc.doing[("POST", SIMPLE)] = [reply(202, location=TASK)]
        self.installs(reply(404), reply(404), reply(200, RUNNING), reply(200, DONE))
        self.assertEqual(self.update()["confirmed"], "task")

    def test_a_task_that_fails(self) -> None:
        """Also one that is complete and critical (W240), or a job of Dell's."""
        for state in (
            {"TaskState": "Exception"},
            {"TaskState": "Killed"},
            {"TaskState": "Completed", "TaskStatus": "Critical"},
            {"JobState": "Failed"},
            {"JobState": "CompletedWithErrors"},
        ):
            self.setUp()
            self.bmc.doing[("POST", SIMPLE)] = [reply(202, location=TASK)]
            words = {"Messages": [{"Message": "wrong image"}]}
            self.installs(reply(200, RUNNING), reply(200, {**state, **words}))
            error = self.no()
            self.assertEqual(error.code, "failed", state)
            self.assertIn("wrong image", error.detail)

    def test_a_task_that_never_ends(self) -> None:
        """It costs the operation's time, and no more (W240)."""
        self.bmc.doing[("POST", SIMPLE)] = [reply(202, location=TASK)]
        self.bmc.doing[("GET", TASK)] = [reply(200, RUNNING)]
        began = self.bmc.time
        error = self.no(seconds=120)
        self.assertEqual(error.code, "timeout")
        self.assertIn("Running", error.detail)
        self.assertLess(self.bmc.time - began, 120)

    def test_a_bmc_that_restarts_meanwhile(self) -> None:
        self.bmc.doing[("POST", SIMPLE)] = [reply(202, location=TASK)]
        self.bmc.doing[("GET", TASK)] = [
            reply(200, RUNNING),
            BmcRefusal("unreachable", "no route"),
            Dropped("bad-response", "broke off"),
            reply(503),
            BmcRefusal("timeout", "no answer"),
            reply(200, DONE),
        ]
        self.assertEqual(self.update()["confirmed"], "task")

    def test_how_far_it_has_come_is_told(self) -> None:
        """Each step once, without a secret."""
        told: list[dict[str, object]] = []
        step = {"TaskState": "Running", "Messages": [{"Message": f"using {PASSWORD}"}]}
        self.bmc.doing[("POST", SIMPLE)] = [reply(202, location=TASK)]
        self.installs(
            reply(200, {**step, "PercentComplete": 10}),
            reply(200, {**step, "PercentComplete": 10}),
            reply(200, {**step, "PercentComplete": 20}),
            reply(200, DONE),
        )
        operation = OPERATIONS["firmware.update"]
        asked = Asked(operation, ARGS, CREDENTIAL, None, URL, 600, told.append)
        working = talk(self.session(seconds=600), lambda each: perform(each, "", asked))
        self.successResultOf(Deferred.fromCoroutine(working))
        self.assertEqual(
            told,
            [{"state": "Running: using ***", "percent": each} for each in (10, 20)],
        )

    def test_no_is_no(self) -> None:
        self.bmc.doing[("POST", SIMPLE)] = [reply(400, said("X", "no such target"))]
        error = self.no()
        self.assertEqual(error.code, "refused")
        self.assertIn("no such target", error.detail)

    def test_a_protocol_that_is_not_allowed(self) -> None:
        action = self.service["Actions"]["#UpdateService.SimpleUpdate"]
        action["TransferProtocol@Redfish.AllowableValues"] = ["TFTP", "HTTPS"]
        error = self.no()
        self.assertEqual(error.code, "unsupported-operation")
        self.assertIn("TFTP, HTTPS", error.detail)
        self.service["Actions"] = {}
        self.assertEqual(self.no().code, "unsupported-operation")

    def test_targets_go_along(self) -> None:
        self.bmc.doing[("POST", SIMPLE)] = [reply(202, location=TASK)]
        self.installs(reply(200, DONE))
        args = UpdateFirmware("00" * 32, "https://vendor.example/x", (BIOS,))
        self.run_operation("firmware.update", args, image_url=URL)
        self.assertEqual(self.bmc.sent("POST")[0][1]["Targets"], [BIOS])


class TaskTests(RedfishCase):
    def test_each_state(self) -> None:
        for status, document, phase in (
            (200, {"TaskState": "Running"}, Phase.RUNNING),
            (200, {"TaskState": "Suspended"}, Phase.RUNNING),
            (200, {"TaskState": "Completed", "TaskStatus": "Warning"}, Phase.DONE),
            (200, {"TaskState": "Unheard of"}, Phase.FAILED),
            (202, {}, Phase.RUNNING),
            (202, {"TaskState": "Completed"}, Phase.DONE),
            (200, {}, Phase.DONE),
            (204, {}, Phase.DONE),
            (404, {}, Phase.GONE),
            (410, {}, Phase.GONE),
            (400, {}, Phase.FAILED),
            (500, {}, Phase.RUNNING),
        ):
            self.assertIs(progress(Reply(status), document).phase, phase, (status, document))

    def test_percentages(self) -> None:
        for said_, percent in (
            (40, 40),
            (0, 0),
            (101, None),
            (-1, None),
            ("40", None),
            (None, None),
        ):
            document = {"TaskState": "Running", "PercentComplete": said_}
            self.assertEqual(progress(Reply(200), document).percent, percent)

    def test_answers_that_name_no_task(self) -> None:
        for answer in (
            reply(200),
            reply(200, {"@odata.id": "/redfish/v1/UpdateService"}),
            Reply(202, {}, b"{"),
            reply(202, {"@odata.id": 7}),
        ):
            self.assertEqual(begun(answer), "")
