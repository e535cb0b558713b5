"""
``python -m bench.answers``: answers beside aiohttp and nginx, and a large set beside a small one.

The packages nginx-light and wrk. Documents are in memory where ``/dev/shm`` is.
"""

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from attrs import frozen

from . import answers_set
from .benchlib import HERE, Bar, Results, Sample, Server, end_on_request, judged, ratio, report, wrk

OURS, NGINX, AIOHTTP = "rescriptum", "nginx", "aiohttp"
SIZES = (100, 10_000, 100_000)
FEW, MANY = SIZES[0], SIZES[-1]
PORTS = dict(zip((*SIZES, NGINX, AIOHTTP), range(6921, 6930), strict=False))
#: Of a set, the machines that ask for the first time; and those of a rack, which ask in turn.
ASKING, RACK = 10_000, FEW
ANSWER = "/proxmox/answer?mac="
#: What the first load is measured with.
LOADED = 10_000

GET, POST = "prepared, GET", "prepared, Proxmox's POST"
MERGED = "merged and filled, each machine in turn"
NOBODY, DEFAULT = "claimed by nothing: 404", "claimed by nothing: a default"
#: What else a case is compared with: the same with few documents, and the prepared answer.
FEWER, PREPARED = f"{FEW} documents", "prepared"

#: Issue 3.
BARS = (
    Bar(GET, AIOHTTP, 0.8, 1.5),
    Bar(POST, AIOHTTP, 0.8, 1.5),
    Bar(MERGED, PREPARED, 0.3, 0.6),
)
FEWER_BARS = tuple(Bar(case, FEWER, 0.8, 0.95) for case in (GET, POST, MERGED, NOBODY, DEFAULT))
#: Seconds and milliseconds: floor and goal.
FIRST_BAR, AGAIN_BAR = (5.0, 2.0), (200.0, 20.0)
#: Seconds from an edit until it is served.
SERVED_BAR = (1.0, 0.5)

NGINX_CONF = """
daemon off; worker_processes 1; pid {root}/nginx.pid; error_log {root}/nginx.log;
events {{ worker_connections 2048; }}
http {{
  access_log off; sendfile on; keepalive_requests 100000000;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
  fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  server {{
    listen 127.0.0.1:{port}; root {root}/static;
    error_page 405 =200 $uri;  # a POST gets the file too
  }}
}}
"""
LUA = """
local requests, at = {{}}, 0
for each in io.open("{requests}", "rb"):read("*a"):gmatch("([^%z]+)") do
  requests[#requests + 1] = each
end
request = function()
  at = at % #requests + 1
  return requests[at]
end
"""


@frozen
class Case:
    """
    What is asked, again and again in the same order.

    :ivar peers: who has the same answer.
    """

    requests: Sequence[bytes]
    peers: tuple[str, ...] = ()
    refused: bool = False

    def script(self, root: Path, name: str) -> tuple[str, ...]:
        """:returns: options of wrk."""
        requests, lua = root / f"{name}.requests", root / f"{name}.lua"
        requests.write_bytes(b"\0".join(self.requests))
        lua.write_text(LUA.format(requests=requests))
        return "-s", str(lua)


def merged(machines: Sequence[int]) -> list[bytes]:
    return [answers_set.get(ANSWER + answers_set.machine(each)) for each in machines]


def cases(machines: int) -> dict[str, Case]:
    peers = AIOHTTP, NGINX
    members = [answers_set.member(each) for each in range(answers_set.MEMBERS)]
    rack = answers_set.spread(machines, RACK)
    strangers = [answers_set.stranger(each) for each in range(1000)]
    answer, ks = ANSWER, "/rhel/ks?mac="
    return {
        GET: Case([answers_set.get(answer + each) for each in members], peers),
        POST: Case(answers_set.posts(members), peers),
        MERGED: Case(merged(rack)),
        NOBODY: Case([answers_set.get(answer + each) for each in strangers], refused=True),
        DEFAULT: Case([answers_set.get(ks + each) for each in strangers]),
    }


def ours(root: Path, machines: int) -> Server:
    """:param root: with the answers, where the log goes too."""
    twistd = [sys.executable, "-c", "from twisted.scripts.twistd import run; run()", "-n"]
    environ = {
        "PYTHONPATH": str(HERE.parent),
        "RESCRIPTUM_ANSWERS_DIR": str(root / "answers"),
        "RESCRIPTUM_LISTEN_ADDR": f"127.0.0.1:{PORTS[machines]}",
        "RESCRIPTUM_PUBLIC_HOST": "127.0.0.1",
        # As its peers: they write no access log either.
        "RESCRIPTUM_LOG": "problems",
    }
    argv = [*twistd, "--pidfile=", "rescriptum"]
    return Server(OURS, argv, "tcp", PORTS[machines], environ, root / "ours.log")


