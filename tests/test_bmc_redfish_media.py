"""Tests for ``rescriptum.bmc.redfish.media`` and ``slots``."""

from typing import Any

from rescriptum.bmc.redfish.replies import Ask, Reply
from rescriptum.bmc.redfish.slots import FORMS, holds, insertion, is_disc
from rescriptum.contract.bmc import InsertMedia

from .redfishcases import MANAGER, SYSTEM, RedfishCase, collection, linked, reply, said

URL = "http://boot.example/cache/f/grant/abc"
IMAGE = InsertMedia(URL)
PLACE = f"{MANAGER}/VirtualMedia"
FLOPPY, CD, OTHER = f"{PLACE}/0", f"{PLACE}/1", f"{PLACE}/2"
INSERT, EJECT = f"{CD}/Actions/VirtualMedia.InsertMedia", f"{CD}/Actions/VirtualMedia.EjectMedia"


class MediaTests(RedfishCase):
    def setUp(self) -> None:
        super().setUp()
        self.slot: dict[str, Any] = {
            "MediaTypes": ["CD", "DVD"],
            "Inserted": False,
            "Image": None,
            "Actions": {
                "#VirtualMedia.InsertMedia": {"target": INSERT},
                "#VirtualMedia.EjectMedia": {"target": EJECT},
            },
        }
        self.bmc.manager["VirtualMedia"] = linked(PLACE)
        self.bmc.documents[PLACE] = collection(FLOPPY, CD, OTHER)
        self.bmc.documents[FLOPPY] = {"MediaTypes": ["Floppy", "USBStick"]}
        self.bmc.documents[CD] = self.slot
        self.bmc.documents[OTHER] = dict(self.slot)
        self.bmc.doing[("POST", INSERT)] = self.insert
        self.bmc.doing[("POST", EJECT)] = self.eject
        self.bmc.doing[("PATCH", CD)] = self.insert

    def insert(self, ask: Ask) -> Reply:
        body = self.bmc.body(ask)
        self.slot.update(Image=body["Image"], Inserted=body["Image"] is not None)
        return reply(204)

    def eject(self, _: Ask) -> Reply:
        self.slot.update(Image=None, Inserted=False)
        return reply(204)

    def posts(self) -> list[tuple[str, dict[str, Any]]]:
        return self.bmc.sent("POST")

    def test_the_first_slot_for_discs(self) -> None:
        """Under the manager, and no other: from the second one some machines do not boot (W231)."""
        outcome = self.run_operation("media.insert", IMAGE)
        self.assertEqual(outcome, {"slot": CD, "inserted": True})
        self.assertEqual(self.posts(), [(INSERT, {"Image": URL})])
        self.assertEqual(self.profile.media, CD)

    def test_slots_of_the_system_come_first(self) -> None:
        """Newer BMCs have them there (W231)."""
        place = f"{SYSTEM}/VirtualMedia"
        self.bmc.system["VirtualMedia"] = linked(place)
        self.bmc.documents[place] = collection(f"{place}/Cd")
        self.bmc.documents[f"{place}/Cd"] = {**self.slot, "Inserted": True, "Image": URL}
        self.assertEqual(self.run_operation("media.insert", IMAGE)["slot"], f"{place}/Cd")
        self.assertEqual(self.posts(), [])

    def test_no_slot(self) -> None:
        del self.bmc.manager["VirtualMedia"]
        for name, args in (("media.insert", IMAGE), ("media.eject", None)):
            error = self.refused(name, args)
            self.assertEqual(error.code, "unsupported-operation")
            self.assertIn("licence", error.detail)

    def test_what_is_in_the_slot_goes(self) -> None:
        self.slot.update(Inserted=True, Image="http://other/x.iso")
        self.run_operation("media.insert", IMAGE)
        self.assertEqual([path for path, _ in self.posts()], [EJECT, INSERT])
        self.assertEqual(self.slot["Image"], URL)

    def test_the_same_image_is_done(self) -> None:
        self.slot.update(Inserted=True, Image=URL)
        self.run_operation("media.insert", IMAGE)
        self.assertEqual(self.posts(), [])

    def test_each_vendors_form(self) -> None:
        """What was missing or too much is found out, and remembered (W232)."""
        for wanted in FORMS:
            self.setUp()

            def picky(ask: Ask, wanted: str = wanted) -> Reply:
                if self.bmc.body(ask) != insertion(wanted, URL):
                    return Reply(500, {}, b"<h1>Internal error</h1>")
                return self.insert(ask)

            self.bmc.doing[("POST", INSERT)] = picky
            self.run_operation("media.insert", IMAGE)
            tries = len(self.posts())
            self.assertEqual(tries, list(FORMS).index(wanted) + 1)
            self.assertEqual(self.profile.media_form, wanted)
            self.eject(Ask("POST", EJECT))
            self.run_operation("media.insert", IMAGE)
            self.assertEqual(len(self.posts()), tries + 1)

    def test_no_form_pleases(self) -> None:
        """Four tries, and what was said of the one by the book."""
        answers = [reply(400, said("X", "first")), reply(400, said("X", "later"))]
        self.bmc.doing[("POST", INSERT)] = answers
        error = self.refused("media.insert", InsertMedia(f"{URL}?x=1"))
        self.assertEqual(error.code, "refused")
        self.assertIn("first", error.detail)
        self.assertIn("? or =", error.detail)  # (W234)
        self.assertEqual(len(self.posts()), len(FORMS))

    def test_a_plain_no_is_not_argued_with(self) -> None:
        for status, code in ((403, "refused"), (404, "not-found"), (409, "conflict")):
            self.bmc.asked.clear()
            self.bmc.doing[("POST", INSERT)] = [reply(status)]
            self.assertEqual(self.refused("media.insert", IMAGE).code, code)
            self.assertEqual(len(self.posts()), 1)

    def test_without_an_action_the_slot_is_changed(self) -> None:
        """Lenovo's SD530 (W232)."""
        self.slot["Actions"] = {}
        self.run_operation("media.insert", IMAGE)
        self.assertEqual(self.bmc.sent("PATCH"), [(CD, {"Inserted": True, "Image": URL})])
        self.run_operation("media.eject")
        self.assertEqual(self.bmc.sent("PATCH")[-1], (CD, {"Image": None, "Inserted": False}))

    def test_an_image_that_is_accepted_and_not_there(self) -> None:
        self.bmc.doing[("POST", INSERT)] = [reply(202)]
        error = self.refused("media.insert", IMAGE)
        self.assertEqual(error.code, "failed")
        self.assertEqual(len(self.posts()), 1)

    def test_an_empty_slot_is_ejected(self) -> None:
        self.assertEqual(self.run_operation("media.eject"), {"slot": CD, "inserted": False})
        self.assertEqual(self.posts(), [])

    def test_eject(self) -> None:
        """By an empty object: HPE's want one (W233)."""
        self.slot.update(Inserted=True, Image=URL)
        self.assertFalse(self.run_operation("media.eject")["inserted"])
        self.assertEqual(self.posts(), [(EJECT, {})])
        self.assertEqual(self.bmc.asked[-2].body, b"{}")

    def test_a_slot_that_stays_inserted(self) -> None:
        """The BMC said that it was done: its slot is stale (W233)."""
        self.slot.update(Inserted=True, Image=URL)
        self.bmc.doing[("POST", EJECT)] = [reply(204)]
        self.assertFalse(self.run_operation("media.eject")["inserted"])

    def test_an_eject_that_fails_and_is_done(self) -> None:
        """5xx, and the slot is empty (W233)."""
        self.slot.update(Inserted=True, Image=URL)
        self.bmc.doing[("POST", EJECT)] = lambda ask: (self.eject(ask), reply(500))[1]
        self.assertFalse(self.run_operation("media.eject")["inserted"])
        self.slot.update(Inserted=True, Image=URL)
        self.bmc.doing[("POST", EJECT)] = [reply(500)]
        self.assertEqual(self.refused("media.eject").code, "failed")


