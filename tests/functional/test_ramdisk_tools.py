"""Tests for tools as real processes."""

from pathlib import Path
from typing import cast

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from rescriptum.net.processes import Reactor
from rescriptum.ramdisk.runner import COMPLAINTS, MOST, ProcessTools
from rescriptum.ramdisk.tools import Ran, ToolTrouble


class ProcessToolsTests(TestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir()
        self.tools = ProcessTools(cast(Reactor, reactor), f"{self.here}:/usr/bin:/bin")

    def tool(self, script: str) -> None:
        path = self.here / "tool"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    async def test_all_of_it(self) -> None:
        """Arguments, stdin, both outputs and the exit code; English whatever is spoken here."""
        self.tool('echo "$1 $LC_ALL"; cat; echo "no such thing" >&2; exit 3')
        ran = await self.tools.run("tool", "a b", stdin=b"given")
        self.assertEqual(ran, Ran(("tool", "a b"), 3, b"a b C.UTF-8\ngiven", "no such thing\n"))
        self.assertFalse(ran.ok)
        self.assertEqual(ran.said, "tool: no such thing")

    async def test_one_that_says_nothing(self) -> None:
        self.tool("exit 4")
        ran = await self.tools.run("tool")
        self.assertEqual(ran.said, "tool: exit code 4")

    async def test_last_words_that_say_nothing(self) -> None:
        """dmsetup closes with them: why it failed comes before."""
        self.tool('echo "device-mapper: it is in use" >&2; echo "Command failed." >&2; exit 1')
        ran = await self.tools.run("tool")
        self.assertEqual(ran.said, "tool: device-mapper: it is in use")

    async def refused(self, *argv: str, seconds: float = 60) -> ToolTrouble:
        with self.assertRaises(ToolTrouble) as caught:
            await self.tools.run(*argv, seconds=seconds)
        error: ToolTrouble = caught.exception
        return error

    async def test_one_that_is_not_there(self) -> None:
        error = await self.refused("no-such-tool")
        self.assertEqual((error.code, str(error)), ("failed", "there is no no-such-tool here"))

    async def test_one_that_does_not_end(self) -> None:
        self.tool("sleep 1000 & wait")
        error = await self.refused("tool", seconds=0.2)
        self.assertEqual(error.code, "timeout")

    async def test_one_that_prints_without_end(self) -> None:
        self.tool("cat /dev/zero")
        self.assertEqual((await self.refused("tool")).code, "failed")
        self.tool(f"head -c {MOST} /dev/zero")
        self.assertEqual(len((await self.tools.run("tool")).stdout), MOST)

    async def test_one_that_complains_without_end(self) -> None:
        self.tool(f"head -c {COMPLAINTS * 2} /dev/zero | tr '\\0' x >&2")
        self.assertEqual(len((await self.tools.run("tool")).stderr), COMPLAINTS)
