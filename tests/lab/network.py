"""
Network namespaces joined by a bridge, and what runs in them.

Everything is named after this process, started by it and ended by its process id. What a killed
run has left behind is swept by the next one, by the same names and nothing else.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

PREFIX = "rescriptum-lab"
SERVER, DHCP, CLIENT = "10.77.0.1", "10.77.0.2", "10.77.0.50"
NETWORK, MASK = "10.77.0.0/24", "255.255.255.0"
CLIENTS = ("10.77.0.100", "10.77.0.200")
ROUTER6 = "fd00:77::1/64"
#: The bridge that all machines are on, but for those of one test.
MACHINES = "br0"
POLL_SECONDS = 0.05


def run(*argv: str | Path, check: bool = True) -> str:
    """:returns: what the command printed. :raises CalledProcessError: with its words."""
    done = subprocess.run(
        [str(each) for each in argv], check=False, text=True, capture_output=True, timeout=60
    )
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stdout}{done.stderr}")
    return done.stdout


def _environment(added: Mapping[str, str] | None) -> dict[str, str]:
    """:returns: ours without any setting of the server's, and ``added``."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RESCRIPTUM_")}
    return {**kept, **(added or {})}


def sweep() -> None:
    """End what runs of dead processes have left in namespaces with our prefix."""
    for line in run("ip", "netns", "list").splitlines():
        found = re.match(rf"({PREFIX}-(\d+)-[a-z0-9]+)\b", line)
        if found and not Path(f"/proc/{found[2]}").exists():
            for pid in run("ip", "netns", "pids", found[1], check=False).split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    continue
            run("ip", "netns", "del", found[1], check=False)


class Running:
    """
    A process in a namespace.

    :ivar log: the file that its output goes to.
    """

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def text(self) -> str:
        return self.log.read_bytes().decode("utf-8", "replace")

    def type(self, line: str) -> None:
        """Give it a line, where it was spawned to be typed to."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def kill(self) -> None:
        """End it as a power failure does: it is not asked."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if not self.ended:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def wait_for(self, pattern: str, seconds: float) -> None:
        """:raises AssertionError: when the process ends or time is up before it says so."""
        found = wait_for(lambda: re.search(pattern, self.text()), seconds, lambda: self.ended)
        if not found:
            raise AssertionError(f"{self.log.name} never said {pattern!r}:\n{self.text()[-4000:]}")