def peers(root: Path, answer: bytes) -> list[Server]:
    """:param answer: what they reply with."""
    static = root / "static" / "proxmox" / "answer"
    static.parent.mkdir(parents=True)
    static.write_bytes(answer)
    conf = root / "nginx.conf"
    conf.write_text(NGINX_CONF.format(root=root, port=PORTS[NGINX]))
    aiohttp = [sys.executable, "-m", "bench.answers_aiohttp", str(PORTS[AIOHTTP]), str(static)]
    environ = {"PYTHONPATH": str(HERE.parent)}
    return [
        Server(AIOHTTP, aiohttp, "tcp", PORTS[AIOHTTP], environ, root / "aiohttp.log"),
        Server(NGINX, ["nginx", "-c", str(conf)], "tcp", PORTS[NGINX], log=root / "nginx.out"),
    ]


class Client:
    """One connection that is kept: what wrk cannot tell is asked for here."""

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), 120)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, *requests: bytes) -> list[tuple[int, bytes]]:
        """:returns: statuses and bodies, of requests that are all sent at once."""
        self._socket.sendall(b"".join(requests))
        data = b""
        replies: list[tuple[int, bytes]] = []
        while len(replies) < len(requests):
            head, end, rest = data.partition(b"\r\n\r\n")
            size = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0]) if end else 0
            if not end or len(rest) < size:
                more = self._socket.recv(1 << 20)
                if not more:
                    raise EOFError(data)
                data += more
                continue
            replies.append((int(head[9:12]), rest[:size]))
            data = rest[size:]
        return replies


def check(server: Server, machines: int, asked: Mapping[str, Case]) -> bytes:
    """
    :returns: the prepared answer, once the set has been read.
    :raises RuntimeError: where a case does not get what it is about.
    """
    last = answers_set.name(answers_set.spread(machines, RACK)[-1]).encode()
    with Client(server) as client:
        until = time.monotonic() + 120
        while client.ask(asked[GET].requests[0])[0][0] == 503 and time.monotonic() < until:
            continue  # a large set takes longer to read than a request may take
        for case, expected in ((NOBODY, 404), (DEFAULT, 200), (MERGED, 200), (POST, 200)):
            [(status, body)] = client.ask(asked[case].requests[-1])
            if status != expected or (case == MERGED and last not in body):
                raise RuntimeError(f"{case}: {status} {body!r}; {server.said()}")
        [(_, by_get)] = client.ask(asked[GET].requests[0])
        if body != by_get:
            raise RuntimeError(f"GET and POST differ: {by_get!r} {body!r}")
        return by_get


def first_time(server: Server, requests: Sequence[bytes]) -> float:
    """:returns: requests a second when no machine has asked before, sixteen at once."""
    started = time.monotonic()
    with Client(server) as client:
        for at in range(0, len(requests), 16):
            statuses = {status for status, _ in client.ask(*requests[at : at + 16])}
            if statuses != {200}:
                raise RuntimeError(f"machines get {statuses}; {server.said()}")
    return len(requests) / (time.monotonic() - started)


def in_new_words(requests: Sequence[bytes]) -> list[bytes]:
    """:returns: as many as machines ask, none of which the server remembers the reply to."""
    numbered = (b"?n=%d&mac=" % number for number in range(ASKING))
    return [
        requests[number % len(requests)].replace(b"?mac=", each)
        for number, each in enumerate(numbered)
    ]


def served(server: Server, root: Path) -> tuple[float, float]:
    """:returns: seconds from an edit until it is served, and of the slowest reply meanwhile."""
    request = answers_set.get("/proxmox/answer?mac=" + answers_set.machine(1))
    slowest = 0.0
    with Client(server) as client:
        client.ask(request)
        answers_set.write_machine(root / "answers", 1, "edited.example.com")
        edited = time.monotonic()
        while (asked := time.monotonic()) < edited + 30:
            [(_, body)] = client.ask(request)
            slowest = max(slowest, time.monotonic() - asked)
            if b"edited.example.com" in body:
                return time.monotonic() - edited, slowest
            time.sleep(0.005)
    raise RuntimeError(f"an edit is not served; {server.said()}")


