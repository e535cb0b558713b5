"""BMCs asked by a whole system: an operator, a gateway, a site agent and what plays the BMCs."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import cast
from urllib.error import HTTPError
from urllib.request import urlopen

from rescriptum.cli.drivers import install
from rescriptum.contract.structure import JSON
from tests.agentprocess import TWISTD, AgentProcess
from tests.functional.test_agent_gateway import AgentsCase
from tests.processes import ROOT, free_port

#: Which nothing but secrets may hold.
PASSWORD, OTHER = "c0rrect-horse-battery", "wr0ng-horse-battery"
#: One that IPMI has room for.
SHORT = "c0rrect-horse-42"

DRIVER = """#!%s
import hashlib, json, sys, urllib.request
told = json.load(sys.stdin)
password = told["secrets"]["password"]
sys.stderr.write("asked with " + password + "\\n")
state = %r
if told["operation"] == "firmware.update":
    url = told["args"]["url"]
    sha256 = hashlib.sha256(urllib.request.urlopen(url).read()).hexdigest()
    open(state, "a").write(url + " " + sha256 + "\\n")
    print(json.dumps({"ok": True}))
elif told["operation"] == "power.setPower":
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
            *self.boot(),
        ]
        config = here / "site.toml"
        config.write_text("\n".join(lines) + "\n")
        config.chmod(0o640)
        given = {"RESCRIPTUM_JOIN_TOKEN": self.gateway.token(), **self.environ()}
        made = AgentProcess(here, "--config", str(config), entry=TWISTD, **given)
        self.agents.append(made)
        made.until(lambda: cast(JSON, self.status()["session"])["state"] == "live")
        return made

    def settings(self) -> Mapping[str, str]:
        """:returns: of ``[site]``."""
        return {}

    def environ(self) -> Mapping[str, str]:
        """:returns: of the agent."""
        return {}

    def boot(self) -> Sequence[str]:
        """:returns: lines of a boot server; none: there is none."""
        return ()

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


class HostedCase(BmcCase):
    """:ivar actions: what the driver writes down."""

    def settings(self) -> Mapping[str, str]:
        directory = self.here / "drivers"
        directory.mkdir(mode=0o755)
        self.actions = Path(self.mktemp()).absolute()
        path = directory / "acme"
        path.write_text(DRIVER % (sys.executable, str(self.actions)))
        path.chmod(0o755)
        manifest = {"id": "acme", "version": "1", "concerns": ["firmware", "power"], "protocol": 1}
        (directory / "acme.json").write_text(json.dumps(manifest))
        (directory / "acme.json").chmod(0o644)
        (directory / "bad.json").write_text("{}")
        (directory / "bad.json").chmod(0o644)
        return {"drivers_dir": str(directory)}


class HostedTests(HostedCase):
    def test_a_hosted_driver(self) -> None:
        """Its manifest is in Hello, and its operations are a process; nothing tells its secret."""
        self.secret("bmc-m1", PASSWORD)
        agent = self.start()
        node = self.gateway.operate("GET", f"nodes/{self.node()}")
        self.assertEqual(
            node["drivers"],
            [{"id": "acme", "version": "1", "concerns": ["firmware", "power"], "protocol": 1}],
        )
        self.assertIn("bad.json: missing: id", agent.log)
        self.machine(bmc_address="slot 3", bmc_driver="acme", credential_ref="bmc-m1")
        done = self.workflow(agent, action="cycle")
        self.assertEqual((done["state"], done["reason"]), ("done", ""), agent.log)
        self.assertEqual(self.actions.read_text(), "cycle\n")
        self.assertIn("acme: asked with ***", agent.log)
        agent.stop()
        self.assert_told_nowhere(PASSWORD)


