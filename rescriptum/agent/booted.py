"""What a ramdisk's kernel was told: the configuration of its agent, and of what it installs."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import tomlkit
from attrs import field, frozen
from hyperlink import DecodedURL

from .. import parsing
from ..boot.bootparams import BootParameters
from ..contract.keys import pin, public_key
from ..contract.pins import Pin
from ..contract.refusals import Rejected
from ..contract.structure import parsed
from ..errors import ConfigError, Malformed
from ..values import Problem
from .config import AgentConfig
from .settings import DATA_DIR, name, pins, url

_T = TypeVar("_T")

#: Where an installed system's agent finds what it joins by.
INSTALLED_CONFIG, INSTALLED_KEY = "config.toml", "join-encryption.jwk"
#: Bytes of a kernel's command line: more than any kernel takes.
LONGEST: Final = 8192


@frozen
class Booted:
    """
    :ivar agent: of this boot. :ivar token: and ``assertion``: what it joins by.
    :ivar jwk: the gateway's key that tokens are sealed to, as JSON.
    :ivar mac: that it booted from. :ivar cache: where the site's images are; None: nowhere.
    """

    agent: AgentConfig
    token: str = field(repr=False)
    assertion: str = field(repr=False)
    jwk: bytes
    mac: str
    cache: DecodedURL | None = field(repr=False)


def booted(line: str, source: str, data_dir: Path, fake_hardware: bool = False) -> Booted:
    """
    :param line: of the kernel. :param source: where it was read, for people.
    :param fake_hardware: the gateway may be reached without TLS: for tests.
    :raises ConfigError: with everything that is missing or cannot be right.
    """
    problems: list[Problem] = []
    try:
        said = BootParameters.parse(line)
    except Malformed as e:
        raise ConfigError([Problem(source, str(e))]) from None
    problems += [Problem(source, f"{each} is missing") for each in said.missing]

    def read(argument: str, parse: Callable[[str], _T], text: str) -> _T | None:
        try:
            return parse(text) if text else None
        except ValueError as e:
            problems.append(Problem(source, f"bc.{argument}: {e}"))
            return None

    gateway = read("gateway", url, said.gateway)
    server_name = read("server_name", parsing.host, said.server_name)
    if gateway is not None and gateway.scheme != "https" and not fake_hardware:
        problems.append(Problem(source, "bc.gateway: want https://"))
    site = read("site", name, said.site)
    authorities = read("serving_ca_pin", pins, said.serving_ca_pin)
    signing = read("join_signing_pin", Pin.parse, said.join_signing_pin)
    encryption = read("join_encryption_pin", Pin.parse, said.join_encryption_pin)
    cache = read("cache", url, said.cache)
    if problems or gateway is None or site is None:
        raise ConfigError(problems)
    agent = AgentConfig(
        gateway,
        server_name or gateway.host,
        site,
        data_dir,
        "json",
        authorities or (),
        signing,
        encryption,
    )
    return Booted(agent, said.token, said.assertion, said.jwk, said.mac, cache)


def sealing_pin(jwk: bytes, wanted: Pin | None) -> Pin:
    """
    :param jwk: the key that tokens are sealed to, as the kernel was told it.
    :param wanted: its pin, where the kernel was told that too.
    :returns: the key's own: no other key of a gateway gets the token.
    :raises Rejected: ``pin-mismatch``, ``invalid-key``.
    """
    shown = Pin.parse(pin(public_key(parsed(jwk), "X25519")))
    if wanted is not None and not wanted.matches(shown):
        raise Rejected("pin-mismatch", f"bc.jwk is {shown}, and bc.join_encryption_pin {wanted}")
    return shown


def installed(config: AgentConfig) -> bytes:
    """:returns: ``config.toml`` of the system that is installed: it joins by a token alone."""
    document: dict[str, object] = {
        "gateway_url": config.gateway_url.to_text(),
        "gateway_server_name": config.gateway_server_name,
        "site": config.site,
        "data_dir": DATA_DIR,
    }
    if config.serving_ca_pins:
        document["serving_ca_spki_pin"] = [str(each) for each in config.serving_ca_pins]
    for key, each in (
        ("join_signing_key_pin", config.join_signing_pin),
        ("join_encryption_key_pin", config.join_encryption_pin),
    ):
        if each is not None:
            document[key] = str(each)
    text = f"# Written by the ramdisk that installed this system.\n{tomlkit.dumps(document)}"
    return text.encode()
