"""
A site and its gateway, as their operator runs them: by commands, and by files that they print.

The gateway is reached by a wire of its own; machines, the site's DHCP server and the site agents
are on another one.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import assets, peers
from .assets import CHECKOUT
from .network import DHCP, MASK, NETWORK, SERVER, Network, Running, wait_for

UPLINK, GATEWAY, GATEWAY_PORT = "br2", "10.79.0.5", 8443
AGENTS = {"a": "10.77.0.11", "b": "10.77.0.12"}
_AGENTS_UPLINK = {"a": "10.79.0.11", "b": "10.79.0.12"}
SITE = "lab"
PORT = 8080
FAR, FAR_NETWORK, FAR_RANGE = "br1", "10.78.0.0/24", ("10.78.0.100", "10.78.0.200")
RELAY, RELAY_FAR = "10.77.0.3", "10.78.0.1"

Said = dict[str, Any]


class Gateway:
    """
    ``twistd -n rescriptum gateway`` in a namespace of its own, and its operator beside it.

    :ivar lines: what it prints for agents: the lines of ``site.toml`` that name it.
    """

    def __init__(self, network: Network, ttl_ms: int) -> None:
        """Make it, start it, and have it know the site."""
        self._network = network
        network.bridge(UPLINK)
        network.host("gw", GATEWAY, UPLINK)
        data = network.directory / "gateway"
        config = network.directory / "gateway.toml"
        config.write_text(
            f'data_dir = "{data}"\nlisten = "0.0.0.0:{GATEWAY_PORT}"\n'
            f'server_names = ["{GATEWAY}"]\n'
        )
        config.chmod(0o600)
        printed = self.command("init", "--config", config)
        self.lines = [
            each for each in printed.splitlines() if each and not each.startswith(("#", "site = "))
        ]
        self._config = config
        self.start("gateway")
        self.command("site", "create", SITE, "--ttl-ms", str(ttl_ms))

    def start(self, log: str) -> None:
        """:param log: what its log is called. Returns when it listens."""
        argv: list[str | Path] = [*peers.TWISTD, "rescriptum", "gateway", "--config", self._config]
        self.running = self._network.spawn("gw", log, argv, self._environment)
        self.running.wait_for("gateway listens on", 30)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {
            "PYTHONPATH": str(CHECKOUT),
            "RESCRIPTUM_GATEWAY_CLIENT": str(self._network.directory / "client.toml"),
        }

    def command(self, *argv: str | Path) -> str:
        """
        :returns: what ``rescriptum gateway ARGV`` prints.
        :raises AssertionError: when it fails.
        """
        called = [*peers.RESCRIPTUM, "gateway", *argv]
        done = self._network.call("gw", called, self._environment)
        if done.returncode:
            raise AssertionError(f"rescriptum gateway {argv}: {done.stdout}{done.stderr}")
        return done.stdout

    def ask(self, *argv: str) -> Said:
        """:returns: what the command prints for programs."""
        said: Said = json.loads(self.command(*argv, "--json"))
        return said

    def until(self, wanted: Callable[[Said], bool], *argv: str) -> None:
        """Ask the same until it is said. :raises AssertionError: when it never is."""
        said: list[Said] = [{}]

        def heard() -> bool:
            said[0] = self.ask(*argv)
            return wanted(said[0])

        if not wait_for(heard, 60):
            raise AssertionError(f"gateway {argv} said at last: {json.dumps(said[0])[-2000:]}")

    def prepare(self, name: str, mac: str, cmdline: str) -> None:
        """Write a machine down and inspect it: its boot entry is there when this returns."""
        self.command("machine", "add", name, SITE, "--mac", mac)
        made = self.ask("inspect", name, "--set", f"cmdline={cmdline}")

        def prepared(said: Said) -> bool:
            steps = {each["name"]: each["state"] for each in said["steps"]}
            return steps.get("boot.prepareRamdisk") == "done"

        self.until(prepared, "workflow", "show", made["id"])

    def entry(self, node: str, mac: str, cmdline: str) -> None:
        """Give one agent a boot entry by hand: it counts under any lease, and asks for no token."""
        payload = json.dumps({"mac": mac, "kind": "ramdisk", "cmdline": cmdline})
        sent = self.ask("command", "send", node, "boot.prepareRamdisk", "--payload", payload)
        self.until(lambda said: said["state"] == "done", "command", "show", sent["id"])

    def discovered(self, mac: str) -> Said:
        """:returns: the machine, once it is listed."""
        found: list[Said] = []

        def listed(said: Said) -> bool:
            found[:] = [each for each in said["discovered"] if each["mac"] == mac]
            return bool(found)

        self.until(listed, "discovered", "list", SITE)
        return found[0]


class SiteAgent(peers.Logged):
    """
    ``twistd -n rescriptum site`` in a namespace of its own, with proxy DHCP.

    :ivar address: where machines reach it.
    """

    def __init__(
        self, network: Network, name: str, gateway: Gateway, ramdisk: Path | None = None
    ) -> None:
        """:param ramdisk: kernel and initrd of x86_64; None: one that says its marker."""
        self._ramdisk = ramdisk
        self.name, self.address = name, AGENTS[name]
        self.url = f"http://{self.address}:{PORT}"
        self._network = network
        self._gateway = gateway
        # Not below the network's directory: the path of a socket has to be short.
        self._data = Path(tempfile.mkdtemp(prefix="rescriptum-lab-"))
        network.host(name, self.address)
        network.link(name, "eth1", _AGENTS_UPLINK[name], UPLINK)

    @property
    def _environment(self) -> Mapping[str, str]:
        return {"PYTHONPATH": str(CHECKOUT)}

    def start(self) -> None:
        """Join, with a token of the operator's; returns when it runs."""
        trees = {"": self._ramdisk or assets.tree("amd64"), "_arm64": assets.tree("arm64")}
        ramdisks = [
            f'{key}{suffix} = "{tree / name}"'
            for suffix, tree in trees.items()
            for key, name in (("kernel", "vmlinuz"), ("initrd", "initrd.img"))
        ]
        config = self._network.directory / f"{self.name}.toml"
        config.write_text(
            "\n".join(
                [
                    *self._gateway.lines,
                    f'data_dir = "{self._data}"\nlog_format = "json"',
                    f'[site]\nname = "{SITE}"',
                    f'[boot]\nlisten = "0.0.0.0:{PORT}"\nurl = "{self.url}"',
                    f'server_ip = "{self.address}"\nproxy_dhcp = true\ninterface = "eth0"',
                    f'tftp_root = "{assets.loaders()}"',
                    *ramdisks,
                ]
            )
            + "\n"
        )
        config.chmod(0o640)
        token = self._network.directory / f"{self.name}.token"
        token.touch(mode=0o600)
        token.write_text(self._gateway.command("token", "create", SITE))
        argv: list[str | Path] = [*peers.TWISTD, "rescriptum", "site", "--config", config]
        argv += ["--token-file", token]
        self._running = self._network.spawn(
            self.name, f"agent-{self.name}", argv, self._environment
        )

    @property
    def running(self) -> Running:
        return self._running

    def says(self, state: str) -> bool:
        """Whether ``/healthz`` is ``active``, or ``standby``."""
        argv = ["curl", "-s", "--max-time", "5", f"{self.url}/healthz"]
        return self._network.call(self.name, argv).stdout == f"{state}\n"

    def until(self, state: str, seconds: float = 60) -> None:
        """:raises AssertionError: with its log, when it never is in that state."""
        if not wait_for(lambda: self.says(state), seconds, lambda: self._running.ended):
            raise AssertionError(f"never {state}:\n{self._running.text()[-4000:]}")

    def status(self) -> Said:
        """:returns: what ``rescriptum site status`` says."""
        argv: list[str | Path] = [*peers.RESCRIPTUM, "site", "status", "--json"]
        argv += ["--data-dir", self._data]
        done = self._network.call(self.name, argv, self._environment)
        if done.returncode:
            raise AssertionError(f"rescriptum site status: {done.stdout}{done.stderr}")
        said: Said = json.loads(done.stdout)
        return said

    @property
    def node(self) -> str:
        """What the gateway calls it."""
        return str(self.status()["node_id"])

    @property
    def cache(self) -> Path:
        return self._data / "cache"

    def remove(self) -> None:
        shutil.rmtree(self._data, ignore_errors=True)