class SlotTests(RedfishCase):
    def test_each_form(self) -> None:
        image = {"Image": "https://x/a.iso"}
        stream = {"TransferMethod": "Stream", "TransferProtocolType": "HTTPS"}
        self.assertEqual(
            [insertion(each, "https://x/a.iso") for each in FORMS],
            [
                image,
                {**image, "Inserted": True, "WriteProtected": True},
                {**image, **stream},
                {**image, **stream, "UserName": "none", "Password": "none"},
            ],
        )

    def test_discs(self) -> None:
        for types, disc in ((["CD"], True), (["dvd"], True), (["USBStick"], False), (None, False)):
            self.assertEqual(is_disc({"MediaTypes": types}), disc)

    def test_an_image_by_its_name(self) -> None:
        """Some show no more of it."""
        for slot, there in (
            ({"Inserted": True, "Image": "http://x/a.iso"}, True),
            ({"Inserted": True, "ImageName": "a.iso"}, True),
            ({"Inserted": True}, True),
            ({"Image": "http://x/a.iso"}, True),
            ({"Inserted": True, "Image": "http://x/b.iso"}, False),
            ({"Inserted": False, "Image": "http://x/a.iso"}, False),
            ({}, False),
        ):
            self.assertEqual(holds(slot, "http://x/a.iso"), there, slot)