def wait_for(
    what: Callable[[], object], seconds: float, hopeless: Callable[[], bool] = lambda: False
) -> bool:
    """:returns: whether ``what`` came true in time; it is asked once more when hope is gone."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        last = hopeless()
        if what():
            return True
        if last:
            return False
        time.sleep(POLL_SECONDS)
    return False


class Network:
    """
    Bridges in a namespace of their own, where machines plug in, and servers in others.

    :ivar directory: where logs and captures go.
    """

    _open: ClassVar[list["Network"]] = []

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._running: list[Running] = []
        self._namespaces: list[str] = []
        self._taps = 0

    @classmethod
    def close_all(cls) -> None:
        """Close what this process has open."""
        for each in tuple(cls._open):
            each.close()

    def __enter__(self) -> Self:
        self._open.append(self)
        try:
            self._namespace("br")
            self.bridge(MACHINES)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        for each in reversed(self._running):
            each.stop()
        for name in reversed(self._namespaces):
            run("ip", "netns", "del", name, check=False)
        self._running.clear()
        self._namespaces.clear()
        if self in self._open:
            self._open.remove(self)

    @staticmethod
    def _full(name: str) -> str:
        return f"{PREFIX}-{os.getpid()}-{name}"

    def _ip(self, name: str, words: str) -> None:
        run("ip", "-n", self._full(name), *words.split())

    def _namespace(self, name: str) -> None:
        full = self._full(name)
        run("ip", "netns", "add", full)
        self._namespaces.append(full)
        self._ip(name, "link set lo up")
        # No neighbour discovery in the captures but where it is asked for.
        self._ipv6(name, on=False)

    def _ipv6(self, name: str, on: bool, device: str = "eth0") -> None:
        for each in ("all", device) if on else ("all",):
            path = f"/proc/sys/net/ipv6/conf/{each}/disable_ipv6"
            self.call(name, ["sh", "-c", f"echo {int(not on)} >{path}"])

    def has(self, name: str) -> bool:
        return self._full(name) in self._namespaces

    def bridge(self, name: str) -> None:
        """Another wire, which nothing joins to the rest."""
        words = "type bridge forward_delay 0 stp_state 0 mcast_snooping 0"
        self._ip("br", f"link add {name} {words}")
        self._ip("br", f"link set {name} up")

    def host(self, name: str, address: str, bridge: str = MACHINES) -> None:
        """A namespace with ``eth0`` on a bridge."""
        self._namespace(name)
        self.link(name, "eth0", address, bridge)

    def link(self, name: str, device: str, address: str, bridge: str) -> None:
        """Plug ``name`` into a bridge; ``device`` is of the form ``eth0``."""
        port = self._port(name, device)
        self._ip("br", f"link add {port} type veth peer name {device} netns {self._full(name)}")
        self._ip("br", f"link set {port} master {bridge} up")
        self._ip(name, f"addr add {address}/24 brd + dev {device}")
        self._ip(name, f"link set {device} up")

    @staticmethod
    def _port(name: str, device: str) -> str:
        return f"v{device.removeprefix('eth')}-{name}"

    def cut(self, name: str, device: str) -> None:
        """Pull the plug: the link is down at both ends."""
        self._ip("br", f"link set {self._port(name, device)} down")

    def mend(self, name: str, device: str) -> None:
        """Put it in again."""
        self._ip("br", f"link set {self._port(name, device)} up")

    def route(self, name: str, network: str, through: str) -> None:
        self._ip(name, f"route add {network} via {through}")

    def forward(self, name: str) -> None:
        """Let ``name`` pass on what is for others."""
        self.call(name, ["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"])

    def router6(self, name: str, device: str = "eth0") -> None:
        """
        Let ``name`` advertise an IPv6 prefix. Every iPXE waits 13 seconds for a router that is
        not there, and a lab's boots are many.
        """
        self._ipv6(name, on=True, device=device)
        self._ip(name, f"addr add {ROUTER6} dev {device} nodad")
        prefix = ROUTER6.split("1/")[0]
        self.spawn(
            name,
            f"router6-{name}",
            [
                *("dnsmasq", "-k", "-C", "/dev/null", "--port=0", "--user=root", "--enable-ra"),
                *(f"--interface={device}", f"--dhcp-range={prefix},ra-only"),
                f"--dhcp-leasefile={self.directory / f'router6-{name}.leases'}",
            ],
        )

    def tap(self, bridge: str = MACHINES) -> str:
        """:returns: the name of a new port of a bridge, for a machine."""
        name = f"tap{self._taps}"
        self._taps += 1
        self._ip("br", f"tuntap add {name} mode tap")
        self._ip("br", f"link set {name} master {bridge} up")
        return name

    def spawn(
        self,
        name: str,
        log: str,
        argv: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        typed: bool = False,
    ) -> Running:
        """
        Start a process in namespace ``name``; it ends with the network.

        :param typed: whether it reads what is typed to it.
        """
        path = self.directory / f"{log}.log"
        with path.open("wb") as output:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self._full(name), *map(str, argv)],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.PIPE if typed else subprocess.DEVNULL,
                cwd=self.directory,
                env=_environment(environment),
            )
        running = Running(process, path)
        self._running.append(running)
        return running

    def call(
        self, name: str, argv: Sequence[str | Path], environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in namespace ``name`` to its end."""
        return subprocess.run(
            ["ip", "netns", "exec", self._full(name), *map(str, argv)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=_environment(environment),
        )

    def capture(self) -> Path:
        """Record what crosses the bridge from now on."""
        path = self.directory / "bridge.pcap"
        running = self.spawn(
            "br", "tcpdump", ["tcpdump", "-Z", "root", "-U", "-n", "-i", "br0", "-w", path]
        )
        running.wait_for("listening on", 10)
        return path

    def port_open(self, name: str, protocol: str, port: int) -> bool:
        """Whether somebody in ``name`` listens there; ``protocol`` is ``tcp`` or ``udp``."""
        table = self.call(name, ["ss", "-Hnl", {"tcp": "-t", "udp": "-u"}[protocol]]).stdout
        return any(f":{port} " in line for line in table.splitlines())
