"""Tests for ``rescriptum.bmc.redfish.boot``, ``override`` and ``changing``."""

from typing import Any

from rescriptum.bmc.redfish.override import described
from rescriptum.bmc.redfish.replies import Ask, Reply
from rescriptum.contract.bmc import BootTarget, SetOverride

from .redfishcases import SYSTEM, RedfishCase, linked, reply, said

ENABLED, TARGET = "BootSourceOverrideEnabled", "BootSourceOverrideTarget"
MODE = "BootSourceOverrideMode"
PXE = SetOverride(BootTarget.PXE)
SETTINGS = f"{SYSTEM}/Settings"


class DescribedTests(RedfishCase):
    def test_each_target_has_its_word(self) -> None:
        for name, word in (
            ("Pxe", "pxe"),
            ("UefiHttp", "http"),
            ("Hdd", "hdd"),
            ("Cd", "cd"),
            ("UsbCd", "cd"),
            ("BiosSetup", "other"),
            ("None", "none"),
            (None, "none"),
        ):
            self.assertEqual(described({TARGET: name, ENABLED: "Once"})["target"], word)

    def test_a_disabled_one_is_none(self) -> None:
        """Whatever target is left in it: after its use it is just that (W223)."""
        read = described({TARGET: "Pxe", ENABLED: "Disabled", MODE: "Legacy"})
        self.assertEqual((read["target"], read["once"], read["uefi"]), ("none", False, False))

    def test_nothing_is_nothing(self) -> None:
        self.assertEqual(self.run_operation("boot.getOverride")["target"], "none")
        del self.bmc.system["Boot"]
        read = self.run_operation("boot.getOverride")
        self.assertEqual((read["target"], read["uefi"]), ("none", None))


