"""What a secret of the gateway says of who asks a BMC."""

import json
from typing import Final

from ..contract.bmc import BmcRefusal
from ..values import Secret
from .driver import Credential

#: Characters of a user name and of a password.
LONGEST: Final = 512


def credential(secret: Secret, username: str, ref: str) -> Credential:
    """
    :param secret: ``{"username": …, "password": …}``, or a bare password.
    :param username: of a bare password. :param ref: what the secret is called.
    :raises BmcRefusal: ``invalid-config`` for anything else; it says nothing of what it holds.
    """
    text = secret.reveal()
    if text.lstrip().startswith("{"):
        made = _document(text)
        if made is None:
            raise BmcRefusal(
                "invalid-config",
                f"secret {ref}: want a bare password, or JSON with username and password alone",
            )
        name, password = made
    else:
        # What ends a line in a file or an editor is never a part of a password.
        name, password = username, text.rstrip("\r\n")
    if not password or max(len(name), len(password)) > LONGEST:
        raise BmcRefusal("invalid-config", f"secret {ref}: want 1 to {LONGEST} characters")
    return Credential(name, Secret(password))


def _document(text: str) -> tuple[str, str] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.keys() != {"username", "password"}:
        return None
    name, password = found["username"], found["password"]
    return (name, password) if isinstance(name, str) and isinstance(password, str) else None
