"""BMCs asked by a whole system: an operator, a gateway, a site agent and what plays the BMCs."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from rescriptum.contract.structure import JSON
from tests.agentprocess import TWISTD, AgentProcess
from tests.functional.test_agent_gateway import AgentsCase
from tests.processes import ROOT

#: Which nothing but secrets may hold.
PASSWORD, OTHER = "c0rrect-horse-battery", "wr0ng-horse-battery"

DRIVER = """#!%s
import json, sys
told = json.load(sys.stdin)
password = told["secrets"]["password"]
sys.stderr.write("asked with " + password + "\\n")
state = %r
if told["operation"] == "power.setPower":
    open(state, "a").write(told["args"]["action"] + "\\n")
    print(json.dumps({"ok": True, "data": {"said": password}}))
else:
    print(json.dumps({"ok": False, "code": "acme-jammed", "detail": password}))
"""


class BmcCase(AgentsCase):
    def start(self) -> AgentProcess:
        """:returns: a site agent of the product, which is live."""
        here = self.here / "a"
        here.mkdir(exist_ok=True)
        pins = [line for line in self.gateway.text.splitlines() if "_pin = " in line]
        lines = [
            f'gateway_url = "https://127.0.0.1:{self.gateway.port}"',
            'gateway_server_name = "gw.internal"',
            f'data_dir = "{here / "d"}"',
            *(line[line.index(" - ") + 3 :] for line in pins),
            "[site]",
            'name = "lab"',
            *(f'{key} = "{value}"' for key, value in self.settings().items()),
        ]
        config = here / "site.toml"
        config.write_text("\n".join(lines) + "\n")
        config.chmod(0o640)
        given = {"RESCRIPTUM_JOIN_TOKEN": self.gateway.token()}
        made = AgentProcess(here, "--config", str(config), entry=TWISTD, **given)
        self.agents.append(made)
        made.until(lambda: cast(JSON, self.status()["session"])["state"] == "live")
        return made

    def settings(self) -> Mapping[str, str]:
        """:returns: of ``[site]``."""
        return {}

    def machine(self, **bmc: str) -> None:
        self.gateway.operate("POST", "machines", {"name": "m1", "site": "lab", **bmc})

    def secret(self, name: str, value: str) -> None:
        self.gateway.operate("PUT", f"secrets/{name}", {"value": value})

    def workflow(self, agent: AgentProcess, kind: str = "power", **parameters: object) -> JSON:
        """:returns: one of machine ``m1``, when it is over."""
        asked = {"kind": kind, "machine": "m1", "parameters": parameters}
        path = f"workflows/{self.gateway.operate('POST', 'workflows', asked)['id']}"
        agent.until(lambda: self.gateway.operate("GET", path)["state"] != "running")
        return self.gateway.operate("GET", path)

    def assert_told_nowhere(self, *secrets: str) -> None:
        """No file, log or argument list of gateway or agent has any of them."""
        for secret in secrets:
            told = [
                str(path)
                for path in self.here.rglob("*")
                if path.is_file() and secret.encode() in path.read_bytes()
            ]
            self.assertEqual(told, [])
            self.assertNotIn(secret, self.gateway.text)


class RedfishTests(BmcCase):
    def bmc(self) -> JSON:
        """:returns: where a fake BMC is, and who may ask it."""
        # Beside what is searched for the password: its own arguments are no product's.
        self.events = Path(self.mktemp())
        argv = [sys.executable, "-m", "tests.fakebmc_entry", str(self.events.absolute()), PASSWORD]
        process = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.until_there(process)
        told: JSON = json.loads(self.events.read_text().splitlines()[0])
        return told

    def until_there(self, process: "subprocess.Popen[bytes]") -> None:
        while process.poll() is None:
            if self.events.exists() and "\n" in self.events.read_text():
                return
        raise AssertionError("the fake BMC does not run")

    def happened(self) -> list[str]:
        return self.events.read_text().splitlines()[1:]

    def test_a_machine_is_turned_on(self) -> None:
        """By a workflow: its BMC is asked with the secret that the machine names."""
        bmc = self.bmc()
        self.secret("bmc-m1", json.dumps({"username": bmc["username"], "password": PASSWORD}))
        agent = self.start()
        self.machine(
            bmc_address=str(bmc["address"]), bmc_pin=str(bmc["pin"]), credential_ref="bmc-m1"
        )
        done = self.workflow(agent, action="on")
        self.assertEqual((done["state"], done["reason"]), ("done", ""), agent.log)
        self.assertEqual(self.happened(), ["on"])
        remembered = json.loads((self.here / "a" / "d" / "bmc-hosts.json").read_text())
        self.assertEqual(remembered, {"hosts": [{"host": "127.0.0.1", "addresses": ["127.0.0.1"]}]})
        agent.stop()
        self.assert_told_nowhere(PASSWORD)

    def test_a_wrong_credential(self) -> None:
        """The workflow fails, and says by the BMC's code why; the machine stays as it is."""
        bmc = self.bmc()
        self.secret("bmc-m1", OTHER + "\n")
        agent = self.start()
        self.machine(
            bmc_address=str(bmc["address"]),
            bmc_pin=str(bmc["pin"]),
            bmc_username=str(bmc["username"]),
            credential_ref="bmc-m1",
        )
        failed = self.workflow(agent, action="on")
        self.assertEqual(failed["state"], "failed")
        self.assertIn("auth-failed", str(failed["reason"]))
        self.assertEqual(self.happened(), [])
        agent.stop()
        self.assert_told_nowhere(OTHER)

    def test_another_key(self) -> None:
        """A BMC with another key than the pinned one is told no password."""
        bmc = self.bmc()
        self.secret("bmc-m1", PASSWORD)
        agent = self.start()
        wrong = "sha256/" + "A" * 43 + "="
        self.machine(bmc_address=str(bmc["address"]), bmc_pin=wrong, credential_ref="bmc-m1")
        self.assertIn("pin-mismatch", str(self.workflow(agent, action="on")["reason"]))


class HostedTests(BmcCase):
    def settings(self) -> Mapping[str, str]:
        directory = self.here / "drivers"
        directory.mkdir(mode=0o755)
        self.actions = Path(self.mktemp()).absolute()
        path = directory / "acme"
        path.write_text(DRIVER % (sys.executable, str(self.actions)))
        path.chmod(0o755)
        manifest = {"id": "acme", "version": "1", "concerns": ["power"], "protocol": 1}
        (directory / "acme.json").write_text(json.dumps(manifest))
        (directory / "acme.json").chmod(0o644)
        (directory / "bad.json").write_text("{}")
        (directory / "bad.json").chmod(0o644)
        return {"drivers_dir": str(directory)}

    def test_a_hosted_driver(self) -> None:
        """Its manifest is in Hello, and its operations are a process; nothing tells its secret."""
        self.secret("bmc-m1", PASSWORD)
        agent = self.start()
        node = self.gateway.operate("GET", f"nodes/{self.node()}")
        self.assertEqual(
            node["drivers"],
            [{"id": "acme", "version": "1", "concerns": ["power"], "protocol": 1}],
        )
        self.assertIn("bad.json: missing: id", agent.log)
        self.machine(bmc_address="slot 3", bmc_driver="acme", credential_ref="bmc-m1")
        done = self.workflow(agent, action="cycle")
        self.assertEqual((done["state"], done["reason"]), ("done", ""), agent.log)
        self.assertEqual(self.actions.read_text(), "cycle\n")
        self.assertIn("acme: asked with ***", agent.log)
        agent.stop()
        self.assert_told_nowhere(PASSWORD)
