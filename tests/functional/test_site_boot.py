"""A gateway, site agents with boot servers, and machines that ask them: processes of their own."""

import http.client
import json
import signal
import socket
import time
from collections.abc import Sequence
from functools import partial

from attrs import frozen

from rescriptum.boot.bootparams import BootParameters
from rescriptum.contract.jose import digest, unverified
from rescriptum.contract.structure import JSON
from tests.agentprocess import TWISTD, AgentProcess
from tests.functional.test_agent_gateway import AgentsCase
from tests.processes import free_port

MAC = "52:54:00:12:34:56"
STRANGER = "52:54:00:ff:ff:01"
SHA = "ab" * 32


@frozen
class Said:
    status: int
    text: str
    headers: dict[str, str]


class BootCase(AgentsCase):
    """:ivar ports: and ``tftp_ports``: of each agent's boot server, by its name."""

    def setUp(self) -> None:
        super().setUp()
        self.ports: dict[str, int] = {}
        self.tftp_ports: dict[str, int] = {}
        files = self.here / "files"
        files.mkdir()
        for name in ("vmlinuz", "initrd.img", "ipxe-x86_64.efi", "other.efi"):
            (files / name).write_bytes(name.encode() * 1000)
        self.gateway.operate(
            "POST", "machines", {"name": "m1", "site": "lab", "macs": [MAC], "uuid": ""}
        )

    def boots(
        self,
        name: str = "a",
        token: str | None = None,
        more: str = "",
        entry: Sequence[str] = TWISTD,
    ) -> AgentProcess:
        """:returns: an agent with a boot server, started."""
        port = self.ports.setdefault(name, free_port())
        tftp = self.tftp_ports.setdefault(name, free_port(socket.SOCK_DGRAM))
        files = self.here / "files"
        here = self.here / name
        here.mkdir(exist_ok=True)
        pins = [line for line in self.gateway.text.splitlines() if "_pin = " in line]
        config = here / "site.toml"
        config.write_text(
            f'gateway_url = "https://127.0.0.1:{self.gateway.port}"\n'
            f'gateway_server_name = "gw.internal"\ndata_dir = "{here / "d"}"\n'
            + "".join(line[line.index(" - ") + 3 :] + "\n" for line in pins)
            + f'[site]\nname = "lab"\n[boot]\nlisten = "127.0.0.1:{port}"\n'
            f'url = "http://127.0.0.1:{port}"\nserver_ip = "127.0.0.1"\n'
            f'tftp_listen = "127.0.0.1:{tftp}"\ntftp_root = "{files}"\n'
            f'kernel = "{files / "vmlinuz"}"\ninitrd = "{files / "initrd.img"}"\n' + more
        )
        config.chmod(0o640)
        given = {"RESCRIPTUM_JOIN_TOKEN": token or ""}
        made = AgentProcess(here, "--config", str(config), entry=entry, **given)
        self.agents.append(made)
        return made

    def ask(self, path: str, name: str = "a", **headers: str) -> Said | None:
        """:returns: None: nobody listens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[name], timeout=10)
        try:
            connection.request("GET", path, headers=headers)
            reply = connection.getresponse()
            return Said(reply.status, reply.read().decode("latin-1"), dict(reply.getheaders()))
        except OSError:
            return None
        finally:
            connection.close()

    def script(self, name: str = "a", mac: str = MAC) -> str:
        said = self.ask(f"/boot/ipxe?mac={mac}&arch=x86_64-efi&ip=192.0.2.9", name)
        return "" if said is None else said.text

    def active(self, name: str = "a") -> bool:
        said = self.ask("/healthz", name)
        return said is not None and said.text == "active\n"

    def deploy(self) -> str:
        parameters = {"sha256": SHA, "url": "http://127.0.0.1:9/image", "cmdline": "debug"}
        made = self.gateway.operate(
            "POST",
            "workflows",
            {"kind": "deploy", "machine": "m1", "parameters": parameters},
        )
        return str(made["id"])

    def section(self, name: str = "a") -> JSON:
        sections = self.status(name)["sections"]
        assert isinstance(sections, list)
        [detail] = [each["detail"] for each in sections if each["name"] == "site"]
        found: JSON = detail
        return found


class BootTests(BootCase):
    def test_from_a_workflow_to_a_script(self) -> None:
        """
        A machine is left alone until something is prepared for it; then it is told its kernel,
        with a token and an assertion that the gateway takes.
        """
        agent = self.boots(token=self.gateway.token())
        agent.until(self.active, 90)
        self.assertIn("Nothing is prepared for 52:54:00:12:34:56;", self.script())
        self.assertIn("echo No MAC address", self.script(mac="nonsense"))
        self.assertIn("Nothing is prepared", self.script(mac=STRANGER))
        # A machine that came a moment after another is told of half a minute later.
        found = partial(self.gateway.operate, "GET", "sites/lab/discovered")
        agent.until(lambda: STRANGER in str(found()), 90)
        self.deploy()
        agent.until(lambda: "bc.token=" in self.script())
        lines = self.script().splitlines()
        url = f"http://127.0.0.1:{self.ports['a']}"
        self.assertEqual(lines[:2], ["#!ipxe", "imgfree ||"])
        self.assertTrue(lines[2].startswith(f"kernel {url}/boot/kernel initrd=initrd debug bc."))
        self.assertEqual(lines[3:], [f"initrd --name initrd {url}/boot/initrd", "boot"])
        given = BootParameters.parse(lines[2])
        self.assertEqual(given.missing, ())
        self.assertEqual((given.site, given.mac, given.server_name), ("lab", MAC, "gw.internal"))
        said = unverified("discovery", given.assertion)
        self.assertEqual((said["mac"], said["ip"]), (MAC, "192.0.2.9"))
        self.assertEqual(said["token_digest"], digest(given.token.encode()))
        self.assertEqual(said["epoch"], self.epoch())
        self.assertLessEqual(int(str(said["not_after"])), time.time() + 900)
        events = self.gateway.operate("GET", "log")["events"]
        released = [e for e in events if e["kind"] == "secret.released"]  # type: ignore[attr-defined]
        self.assertEqual(len(released), 1)
        self.files(url)
        self.states(agent)

    def files(self, url: str) -> None:
        """What a script names can be had, by ranges; so can loaders of the table alone."""
        kernel = self.ask("/boot/kernel", Range="bytes=0-6")
        assert kernel is not None
        self.assertEqual((kernel.status, kernel.text), (206, "vmlinuz"))
        for path, status in (
            ("/boot/initrd", 200),
            ("/boot/kernel-arm64", 404),
            ("/boot/loaders/ipxe-x86_64.efi", 200),
            ("/boot/loaders/other.efi", 404),
            ("/boot/loaders/ipxe-arm64.efi", 404),
            ("/cache/t/0123/" + SHA, 403),
        ):
            said = self.ask(path)
            assert said is not None
            self.assertEqual(said.status, status, path)
        loader = self.ask("/boot/loaders/ipxe-x86_64.efi")
        assert loader is not None
        self.assertEqual(loader.headers["Content-Type"], "application/efi")

    def states(self, agent: AgentProcess) -> None:
        """What it says of itself, and what of its secrets it does not."""
        listening = {"state": "listening", "reason": ""}
        boot = self.section()["boot"]
        self.assertEqual(
            boot, {"http": listening, "tftp": listening, "dhcp": {"state": "off", "reason": ""}}
        )
        self.assertEqual(agent.stop(), 0)
        self.assertNotIn("Traceback", agent.log)
        self.assertNotIn("bc.token", agent.log)
        self.assertNotIn("rsjt_", agent.log)

    def test_the_gateway_is_cut_off(self) -> None:
        """Within the ttl no machine is answered any more; they are told to boot their own disk."""
        agent = self.boots(token=self.gateway.token())
        agent.until(self.active, 90)
        self.deploy()
        agent.until(lambda: "bc.token=" in self.script())
        assert self.gateway.process is not None
        self.gateway.process.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        agent.until(lambda: "not active" in self.script())
        self.assertLess(time.monotonic() - began, self.ttl_ms / 1000 + 2)
        for path in ("/boot/kernel", "/boot/loaders/ipxe-x86_64.efi"):
            said = self.ask(path)
            assert said is not None
            self.assertEqual((said.status, said.headers["Retry-After"]), (503, "5"))
        self.gateway.process.process.send_signal(signal.SIGCONT)

    def test_two_agents_and_one_lease(self) -> None:
        """Whoever is asked, whenever: at no time do both of them answer."""
        first = self.boots(token=self.gateway.token())
        first.until(self.active, 90)
        second = self.boots("b", self.gateway.token())
        second.until(lambda: "not active" in self.script("b"), 90)
        answers: list[tuple[bool, bool]] = []

        def moved() -> bool:
            answers.append((self.answers("a"), self.answers("b")))
            return answers[-1][1]

        first.process.send_signal(signal.SIGTERM)
        second.until(moved)
        self.assertEqual(first.exited(), 0)
        self.assertNotIn((True, True), answers)

    def answers(self, name: str) -> bool:
        text = self.script(name)
        return bool(text) and "not active" not in text

    def test_a_port_that_is_taken(self) -> None:
        """The agent runs, says so, leaves the lease to others, and takes the port once it can."""
        self.ports["a"] = self.gateway.port
        agent = self.boots(token=self.gateway.token())
        agent.until(lambda: self.status()["session"]["state"] == "live")  # type: ignore[index]
        agent.until(lambda: "boot server stopped: http" in agent.log)
        agent.until(lambda: '"site"' in json.dumps(self.status()["sections"]))
        http_ = self.section()["boot"]["http"]  # type: ignore[index]
        self.assertEqual(http_["state"], "failed")
        self.assertFalse(self.lease()["active"])
        self.assertEqual(self.epoch(), 0)
        self.assertEqual(agent.stop(), 0)
