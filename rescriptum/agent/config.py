"""``site.toml``, read once, to frozen values: every problem with its line, all of them at once."""

import difflib
import os
import re
import socket
import stat
import tomllib
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from pathlib import Path
from typing import TypeVar, cast

from attrs import frozen
from hyperlink import DecodedURL

from ..boot.offers import Preferences
from ..contract.pins import Pin
from ..errors import ConfigError
from ..values import Listen, Problem
from .settings import BY_PATH, KEYS, TABLES

_T = TypeVar("_T")

SITE_TOML = Path("/etc/rescriptum/site.toml")
#: Bytes of a file, and the widest mode that it may have.
LONGEST, WIDEST = 1 << 20, 0o640


@frozen
class AgentConfig:
    """
    What every agent runs on.

    :ivar gateway_server_name: that the gateway's certificate has to have.
    :ivar serving_ca_pins: any of them will do; none: the system's trust store decides.
    :ivar join_signing_pin: and ``join_encryption_pin``: None: the connection vouches for the key.
    """

    gateway_url: DecodedURL
    gateway_server_name: str
    site: str
    data_dir: Path
    log_format: str = "text"
    serving_ca_pins: tuple[Pin, ...] = ()
    join_signing_pin: Pin | None = None
    join_encryption_pin: Pin | None = None


@frozen
class Ramdisk:
    """Files that a machine boots to be worked on; those that are None are not there."""

    kernel: Path | None
    initrd: Path | None


@frozen
class BootConfig:
    """
    The boot server of a site agent.

    :ivar url: what machines reach it by; None: no image cache.
    :ivar interface: for DHCP; None: all of them.
    :ivar offers: strategies that were chosen. :ivar learn_offers: whether others are tried.
    :ivar tftp_root: None: no TFTP.
    :ivar loaders: by the tags of the architecture table, those that are not its own.
    """

    listen: Listen
    url: DecodedURL | None
    server_ip: IPv4Address | None
    proxy_dhcp: bool
    interface: str | None
    offers: Preferences
    learn_offers: bool
    tftp_listen: Listen
    tftp_root: Path | None
    x86_64: Ramdisk
    arm64: Ramdisk
    cmdline: str
    loaders: Mapping[str, str]


@frozen
class SiteConfig:
    """
    What a site agent runs on.

    :ivar cache_max_bytes: 0: no bound.
    :ivar boot: None: it serves no machines.
    """

    agent: AgentConfig
    bmc_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    cache_max_bytes: int = 0
    drivers_dir: Path | None = None
    boot: BootConfig | None = None


