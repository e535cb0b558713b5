"""A fake BMC as a process of its own, and programs that play its machine."""

import os
import subprocess
import sys
from pathlib import Path

from attrs import evolve
from hyperlink import DecodedURL
from twisted.internet import reactor as global_reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorProcess, IReactorTime
from twisted.internet.protocol import Factory
from twisted.internet.tcp import Port
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from rescriptum.bmc.driver import Asked, Credential
from rescriptum.bmc.redfish.driver import RedfishDriver
from rescriptum.bmc.trust import Trust
from rescriptum.contract.bmc import OPERATIONS, BootTarget, PowerAction, SetOverride, SetPower
from rescriptum.fakebmc.runner import Hook
from rescriptum.fakebmc.state import KEPT, Changed, Override
from rescriptum.values import Secret

from ..processes import ROOT

ON = Changed("on", True, Override("Pxe", "Once", "UEFI"), "", 0)
#: Writes down what it is told, and in which order its runs begin and end.
PROGRAM = """
import os, sys, time
told = " ".join(os.environ[each] or "-" for each in ("BMC_EVENT", "BMC_POWER", "BMC_BOOT"))
with open(sys.argv[1], "a") as file:
    file.write(told + "\\n")
    file.flush()
    if sys.argv[2:] == ["stay"]:
        import signal
        signal.signal(signal.SIGTERM, lambda *_: (file.write("asked to end\\n"), sys.exit(0)))
        file.write("ready\\n")
        file.flush()
        time.sleep(600)
    file.write("over\\n")
sys.exit(os.environ["BMC_EVENT"] == "nmi")
"""


class HookTests(TestCase):
    def setUp(self) -> None:
        self.file = Path(self.mktemp()).absolute()
        self.file.write_text("")
        self.failures: list[str] = []

    def hook(self, *argv: str) -> Hook:
        whole = argv or (sys.executable, "-c", PROGRAM, str(self.file))
        environ = {"PATH": os.environ.get("PATH", os.defpath)}
        made = Hook(IReactorProcess(global_reactor), whole, environ, self.failures.append)
        self.addCleanup(made.stop)
        return made

    async def until(self, text: str) -> None:
        while self.file.read_text() != text:
            await _turn()

    async def test_one_run_after_the_other(self) -> None:
        """In the order of what happened; one that fails is told of, and the next goes on."""
        hook = self.hook()
        for what, on in (("on", True), ("nmi", True), ("off", False)):
            hook.changed(evolve(ON, what=what, on=on))
        await self.until("on on pxe\nover\nnmi on pxe\nover\noff off pxe\nover\n")
        self.assertEqual(len(self.failures), 1)
        self.assertIn("exit code 1", self.failures[0])

    async def test_what_cannot_be_run_is_told(self) -> None:
        """By name, and nothing waits for it."""
        hook = self.hook(str(self.file))
        hook.changed(ON)
        while not self.failures:
            await _turn()
        self.assertIn(str(self.file), self.failures[0])

    async def test_a_run_is_asked_to_end(self) -> None:
        """And what waited is not run any more."""
        hook = self.hook(sys.executable, "-c", PROGRAM, str(self.file), "stay")
        hook.changed(ON)
        hook.changed(ON)
        await self.until("on on pxe\nready\n")
        await hook.stop()
        self.assertEqual(self.file.read_text(), "on on pxe\nready\nasked to end\n")

    async def test_what_waits_is_bounded(self) -> None:
        """The oldest are left out."""
        hook = self.hook(sys.executable, "-c", PROGRAM, str(self.file), "stay")
        hook.changed(ON)
        await self.until("on on pxe\nready\n")
        for number in range(KEPT + 1):
            hook.changed(evolve(ON, media=str(number)))
        self.assertEqual(len(hook.waiting), KEPT)
        self.assertEqual(hook.waiting[0].media, "1")


class CommandTests(TestCase):
    """``rescriptum power fake-bmc``."""

    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir(parents=True)
        (self.here / "password").write_text("Peer1Secret\n")

    def start(self, *argv: str) -> "subprocess.Popen[str]":
        program = "from rescriptum.cli.main import run; run()"
        process = subprocess.Popen(
            [sys.executable, "-c", program, "power", "fake-bmc", *argv],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "RESCRIPTUM_ADMIN_TOKEN": "not-for-programs",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(lambda: process.communicate(timeout=30))
        self.addCleanup(process.kill)
        return process

    def shown(self, process: "subprocess.Popen[str]") -> dict[str, str]:
        """:returns: its first four lines."""
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        return {name: value.strip() for name, _, value in (each.partition(" ") for each in lines)}

    async def test_a_machine_hangs_on_it(self) -> None:
        """What is printed is enough to ask it; its command hears of it; SIGTERM ends it well."""
        file = self.here / "told"
        command = f"sh -c 'echo $BMC_EVENT $BMC_POWER $BMC_BOOT $RESCRIPTUM_ADMIN_TOKEN >>{file}'"
        password = str(self.here / "password")
        options = "--listen", "127.0.0.1:0", "--password-file", password, "--user", "root"
        process = self.start(*options, "-s", "needs-if-match", "--on-power", command)
        shown = await deferToThread(self.shown, process)
        self.assertEqual((shown["user"], shown["password"]), ("root", f"as in {password}"))
        url, trust = DecodedURL.from_text(shown["url"]), Trust.by_pin(shown["pin"])
        driver = RedfishDriver(IReactorTime(global_reactor), url, trust)
        credential = Credential("root", Secret("Peer1Secret"))
        for name, args in (
            ("boot.setOverride", SetOverride(BootTarget.PXE)),
            ("power.setPower", SetPower(PowerAction.ON)),
        ):
            await driver.run(Asked(OPERATIONS[name], args, credential))
        while not file.exists() or file.read_text().count("\n") < 2:
            await _turn()
        self.assertEqual(file.read_text(), "boot off pxe\non on pxe\n")
        process.terminate()
        out, err = await deferToThread(process.communicate, timeout=30)
        self.assertEqual((process.returncode, err), (0, ""))
        self.assertEqual(out, "boot: power off\non: power on\n")

    async def test_a_password_of_its_own(self) -> None:
        """Is printed; the next one has another."""
        seen = set()
        for _ in range(2):
            process = self.start("--listen", "127.0.0.1:0")
            shown = await deferToThread(self.shown, process)
            seen.add(shown["password"])
            process.terminate()
            await deferToThread(process.communicate, timeout=30)
        self.assertEqual(len(seen), 2)
        self.assertTrue(all(len(each) >= 12 for each in seen))

    async def test_what_cannot_be(self) -> None:
        """A port that is taken: a line, and no traceback."""
        port = Port(0, Factory(), interface="127.0.0.1", reactor=global_reactor)
        port.startListening()
        self.addCleanup(port.stopListening)
        process = self.start("--listen", f"127.0.0.1:{port.getHost().port}")
        out, err = await deferToThread(process.communicate, timeout=30)
        self.assertEqual((process.returncode, out), (2, ""))
        self.assertRegex(err, r"\Aerror: listen: cannot listen on 127.0.0.1:[0-9]+: .+\n\Z")

    async def test_the_switches_are_listed(self) -> None:
        """And nothing listens."""
        out, _ = await deferToThread(self.start("--switches").communicate, timeout=30)
        self.assertIn("etag-weak", out)


def _turn() -> Deferred[None]:
    done: Deferred[None] = Deferred()
    IReactorTime(global_reactor).callLater(0.01, done.callback, None)
    return done
