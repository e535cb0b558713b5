"""Ctrl-C while the power of a machine is asked for: nothing is left behind, and it is told."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from twisted.internet import reactor as global_reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTCP, IReactorTime
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from rescriptum.testing import FakeBMC, Switch

from ..powercases import ID, MAC, PowerCase, script
from ..processes import ROOT


async def _turn() -> None:
    await deferLater(IReactorTime(global_reactor), 0.01)


def _there(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


class InterruptedTests(PowerCase):
    def start(self, *argv: str) -> "subprocess.Popen[str]":
        self.answers.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", "from rescriptum.cli.main import run; run()", *argv],
            env={
                "PYTHONPATH": str(ROOT),
                "PATH": os.environ.get("PATH", os.defpath),
                "RESCRIPTUM_CONTROLLERS_FILE": str(self.file),
                "RESCRIPTUM_ANSWERS_DIR": str(self.answers),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        return process

    async def interrupt(self, process: "subprocess.Popen[str]") -> tuple[str, str]:
        process.send_signal(signal.SIGINT)
        out, err = await deferToThread(process.communicate, timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertNotIn("Traceback", err)
        self.assertTrue(err.endswith("error: interrupted before it was done\n"), err)
        return out, err

    def bmc(self) -> FakeBMC:
        """:returns: one whose machine takes its time."""
        made = FakeBMC(IReactorTCP(global_reactor), Switch.POWER_LAGS)
        made.startService()
        self.addCleanup(made.stopService)
        pin = made.pin.replace("sha256/", "sha256//")
        self.control(
            f'["{MAC}"]\nkind = "redfish"\nurl = "{made.url}"\nuser = "{made.username}"\n'
            f'pass = "{made.password}"\npinnedpubkey = "{pin}"\n'
        )
        return made

    async def reset(self, bmc: FakeBMC) -> None:
        """Wait until it was told to."""
        while not any("Reset" in each.path for each in bmc.heard):
            await _turn()

    async def test_a_bmc_is_logged_out_of(self) -> None:
        """Its slots for sessions are few (W204); whether it was done, nobody knows."""
        bmc = self.bmc()
        process = self.start("power", "on", MAC)
        await self.reset(bmc)
        out, err = await self.interrupt(process)
        self.assertEqual((out, bmc.state.sessions), ("", ()))
        self.assertIn("Nobody knows whether it was done", err)

    async def test_a_program_ends(self) -> None:
        """And all of its group."""
        pid = self.here / "pid"
        program = script(
            self.here / "machine", f"echo $$ >{pid}.new; mv {pid}.new {pid}; sleep 600"
        )
        self.control(f'[m]\nkind = "command"\nstatus = ["{program}"]\n')
        process = self.start("power", "status", "m")
        while not pid.exists():
            await _turn()
        _, err = await self.interrupt(process)
        self.assertFalse(_there(int(pid.read_text())))
        self.assertNotIn("Nobody knows", err)

    async def test_an_installation(self) -> None:
        """Says how far it has come, to programs too, and undoes nothing."""
        self.plant({f"installed-{ID}/boot.ipxe": b"#!ipxe\nboot\n"})
        bmc = self.bmc()
        process = self.start("install", MAC, "--json")
        await self.reset(bmc)
        out, _ = await self.interrupt(process)
        told = json.loads(out)
        self.assertEqual((told["ok"], told["error"]), (False, "interrupted"))
        self.assertEqual(
            [each["name"] for each in told["steps"]], ["render", "check", "arm", "pxe"]
        )
        self.assertIn(f"'rescriptum disarm {MAC}'", told["next"])
        self.assertEqual(bmc.state.sessions, ())
        self.assertTrue((self.answers / ID / "boot.ipxe").exists())

    async def test_twice(self) -> None:
        """A second one waits for nothing."""
        pid = self.here / "pid"
        asked = self.here / "asked"
        told = f"echo $$ >{pid}.new; mv {pid}.new {pid}"
        text = f"trap 'touch {asked}' TERM; {told}; while :; do sleep 1; done"
        program = script(self.here / "machine", text)
        self.control(f'[m]\nkind = "command"\nstatus = ["{program}"]\n')
        process = self.start("power", "status", "m")
        while not pid.exists():
            await _turn()
        self.addCleanup(os.killpg, int(pid.read_text()), signal.SIGKILL)
        process.send_signal(signal.SIGINT)
        while not asked.exists():
            await _turn()
        process.send_signal(signal.SIGINT)
        waiting: Deferred[int] = deferToThread(process.wait, timeout=60)
        self.assertEqual(await waiting, -signal.SIGINT)
        for each in (process.stdout, process.stderr):
            assert each is not None
            each.close()