def far(network: Network, agent: SiteAgent, relay: str = "dnsmasq") -> None:
    """Machines on a wire of their own, behind a relay that forwards to both servers."""
    network.bridge(FAR)
    network.host("relay", RELAY)
    network.link("relay", "eth1", RELAY_FAR, FAR)
    network.forward("relay")
    network.router6("relay", "eth1")
    for each in ("dhcp", agent.name):
        network.route(each, FAR_NETWORK, RELAY)
    servers = (DHCP, agent.address)
    if relay == "dnsmasq":
        argv: list[str | Path] = [
            *("dnsmasq", "-k", "-C", "/dev/null", "--port=0", "--user=root"),
            *("--log-dhcp", "--log-facility=-"),
            *(f"--dhcp-relay={RELAY_FAR},{each}" for each in servers),
        ]
    else:
        # It puts option 82 in, and drops answers that have not got it.
        argv = [assets.relay_agent(), "-4", "-d", "-a", "-D", "-id", "eth1", "-iu", "eth0"]
        argv += servers
    running = network.spawn("relay", "relay", argv)
    running.wait_for("DHCP relay" if relay == "dnsmasq" else "Sending on", 10)


def routed(network: Network, agent: SiteAgent) -> None:
    """Machines reach the gateway through the agent's host, as the DHCP server tells them."""
    network.forward(agent.name)
    route_back(network, agent, "gw")
    # The router that the DHCP server tells of.
    network.call(agent.name, ["ip", "addr", "add", f"{SERVER}/24", "dev", "eth0"])
    peers.dnsmasq(network, "")


def route_back(network: Network, agent: SiteAgent, name: str) -> None:
    """A host of the uplink answers machines."""
    network.route(name, NETWORK, _AGENTS_UPLINK[agent.name])


def plain_dhcp(network: Network, server: str = "dnsmasq") -> Running:
    """A server that gives addresses, here and behind the relay, and knows nothing of booting."""
    if server == "kea":
        return peers.kea(network, json.dumps({"Dhcp4": {}}))
    behind = f"dhcp-range=set:far,{FAR_RANGE[0]},{FAR_RANGE[1]},{MASK},1h"
    return peers.dnsmasq(network, f"{behind}\ndhcp-option=tag:far,3,{RELAY_FAR}")
