"""Hosted drivers as real processes: what they are given, and what is left of them."""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import capturedLogs
from twisted.trial.unittest import TestCase

from rescriptum.bmc.driver import Asked, Credential
from rescriptum.bmc.hosted.driver import HostedDriver
from rescriptum.contract.bmc import OPERATIONS, BmcRefusal, Nothing
from rescriptum.net.processes import Ended, Program, Reactor, ran
from rescriptum.values import Secret

PASSWORD = 'hunter2"3'
ASKED = Asked(
    OPERATIONS["power.getPower"], Nothing(), Credential("root", Secret(PASSWORD)), seconds=20
)
ANSWER = """import json, sys, os, time, signal
told = json.load(sys.stdin)
def say(**more): print(json.dumps({"ok": True, "data": more}))
"""


def alive(pid: int) -> bool:
    """:returns: whether it is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def gone(*pids: int) -> bool:
    """:returns: once none is there; a killed process closes its files before it is none."""
    for _ in range(500):
        if not any(alive(each) for each in pids):
            return True
        await deferLater(cast(Reactor, reactor), 0.01, lambda: None)
    return False


class HostedDriverTests(TestCase):
    def setUp(self) -> None:
        self.here = Path(tempfile.mkdtemp(dir=self.mktemp_root()))

    def mktemp_root(self) -> str:
        root = self.mktemp()
        os.makedirs(root)
        return str(os.path.abspath(root))

    def driver(self, script: str, head: str = f"#!{sys.executable}\n") -> HostedDriver:
        path = self.here / "acme"
        path.write_text(head + script)
        path.chmod(0o755)
        program = Program(path, {"PATH": "/usr/bin:/bin"})

        async def run(
            stdin: bytes, seconds: float, most: int, heard: Callable[[bytes], None]
        ) -> Ended:
            return await ran(cast(Reactor, reactor), program, stdin, seconds, most, heard)

        return HostedDriver("acme", "10.0.0.9", "", {"slot": 3}, run)

    async def refusal(self, driver: HostedDriver, asked: Asked = ASKED) -> BmcRefusal:
        with self.assertRaises(BmcRefusal) as raised:
            await driver.run(asked)
        return cast(BmcRefusal, raised.exception)

    async def test_what_it_is_given(self) -> None:
        """One document on stdin; PATH alone in the environment; no secret in the arguments."""
        driver = self.driver(
            ANSWER + "say(told=told, environ=dict(os.environ), argv=sys.argv,"
            "leader=os.getsid(0) == os.getpid(), pipe=str(signal.getsignal(signal.SIGPIPE)))"
        )
        made = await driver.run(ASKED)
        told = cast("dict[str, object]", made["told"])
        self.assertEqual(told["operation"], "power.getPower")
        self.assertEqual(told["config"], {"address": "10.0.0.9", "pin": "", "options": {"slot": 3}})
        # What it says of its own password is masked: in results as in logs.
        self.assertEqual(told["secrets"], {"username": "root", "password": "***"})
        environ = cast("dict[str, str]", made["environ"])
        self.assertEqual(environ.pop("PATH"), "/usr/bin:/bin")
        self.assertLessEqual(set(environ), {"LC_CTYPE"})  # which its own Python has added
        self.assertEqual(made["argv"], [str(self.here / "acme")])
        self.assertTrue(made["leader"])

    async def test_its_environment_is_empty(self) -> None:
        """A program that adds nothing itself has PATH, and nothing else."""
        script = (
            """printf '{"ok": true, "data": {"n": "%s"}}' "$(tr '\\0' ' ' </proc/$$/environ)"\n"""
        )
        made = await self.driver(script, "#!/bin/sh\n").run(ASKED)
        self.assertEqual(made, {"n": "PATH=/usr/bin:/bin "})

    async def test_its_own_codes(self) -> None:
        """Codes that no table has pass through."""
        driver = self.driver('print(\'{"ok": false, "code": "acme-jammed"}\')')
        self.assertEqual((await self.refusal(driver)).code, "acme-jammed")

    async def test_stderr_is_logged_without_secrets(self) -> None:
        """Each line is one of the log, in pieces as it may come, and the password is not in it."""
        driver = self.driver(
            ANSWER + "p = told['secrets']['password']\n"
            "for part in ('using ', p[:3], p[3:], ' now\\n', json.dumps(p), '\\n'):\n"
            "    sys.stderr.write(part); sys.stderr.flush(); time.sleep(0.02)\n"
            "sys.stderr.write('line\\n' * 80)\nsay()"
        )
        with capturedLogs() as events:
            await driver.run(ASKED)
        lines = [each["line"] for each in events if "line" in each]
        self.assertEqual(lines[:3], ["using *** now", '"***"', "line"])
        self.assertEqual(len(lines), 50)
        self.assertEqual([each["n"] for each in events if "n" in each], [32])
        self.assertNotIn("hunter2", repr(events))

    async def test_more_than_a_mebibyte(self) -> None:
        """It is ended at the bound, and the answer is bad-response."""
        driver = self.driver("while True: print('x' * 65536)")
        self.assertEqual((await self.refusal(driver)).code, "bad-response")

    async def test_no_result(self) -> None:
        """Silence, an exit code, garbage and a program that is none are bad-response."""
        for script, head, said in (
            ("import sys; sys.exit(3)", None, "exited with 3"),
            ("import os; os.kill(os.getpid(), 9)", None, "signal 9"),
            ("print('{]')", None, "not JSON"),
            ("", "#!/nonexistent\n", "exited with 1"),
        ):
            driver = self.driver(script) if head is None else self.driver(script, head)
            error = await self.refusal(driver)
            self.assertEqual(error.code, "bad-response")
            self.assertIn(said, str(error))

    async def test_a_driver_that_hangs(self) -> None:
        """
        The whole group is ended in time, what ignores SIGTERM too, and nobody else waits for it:
        the reactor turns all the while.
        """
        pids = self.here / "pids"
        driver = self.driver(
            "import os, signal, sys, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            f"for each in range(3): os.fork()\n"
            f"os.write(os.open({str(pids)!r}, os.O_APPEND | os.O_CREAT | os.O_WRONLY),"
            " b'%d\\n' % os.getpid())\n"
            "time.sleep(600)"
        )
        turns: list[float] = []
        turning = LoopingCall(lambda: turns.append(time.monotonic()))
        turning.start(0.05)
        running = Deferred.fromCoroutine(
            self.refusal(driver, Asked(ASKED.operation, Nothing(), seconds=1))
        )
        error = await running
        turning.stop()
        self.assertEqual(error.code, "timeout")
        told = [int(each) for each in pids.read_text().split()]
        self.assertEqual(len(told), 8)
        self.assertTrue(await gone(*told))
        self.assertGreater(len(turns), 10)

    async def test_what_it_leaves_behind(self) -> None:
        """A child that outlives the driver is ended with it; its result is the driver's."""
        driver = self.driver(ANSWER + "pid = os.fork()\nif not pid: time.sleep(600)\nsay(pid=pid)")
        made = await driver.run(ASKED)
        self.assertTrue(await gone(cast(int, made["pid"])))

    async def test_a_child_of_another_session(self) -> None:
        """It cannot be ended, and holds the pipes: nobody waits for it."""
        driver = self.driver(
            ANSWER + "pid = os.fork()\nif not pid: os.setsid(); time.sleep(5); os._exit(0)\n"
            "say(pid=pid)"
        )
        made = await driver.run(ASKED)
        os.kill(cast(int, made["pid"]), 9)

    async def test_cancelled(self) -> None:
        """Whoever stops waiting leaves no process behind."""
        pids = self.here / "pids"
        driver = self.driver(
            f"import os, time\nopen({str(pids)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
        )
        running = Deferred.fromCoroutine(driver.run(ASKED))
        while not (pids.exists() and pids.read_text()):
            await deferLater(cast(Reactor, reactor), 0.02, lambda: None)
        running.cancel()
        with self.assertRaises(CancelledError):
            await running
        self.assertTrue(await gone(int(pids.read_text())))
