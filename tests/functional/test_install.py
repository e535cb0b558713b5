"""``rescriptum install``: from the answers to the power of a machine, and back where it fails."""

import json
from collections.abc import Mapping
from typing import Final

from rescriptum.cli.install import InstallOptions
from rescriptum.contract.bmc import PowerAction, SetPower
from rescriptum.errors import NotFound
from rescriptum.testing import Switch

from ..bmccases import Asking
from ..powercases import ID, MAC, PowerCase, Said, script
from ..test_answers_stores_copying import tree
from .test_power import redfish

IPXE: Final = b"#!ipxe\nkernel http://192.0.2.1/k\nboot\n"
PUT_AWAY: Final = {
    f"installed-{ID}/boot.ipxe": IPXE,
    f"{ID}/debian.preseed": b"d-i passwd/root-login boolean false\n",
}
ARMED: Final = {f"{ID}/boot.ipxe": IPXE, f"{ID}/debian.preseed": PUT_AWAY[f"{ID}/debian.preseed"]}


class BmcTests(PowerCase):
    """With a BMC that is asked for real."""

    def asking(self, *switches: Switch) -> Asking:
        self.bmc = Asking.of(*switches)
        self.addCleanup(self.closed, self.bmc)
        self.control(redfish(self.bmc))
        return self.bmc

    async def closed(self, asking: Asking) -> None:
        await asking.close()
        for each in self.said:
            self.assertNotIn(asking.bmc.password, each.out + each.err)

    async def install(self, *argv: str) -> Said:
        reactor = self.bmc.hurried
        return await self.run_command(InstallOptions(), MAC, *argv, reactor=reactor)

    def writes(self) -> list[str]:
        """:returns: what the BMC was told that changes something, but for logins."""
        return [
            f"{each.method} {each.path}"
            for each in self.bmc.bmc.heard
            if each.method != "GET" and "Session" not in each.path
        ]

    async def test_by_one_command(self) -> None:
        """Armed, from the network once, powered on, in this order, each step told."""
        asking = self.asking()
        self.plant(PUT_AWAY)
        said = await self.install()
        self.assertEqual((said.code, said.err), (0, ""))
        self.assertEqual(
            said.out.splitlines(),
            [
                "render  preseed, ipxe",
                f"check   its own ipxe document arms it: {ID}",
                f"arm     installed-{ID} -> {ID}",
                "pxe     boots from the network once in UEFI mode",
                "start   it is off: power on; it is on",
            ],
        )
        self.assertEqual(tree(self.answers), ARMED)
        self.assertEqual(
            self.writes(),
            [
                "PATCH /redfish/v1/Systems/1",
                "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
            ],
        )
        self.assertTrue(asking.bmc.state.power.goal)

    async def test_one_that_is_on(self) -> None:
        """Is restarted; one that is armed already stays so."""
        asking = self.asking()
        self.plant(ARMED)
        await self.install()
        said = await self.install("--json")
        self.assertEqual(said.code, 0)
        self.assertEqual(
            said.told["steps"][2:],
            [
                {"name": "arm", "text": f"armed already: {ID}"},
                {"name": "pxe", "text": "boots from the network once in UEFI mode"},
                {"name": "start", "text": "it is on: restart; it is on"},
            ],
        )
        self.assertEqual(
            {each: said.told[each] for each in ("machine", "dry_run", "ok", "error", "next")},
            {"machine": MAC, "dry_run": False, "ok": True, "error": "", "next": ""},
        )
        self.assertTrue(asking.bmc.state.power.goal)

    async def test_a_dry_run_changes_nothing(self) -> None:
        asking = self.asking()
        self.plant(PUT_AWAY)
        said = await self.install("--dry-run")
        self.assertEqual((said.code, said.err), (0, ""))
        self.assertEqual(
            said.out.splitlines()[2:],
            [
                f"arm     would move installed-{ID} -> {ID}",
                "pxe     would boot from the network once",
                "start   it is off: power on",
            ],
        )
        self.assertEqual((tree(self.answers), self.writes()), (PUT_AWAY, []))
        self.assertFalse(asking.bmc.state.power.goal)

    async def test_refused_before_anything_was_changed(self) -> None:
        """What does not render, is armed by nothing or for ever: the BMC hears of none of it."""
        self.asking()
        group = b"# answer: member 52:54:00:12:34:56\n"
        by_facts = b"# answer: match mac=52:54:00:12:34:56\n"
        preseed = {f"{ID}/debian.preseed": PUT_AWAY[f"{ID}/debian.preseed"]}
        cases: tuple[tuple[Mapping[str, bytes], str, str], ...] = (
            (preseed, "menu", "no ipxe document arms it: it would wait at the menu"),
            (preseed, "local", "would boot its own disk, and look as if it had been installed"),
            ({}, "menu", "no ipxe document arms it"),
            (
                {"groups/rack-a/boot.ipxe": IPXE.replace(b"#!ipxe\n", b"#!ipxe\n" + group)},
                "menu",
                "the ipxe document of group rack-a alone arms it: nothing ever disarms that",
            ),
            ({"default/boot.ipxe": IPXE}, "menu", "the default ipxe document alone arms it"),
            (
                {"some-box/boot.ipxe": IPXE.replace(b"#!ipxe\n", b"#!ipxe\n" + by_facts)},
                "menu",
                "the ipxe document of some-box arms it, by what it matches",
            ),
            (
                {**PUT_AWAY, f"{ID}/proxmox.toml": b"a ="},
                "menu",
                f"{ID}/proxmox.toml: ",
            ),
            (
                {**PUT_AWAY, f"{ID}/debian.preseed": b"d-i x string {{ group }}\n"},
                "menu",
                "needs {{ group }}: no group applies here",
            ),
            (
                {f"installed-{ID}/boot.ipxe": b"#!ipxe\necho {{ x }\n"},
                "menu",
                "boot.ipxe: ",
            ),
        )
        for files, unclaimed, text in cases:
            for each in sorted(self.answers.rglob("*"), reverse=True):
                each.rmdir() if each.is_dir() else each.unlink()
            self.plant(files)
            self.settings["RESCRIPTUM_BOOT_UNCLAIMED"] = unclaimed
            for argv in ((), ("--dry-run",)):
                said = await self.install(*argv)
                self.assertEqual(said.code, 1, (text, said))
                self.assertIn(text, said.err)
                self.assertIn("nothing was changed\n", said.err)
                self.assertEqual(tree(self.answers), files)
        self.assertEqual(len(self.bmc.bmc.heard), 0)

    async def test_what_a_group_has_is_rendered_too(self) -> None:
        """What an id alone does not carry is no problem; what is wrong is one."""
        self.asking()
        head = b"# answer: member 52:54:00:12:34:56\n"
        self.plant({**PUT_AWAY, "groups/a/rocky.ks": head + b"{{ serial }}\ntext\n"})
        said = await self.install("--dry-run")
        self.assertEqual((said.code, said.out.splitlines()[0]), (0, "render  ks, preseed, ipxe"))
        self.plant({"groups/a/rocky.ks": head + b"{{ serial }\ntext\n"})
        said = await self.install("--dry-run")
        self.assertEqual(said.code, 1)
        self.assertIn("groups/a/rocky.ks: ", said.err)

    async def test_a_bmc_that_is_away(self) -> None:
        """Is noticed before anything is armed."""
        self.asking()
        self.plant(PUT_AWAY)
        self.control(
            f'["{MAC}"]\nkind="redfish"\nurl="https://127.0.0.1:1"\nuser="u"\npass="p"\n'
            "verify=false\n"
        )
        said = await self.install()
        self.assertEqual((said.code, tree(self.answers)), (1, PUT_AWAY))
        self.assertIn("unreachable: Connection refused", said.err)
        self.assertIn("next: nothing was changed\n", said.err)

    async def test_an_override_that_is_refused(self) -> None:
        """Then it is not armed any more; one that was armed before stays so, and it is told."""
        self.asking(Switch.ETAG_NEVER)
        self.plant(PUT_AWAY)
        said = await self.install()
        self.assertEqual(said.code, 1)
        self.assertIn(f"error: {MAC}: pxe: ", said.err)
        self.assertIn("next: it is disarmed again\n", said.err)
        self.assertEqual(tree(self.answers), PUT_AWAY)
        self.assertNotIn("start", said.out)
        self.plant({f"{ID}/boot.ipxe": IPXE})
        before = tree(self.answers)
        said = await self.install()
        self.assertIn("next: it stays armed, as it was: 'rescriptum disarm", said.err)
        self.assertEqual(tree(self.answers), before)

    async def test_nothing_that_disarms_it(self) -> None:
        """Is warned of; a power that lags is waited for."""
        asking = self.asking(Switch.POWER_LAGS)
        self.plant(PUT_AWAY)
        del self.settings["RESCRIPTUM_INSTALLED_TOKEN"]
        said = await self.install()
        self.assertEqual(said.code, 0)
        self.assertIn("warning: without RESCRIPTUM_INSTALLED_TOKEN", said.err)
        self.assertTrue(asking.bmc.state.power.goal)

    async def test_a_power_that_nobody_knows(self) -> None:
        """It is not guessed."""
        asking = self.asking(Switch.POWER_NULL)
        self.plant(PUT_AWAY)
        code = await asking.ask("power.setPower", SetPower(PowerAction.ON), seconds=5)
        self.assertEqual(code, "timeout")
        said = await self.install()
        self.assertEqual((said.code, tree(self.answers)), (1, PUT_AWAY))
        self.assertIn("its controller does not say whether it is on", said.err)