class SetOverrideTests(RedfishCase):
    def setUp(self) -> None:
        super().setUp()
        self.boot: dict[str, Any] = self.bmc.system["Boot"]

    def sent(self) -> list[dict[str, Any]]:
        return [body["Boot"] for _, body in self.bmc.sent("PATCH")]

    def test_the_triple_goes_as_a_whole(self) -> None:
        """The mode goes along as it is when none is asked for (W218, W222)."""
        outcome = self.run_operation("boot.setOverride", PXE)
        self.assertEqual(self.sent(), [{ENABLED: "Once", TARGET: "Pxe", MODE: "UEFI"}])
        self.assertEqual((outcome["target"], outcome["once"], outcome["uefi"]), ("pxe", True, True))

    def test_each_wish(self) -> None:
        for args, expected in (
            (SetOverride(BootTarget.HDD, once=False), ("Continuous", "Hdd", "UEFI")),
            (SetOverride(BootTarget.CD, uefi=False), ("Once", "Cd", "Legacy")),
            (SetOverride(BootTarget.NONE), ("Disabled", "None", "Legacy")),
            (SetOverride(BootTarget.HTTP), ("Once", "UefiHttp", "UEFI")),
        ):
            self.run_operation("boot.setOverride", args)
            made = self.sent()[-1]
            self.assertEqual((made[ENABLED], made[TARGET], made[MODE]), expected)

    def test_http_boot_is_told_its_url(self) -> None:
        """Only when there is one (W225)."""
        self.run_operation("boot.setOverride", SetOverride(BootTarget.HTTP, url="http://b/x.efi"))
        self.assertEqual(self.sent()[-1]["HttpBootUri"], "http://b/x.efi")

    def test_what_is_not_allowed_is_not_sent(self) -> None:
        self.boot[f"{TARGET}@Redfish.AllowableValues"] = ["Pxe", "UsbCd"]
        self.boot[f"{ENABLED}@Redfish.AllowableValues"] = ["Disabled", "Once"]
        self.boot[f"{MODE}@Redfish.AllowableValues"] = ["UEFI"]
        for args, name in (
            (SetOverride(BootTarget.HTTP), TARGET),
            (SetOverride(BootTarget.PXE, once=False), ENABLED),
            (SetOverride(BootTarget.PXE, uefi=False), MODE),
            (SetOverride(BootTarget.HTTP, uefi=False), TARGET),
        ):
            error = self.refused("boot.setOverride", args)
            self.assertEqual(error.code, "unsupported-operation")
            self.assertIn(name, error.detail)
        self.assertEqual(self.sent(), [])

    def test_http_boot_knows_no_legacy(self) -> None:
        error = self.refused("boot.setOverride", SetOverride(BootTarget.HTTP, uefi=False))
        self.assertEqual(error.code, "unsupported-operation")

    def test_an_emulated_cd(self) -> None:
        """Supermicro's (W235)."""
        self.boot[f"{TARGET}@Redfish.AllowableValues"] = ["Pxe", "UsbCd"]
        outcome = self.run_operation("boot.setOverride", SetOverride(BootTarget.CD))
        self.assertEqual((self.sent()[-1][TARGET], outcome["target"]), ("UsbCd", "cd"))

    def test_a_mode_that_is_read_only(self) -> None:
        """HPE's: sent again without it, and never again with it (W219)."""

        def fixed(ask: Ask) -> Reply:
            if MODE in self.bmc.body(ask)["Boot"]:
                return reply(400, said("PropertyNotWritable", "not writable", MODE))
            return self.bmc.change_boot(ask)

        self.bmc.doing[("PATCH", SYSTEM)] = fixed
        self.run_operation("boot.setOverride", PXE)
        self.assertEqual([MODE in each for each in self.sent()], [True, False])
        self.run_operation("boot.setOverride", PXE)
        self.assertEqual([MODE in each for each in self.sent()], [True, False, False])

    def test_a_mode_that_stays_another(self) -> None:
        """A target in the wrong mode boots nothing: that is said."""
        self.boot[MODE] = "Legacy"
        self.bmc.doing[("PATCH", SYSTEM)] = lambda ask: self.taken(ask, mode=False)
        error = self.refused("boot.setOverride", SetOverride(BootTarget.PXE, uefi=True))
        self.assertEqual(error.code, "failed")
        self.assertIn("Legacy", error.detail)

    def taken(self, ask: Ask, mode: bool) -> Reply:
        wanted = self.bmc.body(ask)["Boot"]
        self.boot.update({n: each for n, each in wanted.items() if mode or n != MODE})
        return reply(200, {})

    def test_accepted_and_forgotten(self) -> None:
        """It is read back a few times, and then it has failed (W220)."""
        self.bmc.doing[("PATCH", SYSTEM)] = [reply(204)]
        error = self.refused("boot.setOverride", PXE)
        self.assertEqual(error.code, "failed")
        self.assertIn("reads back", error.detail)
        self.assertEqual(self.bmc.paused, [2.0] * 4)

    def test_continuous_that_became_once(self) -> None:
        def once(ask: Ask) -> Reply:
            self.boot.update(self.bmc.body(ask)["Boot"])
            self.boot[ENABLED] = "Once"
            return reply(204)

        self.bmc.doing[("PATCH", SYSTEM)] = once
        error = self.refused("boot.setOverride", SetOverride(BootTarget.PXE, once=False))
        self.assertEqual(error.code, "failed")

    def test_once_that_became_continuous(self) -> None:
        """The target is there, and the outcome says that it stays (sushy-tools' emulator)."""

        def stays(ask: Ask) -> Reply:
            self.boot.update(self.bmc.body(ask)["Boot"])
            self.boot[ENABLED] = "Continuous"
            return reply(204)

        self.bmc.doing[("PATCH", SYSTEM)] = stays
        outcome = self.run_operation("boot.setOverride", PXE)
        self.assertEqual((outcome["target"], outcome["once"]), ("pxe", False))

    def test_it_is_set_on_the_settings(self) -> None:
        """Where there are any with a boot: a change of the machine itself is ignored (W221)."""
        self.bmc.system["@Redfish.Settings"] = {"SettingsObject": linked(SETTINGS)}
        self.bmc.documents[SETTINGS] = {"Boot": dict(self.boot)}
        self.bmc.doing[("PATCH", SYSTEM)] = [reply(200)]

        def later(ask: Ask) -> Reply:
            self.bmc.documents[SETTINGS]["Boot"].update(self.bmc.body(ask)["Boot"])
            return reply(200)

        self.bmc.doing[("PATCH", SETTINGS)] = later
        self.assertEqual(self.run_operation("boot.setOverride", PXE)["target"], "pxe")
        self.assertEqual([path for path, _ in self.bmc.sent("PATCH")], [SETTINGS])
        self.assertEqual(self.profile.boot_settings, SETTINGS)

    def test_settings_that_are_ignored(self) -> None:
        """Then the machine itself is told."""
        self.bmc.system["@Redfish.Settings"] = {"SettingsObject": linked(SETTINGS)}
        self.bmc.documents[SETTINGS] = {"Boot": dict(self.boot)}
        self.bmc.doing[("PATCH", SETTINGS)] = [reply(200)]
        self.assertEqual(self.run_operation("boot.setOverride", PXE)["target"], "pxe")
        self.assertEqual([path for path, _ in self.bmc.sent("PATCH")], [SETTINGS, SYSTEM])

    def test_settings_without_a_boot(self) -> None:
        self.bmc.system["@Redfish.Settings"] = {"SettingsObject": linked(SETTINGS)}
        self.bmc.documents[SETTINGS] = {"BiosVersion": "1"}
        self.run_operation("boot.setOverride", PXE)
        self.assertEqual([path for path, _ in self.bmc.sent("PATCH")], [SYSTEM])

    def test_a_pending_job_is_waited_for(self) -> None:
        """Dell's refuse while one is (W224)."""
        busy = [reply(503), reply(409, said("SYS011"))]
        self.bmc.doing[("PATCH", SYSTEM)] = lambda ask: (
            busy.pop() if busy else self.bmc.change_boot(ask)
        )
        self.assertEqual(self.run_operation("boot.setOverride", PXE)["target"], "pxe")
        self.assertEqual(self.bmc.paused, [5, 10])