class FirmwareTests(HostedCase):
    """The same, where the agent has a boot server and so a cache."""

    IMAGE = b"firmware" * 100_000

    def boot(self) -> Sequence[str]:
        self.port = free_port()
        return (
            "[boot]",
            f'listen = "127.0.0.1:{self.port}"',
            f'url = "http://127.0.0.1:{self.port}"',
        )

    def source(self) -> str:
        """:returns: where the image is, until the test is over."""
        image = self.IMAGE

        class Serving(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(image)))
                self.end_headers()
                self.wfile.write(image)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Serving)
        thread = Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/bios.bin"

    def test_firmware(self) -> None:
        """
        Pulled and verified by the agent, fetched by the BMC from the agent alone, under a grant
        that goes with the operation. An image that is another one never comes to the BMC.
        """
        agent = self.start()
        agent.until(lambda: self.lease()["active"])
        self.machine(bmc_address="slot 3", bmc_driver="acme", credential_ref="bmc-m1")
        self.secret("bmc-m1", PASSWORD)
        source, digest = self.source(), sha256(self.IMAGE).hexdigest()
        done = self.workflow(agent, "firmware", sha256=digest, url=source)
        self.assertEqual((done["state"], done["reason"]), ("done", ""), agent.log)
        url, got = self.actions.read_text().split()
        self.assertTrue(url.startswith(f"http://127.0.0.1:{self.port}/cache/f/"))
        self.assertEqual(got, digest)
        with self.assertRaises(HTTPError) as raised:
            urlopen(url)
        self.assertEqual(raised.exception.code, 403)
        raised.exception.close()
        self.assertNotIn(url.split("/")[5], agent.log)
        failed = self.workflow(agent, "firmware", sha256="0" * 64, url=source)
        self.assertIn("image-unverified", str(failed["reason"]))
        self.assertEqual(len(self.actions.read_text().splitlines()), 1)


IPMITOOL = """#!%s
import os, sys
told = open(%r, "a")
told.write(" ".join(sys.argv[1:]) + "\\n")
assert os.environ.pop("IPMI_PASSWORD") == %r
assert sorted(set(os.environ) - {"LC_CTYPE"}) == ["PATH"]
if "17" in sys.argv:
    sys.exit("Error in open session response message : invalid authentication algorithm")
state = %r
if "bootparam" not in sys.argv and sys.argv[-1] in ("on", "off"):
    open(state, "w").write(sys.argv[-1])
print("Chassis Power is " + (open(state).read() if os.path.exists(state) else "off"))
"""


class IpmiTests(BmcCase):
    """``bcx-ipmi`` as operators install it, and something that plays ipmitool."""

    def settings(self) -> Mapping[str, str]:
        directory, self.bin = self.here / "drivers", self.here / "bin"
        for each in (directory, self.bin):
            each.mkdir(mode=0o755)
        self.told, state = Path(self.mktemp()).absolute(), self.here / "power"
        entry = "from rescriptum.bmc.ipmi.runner import run; run()"
        lead = f"#!{sys.executable}\nimport sys; sys.path.insert(0, {str(ROOT)!r})\n"
        for path, text in (
            (self.bin / "bcx-ipmi", f"{lead}{entry}\n"),
            (
                self.bin / "ipmitool",
                IPMITOOL % (sys.executable, str(self.told), SHORT, str(state)),
            ),
        ):
            path.write_text(text)
            path.chmod(0o755)
        install(directory, self.bin / "bcx-ipmi")
        return {"drivers_dir": str(directory)}

    def environ(self) -> Mapping[str, str]:
        return {"PATH": f"{self.bin}:/usr/bin:/bin"}

    def test_a_machine_is_turned_on(self) -> None:
        """By the suite that the BMC knows; the password is in no argument of any process."""
        self.secret("bmc-m1", SHORT)
        agent = self.start()
        self.machine(
            bmc_address="127.0.0.1",
            bmc_driver="ipmi",
            bmc_username="root",
            credential_ref="bmc-m1",
        )
        done = self.workflow(agent, action="on")
        self.assertEqual((done["state"], done["reason"]), ("done", ""), agent.log)
        told = self.told.read_text()
        words = [line.partition("-R 3 ")[2] for line in told.splitlines()]
        status, on = "chassis power status", "chassis power on"
        self.assertEqual(words, [status, status, on, status])
        self.assertNotIn(SHORT, told)
        agent.stop()
        (self.bin / "ipmitool").unlink()  # which has to know it
        self.assert_told_nowhere(SHORT)
