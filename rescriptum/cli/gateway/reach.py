"""How a command reaches the gateway: from its options, the environment, and a small file."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from attrs import field, frozen

from ...errors import ConfigError
from ...values import Problem

TOKEN: Final = "RESCRIPTUM_GATEWAY_TOKEN"
URL: Final = "RESCRIPTUM_GATEWAY_URL"
FILE: Final = "RESCRIPTUM_GATEWAY_CLIENT"
#: Bytes of a file.
_LONGEST: Final = 64 * 1024
_KEYS: Final = ("url", "token", "pins", "server_name")


@frozen
class Reach:
    """
    :ivar url: of the gateway, without ``/api/v1``.
    :ivar token: of an operator. :ivar pins: of serving CAs; none: the system's trust store decides.
    :ivar server_name: that its certificate has.
    """

    url: str
    token: str = field(repr=False)
    pins: tuple[str, ...] = ()
    server_name: str = ""


def client_file(environ: Mapping[str, str]) -> Path:
    """:returns: where ``rescriptum gateway init`` writes down how its gateway is reached."""
    if environ.get(FILE):
        return Path(environ[FILE])
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/root"), ".config")
    return Path(base) / "rescriptum" / "client.toml"


def reached(
    environ: Mapping[str, str],
    url: str | None = None,
    token_file: str | None = None,
    pin: str | None = None,
    server_name: str | None = None,
) -> Reach:
    """
    :param url: and the others: as options gave them, over the environment, over the file.
    :raises ConfigError: saying what is missing, and how to give it.
    """
    path = client_file(environ)
    kept = _kept(path)
    # What the file says of one gateway says nothing of another one.
    found = url or environ.get(URL) or kept.get("url")
    if found != kept.get("url"):
        kept = {}
    token = _token(token_file) if token_file else environ.get(TOKEN, "").strip()
    token = token or str(kept.get("token", ""))
    problems = []
    if not found:
        text = f"which gateway? give --gateway URL, or set {URL}; on its own host 'rescriptum"
        problems.append(Problem("gateway", f"{text} gateway init' writes {path}"))
    elif not _is_address(str(found)):
        problems.append(Problem("gateway", f"want https://HOST:PORT, not {str(found)[:200]!r}"))
    if not token:
        text = f"no operator's token: give --token-file FILE, or set {TOKEN}"
        problems.append(Problem("gateway", text))
    elif not (token.isascii() and token.isprintable() and " " not in token):
        problems.append(Problem("gateway", "the token is not one line of printable ASCII"))
    if problems:
        raise ConfigError(problems)
    pins = (pin,) if pin else tuple(str(each) for each in _list(kept.get("pins")))
    name = server_name or str(kept.get("server_name", "")) or urlsplit(str(found)).hostname or ""
    return Reach(str(found).rstrip("/"), token, pins, name)


def written(reach: Reach) -> str:
    """:returns: the file that :func:`reached` reads: it holds the token."""
    pins = ", ".join(f'"{each}"' for each in reach.pins)
    return (
        "# How 'rescriptum gateway' reaches the gateway. It holds an operator's token: mode 0600.\n"
        f'url = "{reach.url}"\ntoken = "{reach.token}"\npins = [{pins}]\n'
        f'server_name = "{reach.server_name}"\n'
    )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        sound = parts.port is None or parts.port > 0
    except ValueError:  # no port, or no address between brackets
        return False
    plain = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username)
    return parts.scheme == "https" and bool(parts.hostname) and sound and plain and url.isascii()


def _kept(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(_LONGEST)
    except FileNotFoundError:
        return {}
    except OSError as e:
        raise ConfigError([Problem(str(path), f"cannot be read: {e.strerror}")]) from None
    if mode & 0o077:
        text = f"others can read the token in it (mode {mode & 0o777:04o}); want 0600"
        raise ConfigError([Problem(str(path), text)])
    try:
        found = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):  # what is wrong may be the token
        raise ConfigError([Problem(str(path), "not TOML")]) from None
    unknown = sorted(found.keys() - set(_KEYS))
    if unknown:
        text = f"no such key: {unknown[0]!r}; known are {', '.join(_KEYS)}"
        raise ConfigError([Problem(str(path), text)])
    return found


def _token(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            token = file.read(4096).strip()
    except OSError as e:
        raise ConfigError([Problem(path, f"cannot be read: {e.strerror}")]) from None
    except UnicodeDecodeError:
        raise ConfigError([Problem(path, "not a token: not UTF-8")]) from None
    if not token:
        raise ConfigError([Problem(path, "there is no token in it")])
    return token


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