class _File:
    """
    A file, and what is wrong with it.

    :ivar given: text by dotted path; None: it cannot be read at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self._text = ""
        self.given = self._values()

    def wrong(self, key: str, text: str) -> None:
        line = self._line(key)
        source = f"{self.path}:{line}" if line is not None else str(self.path)
        self.problems.append(Problem(source, f"{key}: {text}"))

    def _values(self) -> dict[str, str] | None:
        try:
            with self.path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                data = file.read(LONGEST + 1)
            if mode & ~WIDEST:
                text = f"its mode is {mode:04o}; want 0640 or narrower: chmod 0640 {self.path}"
                self.problems.append(Problem(str(self.path), text))
            if len(data) > LONGEST:
                raise ValueError(f"larger than {LONGEST} bytes")
            self._text = data.decode("utf-8")
            tree = tomllib.loads(self._text)
        except OSError as e:
            self.problems.append(Problem(str(self.path), f"cannot be read: {e.strerror}"))
        except tomllib.TOMLDecodeError as e:
            self.problems.append(Problem(str(self.path), f"not TOML: {e}"))
        except (ValueError, RecursionError) as e:
            self.problems.append(Problem(str(self.path), f"cannot be read: {e}"))
        else:
            return self._flat(tree)
        return None

    def _flat(self, tree: dict[str, object]) -> dict[str, str]:
        if isinstance(tree.get("site"), str):
            tree["site"] = {"name": tree["site"]}
        found: dict[str, str] = {}
        for name, value in tree.items():
            if not isinstance(value, dict):
                self._put(found, name, value)
                continue
            if name not in TABLES and not value:
                self._unknown(name)
            for key, each in value.items():
                self._put(found, f"{name}.{key}", each)
        return found

    def _put(self, found: dict[str, str], path: str, value: object) -> None:
        if path not in BY_PATH:
            self._unknown(path)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            found[path] = ",".join(value)
        elif isinstance(value, bool | int | str):
            found[path] = str(value)
        else:
            self.wrong(path, "want a text, a number, true or false, or a list of texts")

    def _unknown(self, path: str) -> None:
        near = difflib.get_close_matches(path, BY_PATH, 1, 0.5)
        self.wrong(path, "no such key" + (f"; did you mean {near[0]}?" if near else ""))

    def _line(self, path: str) -> int | None:
        """:returns: where a key is, or its table, as far as one line tells."""
        table = ""
        for number, line in enumerate(self._text.splitlines(), 1):
            bare = re.sub(r"[\s\"']", "", line.partition("#")[0])
            if bare.startswith("["):
                table = bare.strip("[]")
                here = table
            else:
                key = bare.partition("=")[0]
                here = f"{table}.{key}" if table else key
            if here == path or (here, path) == ("site", "site.name"):
                return number
        return None


def read(path: Path, fake_hardware: bool = False) -> SiteConfig:
    """
    :param fake_hardware: a gateway may be reached without TLS: for tests.
    :raises ConfigError: with every problem there is, each with its file and line.
    """
    file = _File(path)
    if file.given is None:
        raise ConfigError(file.problems)
    given, values = file.given, dict[str, object]()
    for key in KEYS:
        text = given.get(key.path, key.default)
        values[key.path] = None
        if text is not None:
            try:
                values[key.path] = key.parse(text)
            except ValueError as e:
                file.wrong(key.path, str(e))
        elif key.required:
            file.wrong(key.path, f"missing: {key.help}")
    url = values["gateway_url"]
    if isinstance(url, DecodedURL) and url.scheme != "https" and not fake_hardware:
        file.wrong("gateway_url", "want https://: everything but fake hardware speaks TLS")
    _check_boot(values, given, file.wrong)
    if file.problems:
        raise ConfigError(file.problems)
    return _assembled(values)


def _check_boot(
    values: Mapping[str, object], given: Mapping[str, str], wrong: Callable[[str, str], None]
) -> None:
    """What each key allows and all of them together do not, or this machine does not."""
    if values["boot.proxy_dhcp"]:
        for key in ("boot.listen", "boot.url", "boot.server_ip"):
            if key not in given:
                wrong("boot.proxy_dhcp", f"needs {key} too")
    for one, other in (("kernel", "initrd"), ("initrd", "kernel")):
        for suffix in ("", "_arm64"):
            key, needed = f"boot.{one}{suffix}", f"boot.{other}{suffix}"
            found = values[key]
            if isinstance(found, Path):
                if not found.is_file():
                    wrong(key, f"no such file: {found}")
                if needed not in given:
                    wrong(key, f"needs {needed} too")
    for key in ("boot.tftp_root", "site.drivers_dir"):
        found = values[key]
        if isinstance(found, Path) and not found.is_dir():
            wrong(key, f"no such directory: {found}")
    root = values["boot.tftp_root"]
    for key, value in values.items():
        if key.startswith("boot.loader_") and value is not None:
            if not isinstance(root, Path):
                wrong(key, "needs boot.tftp_root too")
            elif not (root / str(value)).is_file():
                wrong(key, f"no such file: {root / str(value)}")
    address = values["boot.server_ip"]
    if isinstance(address, IPv4Address) and not _ours(address):
        wrong("boot.server_ip", f"{address} is no address of this host")


def _ours(address: IPv4Address) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def _assembled(values: Mapping[str, object]) -> SiteConfig:
    def get(path: str, kind: type[_T]) -> _T:
        return cast(_T, values[path])

    def maybe(path: str, kind: type[_T]) -> _T | None:
        return cast(_T | None, values[path])

    url = get("gateway_url", DecodedURL)
    agent = AgentConfig(
        url,
        maybe("gateway_server_name", str) or url.host,
        get("site.name", str),
        get("data_dir", Path),
        get("log_format", str),
        cast(tuple[Pin, ...], values["serving_ca_spki_pin"] or ()),
        maybe("join_signing_key_pin", Pin),
        maybe("join_encryption_key_pin", Pin),
    )
    return SiteConfig(
        agent,
        cast(tuple[IPv4Network | IPv6Network, ...], values["site.bmc_networks"]),
        get("site.cache_max_bytes", int),
        maybe("site.drivers_dir", Path),
        _boot(values, get("boot.listen", Listen)) if values["boot.listen"] is not None else None,
    )


def _boot(values: Mapping[str, object], listen: Listen) -> BootConfig:
    def path(key: str) -> Path | None:
        return cast(Path | None, values[f"boot.{key}"])

    prefix = "boot.loader_"
    return BootConfig(
        listen,
        cast(DecodedURL | None, values["boot.url"]),
        cast(IPv4Address | None, values["boot.server_ip"]),
        cast(bool, values["boot.proxy_dhcp"]),
        cast(str | None, values["boot.interface"]),
        cast(Preferences, values["boot.offers"]),
        cast(bool, values["boot.learn_offers"]),
        cast(Listen, values["boot.tftp_listen"]),
        path("tftp_root"),
        Ramdisk(path("kernel"), path("initrd")),
        Ramdisk(path("kernel_arm64"), path("initrd_arm64")),
        cast(str | None, values["boot.cmdline"]) or "",
        {
            key.removeprefix(prefix): str(value)
            for key, value in values.items()
            if key.startswith(prefix) and value is not None
        },
    )