class ProgramTests(PowerCase):
    """With programs, which can fail as one likes."""

    def controls(self, **scripts: str) -> None:
        lines = []
        for name, text in scripts.items():
            path = script(self.here / name, f"echo $POWER_OPERATION >>{self.here}/runs\n{text}")
            lines.append(f"{name} = {json.dumps([str(path)])}")
        self.control("\n".join([f'["{MAC}"]', 'kind = "command"', "timeout = 5", *lines]))

    def runs(self) -> list[str]:
        path = self.here / "runs"
        return path.read_text().split() if path.exists() else []

    async def install(self, *argv: str) -> Said:
        return await self.run_command(InstallOptions(), *argv)

    async def test_a_restart_is_off_and_on(self) -> None:
        self.controls(status="echo on", on="", off="", pxe="")
        self.plant(PUT_AWAY)
        said = await self.install(MAC)
        self.assertEqual((said.code, said.err), (0, ""))
        self.assertEqual(self.runs(), ["status", "pxe", "hard-off", "on"])
        self.assertEqual(tree(self.answers), ARMED)

    async def test_nothing_but_on(self) -> None:
        """What nobody can know or do is said."""
        self.controls(on="")
        self.plant(PUT_AWAY)
        said = await self.install(MAC)
        self.assertEqual((said.code, self.runs()), (0, ["on"]))
        self.assertIn("pxe     its controller cannot make it boot from the network once", said.out)
        self.assertIn("start   its controller cannot tell whether it is on", said.out)

    async def test_a_start_that_fails_is_undone(self) -> None:
        """As far as its controller can."""
        self.controls(status="echo off", on="exit 4", pxe="")
        self.plant(PUT_AWAY)
        said = await self.install(MAC)
        self.assertEqual((said.code, tree(self.answers)), (1, PUT_AWAY))
        self.assertIn("start: failed: on: its program ended with 4", said.err)
        self.assertIn(
            "next: it is disarmed again; its next boot still is one from the net", said.err
        )
        self.assertEqual(self.runs(), ["status", "pxe", "on"])

    async def test_a_start_of_which_nobody_knows(self) -> None:
        """It may be installing itself: nothing is taken away from it, nothing is tried again."""
        self.controls(status="echo off", on="exec sleep 600", pxe="")
        self.plant(PUT_AWAY)
        text = self.file.read_text().replace("timeout = 5", "timeout = 1")
        self.control(text)
        said = await self.install(MAC)
        self.assertEqual((said.code, tree(self.answers)), (1, ARMED))
        self.assertIn("next: nobody knows whether it was done, so that everything stays", said.err)
        self.assertEqual(self.runs(), ["status", "pxe", "on"])

    async def test_nothing_controls_it(self) -> None:
        self.control("")
        with self.assertRaisesRegex(NotFound, "nothing controls the power of"):
            await self.install(MAC)
