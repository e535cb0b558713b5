"""What a gateway has in its data directory, and what of it agents have to know."""

from datetime import datetime
from pathlib import Path
from typing import Final

from ..contract.joining import TrustBundle
from ..contract.keys import public_keys
from ..contract.refusals import Rejected
from ..errors import ConfigError
from ..net.keyfiles import KeyFiles
from ..values import Problem
from .api.shapes.gateway import Pins
from .authority import chain_pin
from .config import Config
from .keyring import Keyring
from .signing import Worker

#: What a command root has signed of this gateway's worker key; beside the keys.
CERTIFICATE: Final = "worker-certificate.jws"


def prepared(config: Config, now: datetime) -> tuple[Keyring, KeyFiles]:
    """
    Make directories and keys at the first start, and read them at every other one. It blocks.

    :raises ConfigError: for what an operator has to mend.
    """
    if not config.data_dir.is_dir():
        KeyFiles(config.data_dir).open()
    files = KeyFiles(config.keys_dir)
    files.open()
    with files.held():
        return Keyring.open(files, now), files


def pins(config: Config, keyring: Keyring, name: str) -> Pins:
    """
    :param name: of this gateway, for people.
    :returns: what agents pin; of a certificate that the operator brings, its CA's, or nothing where
        no CA is sent: then the agents' trust store decides.
    :raises ConfigError: for a certificate that cannot be read.
    """
    told = dict(keyring.pins())
    if config.own is not None:
        told["serving_ca_spki_pin"] = _brought(config.own[0])
    return Pins(name, **told)


def _brought(certificate: Path) -> str:
    try:
        return chain_pin(certificate.read_bytes()) or ""
    except OSError as e:
        raise ConfigError([Problem(str(certificate), e.strerror or str(e))]) from e
    except ValueError as e:
        raise ConfigError([Problem(str(certificate), str(e))]) from e


def worker(files: KeyFiles, keyring: Keyring, bundle: TrustBundle) -> Worker | None:
    """
    Who signs commands here. It blocks.

    :param bundle: whom agents take commands from.
    :returns: None: agents know no command roots, and take them unsigned.
    :raises Rejected: where they know some, and none of them has certified this gateway.
    :raises ConfigError: for a certificate that cannot be read.
    """
    if not bundle.command_roots:
        return None
    text = files.read(CERTIFICATE)
    if text is None:
        raise Rejected("unsigned", f"there is no {files.path / CERTIFICATE} of a command root")
    certificate = text.decode("ascii", "replace").strip()
    return Worker.certified(
        keyring.worker, certificate, public_keys(bundle.command_roots, "Ed25519")
    )