def loading(root: Path) -> bool:
    """Read a set in a process of its own. :returns: whether the floors are kept."""
    argv = [sys.executable, "-m", "bench.answers_load", str(root / "answers"), str(LOADED)]
    done = subprocess.run(argv, cwd=HERE.parent, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    if (figures["machines"], figures["problems"]) != (LOADED, 0):
        raise RuntimeError(f"read {figures}")
    fine = judged(f"first load of {LOADED} machines", "s ", figures["first"], FIRST_BAR)
    fine = judged("reload after one edit", "ms", figures["again"], AGAIN_BAR) and fine
    print(f"{'  where nothing is watched':<45} {figures['looking']:6.2f}")
    return fine


def measure(
    asked: Mapping[int, Mapping[str, Case]],
    scripts: Mapping[tuple[int, str], tuple[str, ...]],
    sets: Mapping[int, Server],
    beside: Sequence[Server],
    turn: int,
    results: dict[int, Results],
) -> None:
    """One round of everything; who comes first changes."""
    for case in asked[FEW]:
        samples: dict[str, Sample] = {}
        takers = [(size, server) for size, server in sets.items()]
        takers += [(FEW, each) for each in beside if each.name in asked[FEW][case].peers]
        first = turn % len(takers)
        own: dict[int, Sample] = {}
        for size, server in takers[first:] + takers[:first]:
            options = ("-d2", *scripts[size, case])
            sample = wrk(server, "/", options, asked[size][case].refused)
            if server.name == OURS:
                own[size] = sample
            else:
                samples[server.name] = sample
        for size, sample in own.items():
            columns = {OURS: sample, **samples}
            if size != FEW:
                columns[FEWER] = own[FEW]
            for name, each in columns.items():
                results[size].setdefault(case, {}).setdefault(name, []).append(each)
    for by_case in results.values():
        by_case[MERGED][PREPARED] = by_case[GET][OURS]


def bars(size: int) -> tuple[Bar, ...]:
    return BARS + (FEWER_BARS if size == MANY else ())


def kept(results: dict[int, Results]) -> bool:
    return all(
        ratio(by_case, bar, OURS) >= bar.floor
        for size, by_case in results.items()
        for bar in bars(size)
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.answers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of every case and server")
    rounds = int(parser.parse_args().rounds)
    end_on_request()
    missing = [each for each in ("nginx", "wrk") if shutil.which(each) is None]
    if missing:
        sys.exit(f"nothing to compare with: {', '.join(missing)} is not installed")
    results: dict[int, Results] = {size: {} for size in SIZES}
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="rescriptum-bench-", dir=memory) as directory:
        root = Path(directory)
        root.chmod(0o755)
        for size in SIZES:
            (root / str(size) / "answers").mkdir(parents=True)
            answers_set.write_set(root / str(size) / "answers", size)
        fine = loading(root / str(LOADED))
        asked = {size: cases(size) for size in SIZES}
        scripts = {
            (size, case): each.script(root, f"{size}-{number}")
            for size in SIZES
            for number, (case, each) in enumerate(asked[size].items())
        }
        with ExitStack() as running:
            sets = {size: ours(root / str(size), size) for size in SIZES}
            for size, server in sets.items():
                running.enter_context(server)
                answer = check(server, size, asked[size])
                rate = first_time(server, merged(answers_set.spread(size, ASKING)))
                print(f"{size} documents: {rate:.0f} machines a second ask for the first time")
                rate = first_time(server, in_new_words(asked[size][GET].requests))
                print(f"{size} documents: {rate:.0f} prepared answers a second to new words")
            for size, server in sets.items():
                seconds, slowest = served(server, root / str(size))
                fine = (
                    judged(f"{size} documents: edit until served", "s ", seconds, SERVED_BAR)
                    and fine
                )
                print(f"{'  slowest reply meanwhile':<45} {slowest * 1000:6.2f} ms")
            beside = peers(root, answer)
            for each in beside:
                running.enter_context(each)
            for turn in range(
                3 * rounds
            ):  # more of them where a floor is not kept: it may be noise
                measure(asked, scripts, sets, beside, turn, results)
                if turn % rounds == rounds - 1 and kept(results):
                    break
    for size, by_case in results.items():
        print(f"\n== {size} documents")
        fine = report(by_case, bars(size), OURS, "1/s ") and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
