"""Tests for ``rescriptum.cli.validators``: real processes, whose programs are small scripts."""

import os
import tempfile
import time
from pathlib import Path
from threading import Timer

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.finding import Severity
from rescriptum.answers.checks.result import Rendered, Result
from rescriptum.cli.tools import TOOLS, Tool
from rescriptum.cli.validators import EACH, MAX_OUTPUT, PATIENCE, Validators

PAGE = Path(__file__).parent.parent / "docs" / "check.md"
#: What each real tool is called with, and a document that it is for.
CALLS = {
    "proxmox-auto-install-assistant": ("validate-answer", "toml", "Proxmox answer file"),
    "cloud-init": ("schema --config-file", "yaml", "Ubuntu autoinstall"),
    "ignition-validate": ("", "ign", "Ignition 3.4.0"),
    "xmllint": ("--noout --nonet", "autoyast", "AutoYaST profile"),
    "ksvalidator": ("", "ks", "kickstart"),
    "debconf-set-selections": ("--checkonly", "preseed", "preseed"),
}


def document(
    body: bytes = b"x\n", extension: str = "ks", kind: str = "kickstart", **more: str
) -> Rendered:
    return Rendered(body, extension, "m/a." + extension, "m", more.get("group", ""), kind)


class ValidatorsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.directory = Path(self.mktemp()).absolute()
        self.directory.mkdir()
        self.temporary = Path(self.mktemp()).absolute()
        self.temporary.mkdir()
        self.patch(tempfile, "tempdir", str(self.temporary))
        self.advanced: list[tuple[int, int]] = []
        self.timer: type[Timer] = Timer

    def tool(self, script: str, name: str = "tool") -> Tool:
        """:returns: a tool that is there, for kickstarts."""
        path = self.directory / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return Tool(name, ("--check",), ("ks",))

    def run_tool(self, tool: Tool, *documents: Rendered) -> list[Result]:
        validators = self.validators(tool)
        for each in documents or (document(),):
            validators.offer(each)
        results = list(validators.results(lambda *counts: self.advanced.append(counts)))
        self.assertEqual(list(self.temporary.iterdir()), [], "nothing is left behind")
        return results

    def validators(self, *tools: Tool, each: int | None = EACH) -> Validators:
        path = f"{self.directory}:{os.environ['PATH']}"
        return Validators(path, each, tools=tools, timer=self.timer)

    def wait_until_gone(self, pid: str) -> None:
        """A process that was killed is, or will be; one that was not never."""
        status = Path("/proc", pid, "status")
        for _ in range(2000):
            if not status.exists() or "State:\tZ" in status.read_text():
                return
            time.sleep(0.01)
        self.fail(f"{pid} is still there")

    def test_a_tool_that_is_content(self) -> None:
        """It is handed a file of its own, which nobody else reads, with the document in it."""
        seen = self.directory / "seen"
        tool = self.tool(
            f'stat -c "%a" "$2" > {seen}; cat "$2" >> {seen}; echo "$1 $0 $#" >> {seen}'
        )
        self.assertEqual(self.run_tool(tool, document(b"lang x\n")), [])
        self.assertEqual(seen.read_text(), f"600\nlang x\n--check {self.directory}/tool 2\n")
        self.assertEqual(self.advanced, [(1, 1)])

    def test_a_tool_keeps_to_its_own_directory(self) -> None:
        """What it writes goes away with it; debconf would wait for whoever else is using it."""
        seen = self.directory / "seen"
        tool = self.tool(f'echo "$HOME $TMPDIR $PWD $DEBCONF_DB_REPLACE" > {seen}; touch ~/x ./y')
        self.assertEqual(self.run_tool(tool), [])
        home, temporary, here, database = seen.read_text().split()
        self.assertEqual({home, temporary, here}, {home})
        self.assertTrue(home.startswith(f"{self.temporary}/"))
        self.assertEqual(database, f"File{{{home}/debconf.dat}}")

    def test_a_tool_that_is_not(self) -> None:
        """The first lines of what it says, without the name of a file that nobody knows."""
        tool = self.tool(
            'echo "bad: $2:"; echo; printf "a\\033[1mb\\n" >&2; echo 3; echo 4; exit 3'
        )
        [result] = self.run_tool(tool, document(group="g"))
        self.assertEqual(
            result,
            Result(
                Severity.PROBLEM,
                "m/a.ks",
                "bad: answer.ks: a?[1mb; 3",
                format="ks",
                machine="m",
                group="g",
                by="tool",
            ),
        )
        [result] = self.run_tool(self.tool("exit 1"))
        self.assertEqual(result.text, "refuses it, and does not say why")

    def test_a_tool_that_does_not_end(self) -> None:
        """It and what it has started are killed; that says nothing of the document."""
        started = self.directory / "started"

        class Impatient(Timer):
            """Its time is up as soon as the tool has started something."""

            def run(self) -> None:
                while not (started.exists() and started.read_text().endswith("\n")):
                    time.sleep(0.01)
                self.function()

        self.timer = Impatient
        [result] = self.run_tool(self.tool(f"sleep 600 & echo $! > {started}; wait"))
        self.assertEqual(
            (result.severity, result.text), (Severity.WARNING, "took longer than 30 seconds")
        )
        self.wait_until_gone(started.read_text().strip())

    def test_a_tool_that_says_too_much(self) -> None:
        """No more is read than is shown; it is killed, which is no approval."""
        tool = self.tool("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")
        [result] = self.run_tool(tool)
        self.assertEqual(result.severity, Severity.PROBLEM)
        self.assertLess(len(result.text), 1000)
        exactly = self.tool(f"head -c {MAX_OUTPUT} /dev/zero")
        self.assertEqual(self.run_tool(exactly), [])

    def test_a_tool_that_cannot_run(self) -> None:
        (self.directory / "tool").write_bytes(b"\x7fELF")
        (self.directory / "tool").chmod(0o755)
        [result] = self.run_tool(Tool("tool", (), ("ks",)))
        self.assertEqual(
            (result.severity, result.text), (Severity.WARNING, "cannot be run: Exec format error")
        )

    def test_a_tool_that_is_missing(self) -> None:
        """One note, whatever it would have looked at; none where it is for nothing here."""
        missing = Tool("no-such-tool", (), ("ks",))
        [result] = self.run_tool(missing, document(), document(b"y\n"))
        self.assertEqual(
            (result.severity, result.source, result.text),
            (
                Severity.NOTE,
                "ks",
                "no-such-tool is not on PATH: only the bundled check looked at it",
            ),
        )
        self.assertEqual(self.run_tool(missing, document(extension="toml")), [])

    def test_equal_documents_are_one(self) -> None:
        self.run_tool(self.tool("exit 0"), *(document() for _ in range(5)), document(b"y\n"))
        self.assertEqual(self.advanced, [(1, 2), (2, 2)])

    def test_it_looks_at_so_many(self) -> None:
        """The first of every group among them, and a note says how many there were."""
        seen = self.directory / "seen"
        tool = self.tool(f'cat "$2" >> {seen}')
        for each, wanted, notes in ((3, "a0 b0 x0", 1), (None, "a0 a1 a2 b0 x0 x1", 0)):
            validators = self.validators(tool, each=each)
            for group, name in (
                ("", "x0"),
                ("", "x1"),
                ("a", "a0"),
                ("a", "a1"),
                ("a", "a2"),
                ("b", "b0"),
            ):
                validators.offer(document(f"{name}\n".encode(), group=group))
            results = list(validators.results(lambda *counts: None))
            self.assertEqual(" ".join(sorted(seen.read_text().split())), wanted)
            said = ["tool looked at 3 of 6: --every for all"] * notes
            self.assertEqual([result.text for result in results], said)
            seen.unlink()

    def test_leaving_early(self) -> None:
        """Whoever stops asking leaves no process and no file behind."""
        started = self.directory / "started"
        slow = self.tool(f'grep -q slow "$2" || exit 1; echo $$ >> {started}; sleep 600')
        validators = self.validators(slow)
        for name in ("first", "slow one", "slow two", "slow three"):
            validators.offer(document(name.encode()))
        results = validators.results(lambda *counts: None)
        self.assertEqual(next(results).by, "tool")
        results.close()
        self.assertEqual(list(self.temporary.iterdir()), [])
        for pid in started.read_text().split() if started.exists() else []:
            self.wait_until_gone(pid)

    def test_every_tool_of_the_table(self) -> None:
        """Each is called as its manual says, for the documents that it is for."""
        self.assertEqual({each.program for each in TOOLS}, set(CALLS))
        for tool in TOOLS:
            arguments, extension, kind = CALLS[tool.program]
            self.assertEqual(" ".join(tool.arguments), arguments)
            for program, (_, other, other_kind) in CALLS.items():
                suits = tool.suits(document(extension=other, kind=other_kind))
                self.assertEqual(suits, program == tool.program, (tool.program, other))
            self.tool('[ -f "$2$1" ] || [ -s "${3:-$2}" ] || [ -s "$1" ]', tool.program)
            validators = self.validators(tool)
            validators.offer(document(extension=extension, kind=kind))
            self.assertEqual(list(validators.results(lambda *counts: None)), [])

    def test_the_page_says_the_same(self) -> None:
        """Which tools there are, how they are called, and what their bounds are."""
        page = PAGE.read_text()
        for tool in TOOLS:
            arguments = " ".join(each for each in tool.arguments if each != "--nonet")
            self.assertIn(f"| `{f'{tool.program} {arguments}'.strip()}` |", page)
        self.assertEqual(page.count("\n| `"), len(TOOLS) + 6, "tools, and the keys of the JSON")
        self.assertIn(f"each looks at {EACH} documents", page)
        self.assertIn(f"longer than {PATIENCE:g} seconds", page)

    def test_documents_of_nobody(self) -> None:
        """Proxmox' tool is not asked about just any TOML, nor one that would fetch a file."""
        by_name = {each.program: each for each in TOOLS}
        proxmox, kickstart = by_name["proxmox-auto-install-assistant"], by_name["ksvalidator"]
        self.assertFalse(proxmox.suits(document(extension="toml", kind="")))
        self.assertFalse(kickstart.suits(document(b"%ksappend http://192.0.2.1/x\n")))
        self.assertTrue(by_name["xmllint"].suits(document(extension="xml", kind="")))
