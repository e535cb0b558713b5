"""A ramdisk's agent, from the kernel's command line that a site agent wrote: real processes."""

from attrs import evolve

from rescriptum.boot.bootparams import BootParameters
from tests.agentprocess import TWISTD, AgentProcess
from tests.functional.test_site_boot import MAC, BootCase


class RamdiskCase(BootCase):
    def line(self) -> str:
        """:returns: what a machine's kernel is told, once a workflow has prepared it."""
        agent = self.boots(token=self.gateway.token())
        agent.until(self.active, 90)
        self.workflow = self.deploy()
        agent.until(lambda: "bc.token=" in self.script())
        return next(each for each in self.script().splitlines() if each.startswith("kernel"))

    def ramdisk(self, line: str, *argv: str) -> AgentProcess:
        here = self.here / "ram"
        here.mkdir(exist_ok=True)
        (here / "cmdline").write_text(f"{line}\n")
        nic = here / "root/sys/class/net/eth0"
        (nic / "device").mkdir(parents=True, exist_ok=True)
        (nic / "address").write_text(f"{MAC}\n")
        given = {"cmdline": "cmdline", "data-dir": "d", "root": "root"}
        files = [f"--{option}={here / name}" for option, name in given.items()]
        made = AgentProcess(here, *files, *argv, entry=TWISTD, role="ramdisk")
        self.agents.append(made)
        return made

    def live(self) -> bool:
        session = self.status("ram")["session"]
        assert isinstance(session, dict)
        return bool(session["state"] == "live")


class JoinTests(RamdiskCase):
    def test_from_a_script_to_a_session(self) -> None:
        """
        It joins as the machine that was seen to boot; killed in the same boot, it is the same one.
        """
        line = self.line()
        agent = self.ramdisk(line)
        agent.until(self.live)
        node = self.gateway.operate("GET", f"nodes/{self.node('ram')}")
        self.assertEqual((node["role"], node["site"]), ("ramdisk", "lab"))
        agent.kill()
        again = self.ramdisk(line)
        again.until(self.live)
        self.assertEqual(self.node("ram"), node["id"])
        self.assertEqual(again.stop(), 0)
        self.assertNotIn("Traceback", again.log)
        given = BootParameters.parse(line)
        for secret in (given.token, given.assertion):
            self.assertNotIn(secret, again.log)

    def test_what_is_missing(self) -> None:
        """Exit code 2, and the names of all of it."""
        agent = self.ramdisk(f"quiet bc.site=lab bc.mac={MAC}")
        self.assertEqual(agent.exited(), 2)
        for each in ("bc.gateway", "bc.jwk", "bc.token", "bc.assertion"):
            self.assertIn(f"{each} is missing", agent.log)
        self.assertNotIn("Traceback", agent.log)

    def test_another_key_than_the_pinned_one(self) -> None:
        """Exit code 1: nobody has been told the token."""
        given = BootParameters.parse(self.line())
        line = " ".join(evolve(given, join_encryption_pin=given.join_signing_pin).words())
        agent = self.ramdisk(line)
        self.assertEqual(agent.exited(), 1)
        self.assertIn("bc.jwk: pin-mismatch", agent.log)
        self.assertNotIn("Traceback", agent.log)