class ChangingTests(RedfishCase):
    """What BMCs make of ETags (R50)."""

    header: str | None = '"1"'
    inside: str | None = None

    def setUp(self) -> None:
        super().setUp()
        self.tags: list[str | None] = []
        self.bmc.doing[("GET", SYSTEM)] = self.shown

    def shown(self, _: Ask) -> Reply:
        document = dict(self.bmc.system)
        if self.inside is not None:
            document["@odata.etag"] = self.inside
        more = {} if self.header is None else {"etag": self.header}
        return reply(200, document, **more)

    def wants(self, *wanted: str | None, status: int = 412) -> None:
        def change(ask: Ask) -> Reply:
            tag = dict(ask.headers).get("If-Match")
            self.tags.append(tag)
            if tag in wanted:
                return self.bmc.change_boot(ask)
            return reply(428 if tag is None else status, said("PreconditionFailed"))

        self.bmc.doing[("PATCH", SYSTEM)] = change

    def test_the_header_as_it_is(self) -> None:
        """Asked for right before (W214)."""
        self.wants('"1"')
        self.run_operation("boot.setOverride", PXE)
        self.assertEqual(self.tags, ['"1"'])
        at = [each.method for each in self.bmc.asked].index("PATCH")
        self.assertEqual(
            (self.bmc.asked[at - 1].method, self.bmc.asked[at - 1].path), ("GET", SYSTEM)
        )

    def test_each_spelling(self) -> None:
        """Weak ones that match as strong ones, quotes twice, only in the body, another there."""
        for header, inside, wanted, tries in (
            ('W/"1"', None, '"1"', 2),
            ('""1""', None, '"1"', 2),
            ("1", None, '"1"', 2),
            (None, 'W/"2"', 'W/"2"', 1),
            ("", '"2"', '"2"', 1),
            ('"1"', '"2"', '"2"', 2),
            ('W/"1"', 'W/"2"', 'W/"2"', 3),
            ('"1"', None, "*", 3),
            ('"1"', None, None, 2),
            ("", "", None, 1),
            (None, None, "*", 2),
        ):
            self.header, self.inside = header, inside
            self.tags, self.profile = [], type(self.profile)()
            self.wants(wanted)
            self.run_operation("boot.setOverride", PXE)
            self.assertEqual((self.tags[-1], len(self.tags)), (wanted, tries), (header, inside))

    def test_what_held_is_tried_first_the_next_time(self) -> None:
        self.header = 'W/"1"'
        self.wants('"1"')
        self.run_operation("boot.setOverride", PXE)
        self.header, self.tags = 'W/"7"', []
        self.wants('"7"')
        self.run_operation("boot.setOverride", PXE)
        self.assertEqual(self.tags, ['"7"'])

    def test_one_that_changes_each_second(self) -> None:
        """Each try has the ETag of its moment (W217)."""
        count = 0

        def shown(_: Ask) -> Reply:
            nonlocal count
            count += 1
            self.header = f'W/"{count}"'
            return self.shown(_)

        self.bmc.doing[("GET", SYSTEM)] = shown

        def change(ask: Ask) -> Reply:
            tag = dict(ask.headers).get("If-Match")
            self.tags.append(tag)
            return self.bmc.change_boot(ask) if tag == f'"{count}"' else reply(412)

        self.bmc.doing[("PATCH", SYSTEM)] = change
        self.run_operation("boot.setOverride", PXE)
        self.assertEqual(len(self.tags), 2)

    def test_one_that_nothing_pleases(self) -> None:
        """Four changes, and its own code."""
        self.header, self.inside = 'W/"1"', '"2"'
        for status in (412, 428):
            self.tags, self.profile = [], type(self.profile)()
            self.wants(status=status)
            self.assertEqual(self.refused("boot.setOverride", PXE).code, "conflict")
            self.assertLessEqual(len(self.tags), 4)
            self.assertEqual(len(set(self.tags)), len(self.tags))

    def test_an_etag_that_no_header_can_carry(self) -> None:
        for header in ("\r\nX: y", "ä", "x" * 600):
            self.header, self.tags = header, []
            self.wants(None)
            self.run_operation("boot.setOverride", PXE)
            self.assertEqual(self.tags, [None])
