"""What is wrong with settings that are each right: beside each other, or on this machine."""

import grp
import os
import pwd
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path

from .boot.scripts import CONTRACT_PORT
from .settings import LONG_ENOUGH
from .sources import MAX_FILE, Value
from .values import Listen, Problem, Secret


def contradictions(values: Mapping[str, Value], parsed: Mapping[str, object]) -> list[Problem]:
    """
    :param parsed: the values of all settings by their variables; None: unset, or a problem.
    :returns: what each setting allows and all of them together do not, or this machine does not.
    """

    def given(variable: str) -> bool:
        return values[variable].given

    def at(variable: str, text: str) -> Problem:
        return Problem(values[variable].source, f"{variable}: {text}")

    found = []
    media, boot = parsed["RESCRIPTUM_MEDIA_DIR"], parsed["RESCRIPTUM_BOOT_DIR"]
    if given("RESCRIPTUM_MEDIA_ADDR") and media is None and boot is None:
        text = "nothing to serve there; set RESCRIPTUM_MEDIA_DIR or RESCRIPTUM_BOOT_DIR"
        found.append(at("RESCRIPTUM_MEDIA_ADDR", text))
    tftp = parsed["RESCRIPTUM_TFTP_ADDR"]
    if given("RESCRIPTUM_TFTP_ADDR") and tftp is not None and boot is None:
        text = "no loaders to hand over; set RESCRIPTUM_BOOT_DIR, or off here"
        found.append(at("RESCRIPTUM_TFTP_ADDR", text))
    answers, listen = parsed["RESCRIPTUM_LISTEN_ADDR"], parsed["RESCRIPTUM_MEDIA_ADDR"]
    if isinstance(answers, Listen) and isinstance(listen, Listen) and _clash(answers, listen):
        text = f"{listen} is taken by the answer listener on {answers}"
        found.append(at("RESCRIPTUM_MEDIA_ADDR", text))
    found += _of_admin(values, parsed, at)
    for name in ("RESCRIPTUM_BOOT_DIR", "RESCRIPTUM_MEDIA_DIR", "RESCRIPTUM_CAPTURE_DIR"):
        directory = parsed[name]
        if isinstance(directory, Path) and not os.path.isdir(directory):
            found.append(at(name, f"no such directory: {directory}"))
    logo = parsed["RESCRIPTUM_BOOT_LOGO"]
    if isinstance(logo, Path) and not (os.path.isfile(logo) and os.access(logo, os.R_OK)):
        found.append(at("RESCRIPTUM_BOOT_LOGO", f"no file that can be read: {logo}"))
    elif isinstance(logo, Path) and os.path.getsize(logo) > MAX_FILE:
        found.append(at("RESCRIPTUM_BOOT_LOGO", f"larger than {MAX_FILE} bytes: {logo}"))
    for one, other in (("CERT", "KEY"), ("KEY", "CERT")):
        if given(f"RESCRIPTUM_TLS_{one}") and not given(f"RESCRIPTUM_TLS_{other}"):
            found.append(at(f"RESCRIPTUM_TLS_{one}", f"needs RESCRIPTUM_TLS_{other} too"))
        pem = parsed[f"RESCRIPTUM_TLS_{one}"]
        # Whether it can be read is root's to know, when the server starts.
        if isinstance(pem, Path) and not os.path.isfile(pem):
            found.append(at(f"RESCRIPTUM_TLS_{one}", f"no such file: {pem}"))
    user, group = parsed["RESCRIPTUM_USER"], parsed["RESCRIPTUM_GROUP"]
    if isinstance(user, str) and not _exists(pwd.getpwnam, user):
        found.append(at("RESCRIPTUM_USER", f"no such user: {user}"))
    if isinstance(group, str) and not _exists(grp.getgrnam, group):
        found.append(at("RESCRIPTUM_GROUP", f"no such group: {group}"))
    if given("RESCRIPTUM_GROUP") and user is None:
        found.append(at("RESCRIPTUM_GROUP", "needs RESCRIPTUM_USER too"))
    return found


def _of_admin(
    values: Mapping[str, Value],
    parsed: Mapping[str, object],
    at: Callable[[str, str], Problem],
) -> list[Problem]:
    admin, token = parsed["RESCRIPTUM_ADMIN_ADDR"], parsed["RESCRIPTUM_ADMIN_TOKEN"]
    if not isinstance(admin, Listen):
        return []
    found = []
    if not values["RESCRIPTUM_ADMIN_TOKEN"].given:
        found.append(at("RESCRIPTUM_ADMIN_ADDR", "needs RESCRIPTUM_ADMIN_TOKEN too"))
    elif isinstance(token, Secret) and len(token) < LONG_ENOUGH:
        found.append(at("RESCRIPTUM_ADMIN_TOKEN", f"want {LONG_ENOUGH} characters or more"))
    others = {"answer": parsed["RESCRIPTUM_LISTEN_ADDR"]}
    if parsed["RESCRIPTUM_MEDIA_DIR"] is not None or parsed["RESCRIPTUM_BOOT_DIR"] is not None:
        others["media"] = parsed["RESCRIPTUM_MEDIA_ADDR"]
    for name, other in others.items():
        if isinstance(other, Listen) and _clash(admin, other):
            text = f"{admin} is taken by the {name} listener on {other}"
            found.append(at("RESCRIPTUM_ADMIN_ADDR", text))
    return found


def _exists(look_up: Callable[[str], object], name: str) -> bool:
    try:
        look_up(name)
    except KeyError:
        return False
    return True


def _clash(one: Listen, other: Listen) -> bool:
    """Whether both cannot be bound; port 0 is any free one, and ``::`` takes IPv4 too."""
    hosts = {one.host, other.host}
    if one.port != other.port or one.port == 0:
        return False
    v4 = not any(":" in each for each in hosts)
    return len(hosts) == 1 or "::" in hosts or ("0.0.0.0" in hosts and v4)


def cautions(values: Mapping[str, Value]) -> list[Problem]:
    """:returns: what works and is probably not meant."""
    found = []

    def caution(name: str, text: str) -> None:
        found.append(Problem(values[name].source, text))

    if not (values["RESCRIPTUM_MEDIA_ADDR"].text or "").endswith(f":{CONTRACT_PORT}"):
        text = f"loaders look for scripts on port {CONTRACT_PORT} of this server"
        caution("RESCRIPTUM_MEDIA_ADDR", text)
    for name in ("RESCRIPTUM_ANSWER_TOKEN", "RESCRIPTUM_INSTALLED_TOKEN"):
        token = values[name].text
        if token is not None and len(token) < LONG_ENOUGH:
            caution(name, f"{name}: fewer than {LONG_ENOUGH} characters can be guessed")
    admin = values["RESCRIPTUM_ADMIN_ADDR"].text
    if admin is not None and values["RESCRIPTUM_TLS_CERT"].text is None and not _loopback(admin):
        text = "RESCRIPTUM_ADMIN_ADDR: without TLS the network can read the token"
        caution("RESCRIPTUM_ADMIN_ADDR", text)
    return found


def _loopback(listen: str) -> bool:
    """Whether only this machine can connect; what is no address is a problem, told elsewhere."""
    try:
        return ip_address(Listen.parse(listen).host).is_loopback
    except ValueError:
        return True
