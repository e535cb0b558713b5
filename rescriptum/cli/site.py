"""``rescriptum site``: what the site agent on this host says of itself."""

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, TextIO

from ..config import Reading
from ..errors import Unavailable
from ..values import printable
from .drivers import DriversOptions
from .options import Command, Group

#: Seconds for the agent to answer, and bytes of its answer.
PATIENCE, LONGEST = 10, 4 << 20

Fields = dict[str, Any]


class _Local(http.client.HTTPConnection):
    """HTTP over a UNIX socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(str(self._path))


def status(path: Path) -> Fields:
    """
    :param path: of the agent's socket.
    :raises Unavailable: when nobody answers there.
    """
    connection = _Local(path)
    try:
        connection.request("GET", "/status")
        reply = connection.getresponse()
        told = json.loads(reply.read(LONGEST))
    except (FileNotFoundError, ConnectionRefusedError):
        raise Unavailable(f"no site agent runs: nobody listens on {path}") from None
    except PermissionError:
        raise Unavailable(f"{path}: only its owner, or root, may ask") from None
    except (OSError, http.client.HTTPException, ValueError) as e:
        raise Unavailable(f"{path}: {e}") from None
    finally:
        connection.close()
    if reply.status != 200 or not isinstance(told, dict):
        raise Unavailable(f"{path}: answers {reply.status}")
    return told


def as_text(told: Fields) -> str:
    """:returns: for people."""
    return "".join(f"{printable(line)}\n" for line in _lines(told))


def _lines(told: Fields) -> Iterator[str]:
    session, journal = told["session"], told["journal"]
    name = f" ({session['name']})" if session["name"] else ""
    yield f"site      {told['site']}, node {told['node_id'] or '- (not joined)'}"
    yield f"gateway   {told['gateway']}"
    yield f"session   {session['state']}{name}"
    yield f"lease     {_lease(told['lease'])}"
    if told["late_answers"]:
        yield f"          {told['late_answers']} answers left as the fence closed"
    version = told["desired_version"]
    yield f"desired   {'nothing yet' if version is None else f'version {version}'}"
    if journal is not None:
        yield f"journal   {_journal(journal)}"
    if session["trouble"]:
        yield f"trouble   {session['trouble']}"
    for each in told["sections"]:
        reason = f": {each['reason']}" if each["reason"] else ""
        yield f"section   {each['name']} {each['state']}{reason}"
        yield from _boot(each["detail"])


def _boot(detail: Fields) -> Iterator[str]:
    """Of the site section, where there is a boot server."""
    parts, cache = detail.get("boot"), detail.get("cache")
    if isinstance(parts, dict):
        said = (
            f"{name} {each['state']}{': ' + each['reason'] if each['reason'] else ''}"
            for name, each in parts.items()
        )
        yield f"boot      {', '.join(said)}; {detail['discovered']} machines discovered"
    if isinstance(detail.get("dhcp"), dict):
        yield from _dhcp(detail["dhcp"])
    if isinstance(cache, dict) and "ready" in cache:
        budget = f" of {cache['budget']}" if cache["budget"] else ""
        yield (
            f"cache     {cache['ready']} images, {cache['bytes']}{budget} bytes;"
            f" {cache['pulling']} on their way, {cache['failed']} failed"
        )
        for each in cache["troubles"]:
            yield f"          {each['sha256'][:12]}: {each['code']}: {each['reason']}"


def _dhcp(detail: Fields) -> Iterator[str]:
    """What machines have taught the agent, and which servers are in its way."""
    learnt, foreign = detail["learnt"], detail["foreign"]
    for each in learnt:
        kind = f" ({each['architecture']})" if each["architecture"] else ""
        yield (
            f"learnt    {each['mac']}{kind} takes offers by {each['strategy']};"
            f" {each['mac']}={each['strategy']} in [boot] offers makes that last"
        )
    if detail["learnt_of"] > len(learnt):
        yield f"          and {detail['learnt_of'] - len(learnt)} more machines before these"
    for each in foreign:
        yield f"foreign   {each['server']} {each['code']}: {each['reason']}; {each['cure']}"
    if detail["foreign_of"] > len(foreign):
        yield f"          and {detail['foreign_of'] - len(foreign)} more before these"


def _lease(lease: Fields) -> str:
    if not lease["epoch"]:
        return "standby"
    if lease["heard_ms_ago"] is None:
        return f"not active, epoch {lease['epoch']}: not proved yet"
    state = "active" if lease["active"] else "not active"
    return f"{state}, epoch {lease['epoch']}, proved {lease['heard_ms_ago'] / 1000:.1f} s ago"


def _journal(journal: Fields) -> str:
    if "trouble" in journal:
        return str(journal["trouble"])
    return (
        f"{journal['waiting']} commands to be run, {journal['unacknowledged']} results to be told"
    )


class StatusOptions(Command):
    """``site status``."""

    synopsis = "Usage: rescriptum site status [--config FILE | --data-dir DIR] [--json]"
    longdesc = "The agent's session, boot lease, sections and journal. Exit code 1: none runs."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["config", "c", None, "The agent's TOML file (/etc/rescriptum/site.toml)."],
        ["data-dir", "d", None, "Its data directory, where that file cannot be read."],
    ]
    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        from ..roles.site import SOCKET

        told = status(self._directory() / SOCKET)
        out.write(json.dumps(told, indent=2) + "\n" if self["json"] else as_text(told))
        return 0

    def _directory(self) -> Path:
        from ..agent.config import SITE_TOML, read

        if self["data-dir"] is not None:
            return Path(self["data-dir"])
        named = Path(self["config"] or SITE_TOML)
        return read(named, fake_hardware=True).agent.data_dir


class SiteOptions(Group):
    """The group."""

    synopsis = "Usage: rescriptum site COMMAND [options]"
    longdesc = "The site agent on this host; 'twistd -n rescriptum site' is the agent itself."
    subCommands: ClassVar[list[list[object]]] = [
        ["status", None, StatusOptions, "What the agent says of itself."],
        ["drivers", None, DriversOptions, "Programs by which it asks BMCs without Redfish."],
    ]
