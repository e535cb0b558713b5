"""An answer set of any size, and what the machines in it ask."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.fixtures import Recorded

#: Identities that the prepared group names.
MEMBERS = 500

_RECORDED = "bc:24:11:00:00:01"
_ANSWER = """\
# A rack of hypervisors.
[global]
keyboard = "en-us"
country = "at"
mailto = "root@example.com"
timezone = "Europe/Vienna"
root-password-hashed = "$6$rounds=500000$NotASalt$NotAHashNotAHashNotAHashNotAHashNotAHashNotAHash"
root-ssh-keys = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINotAKeyNotAKeyNotAKeyNotAKeyNotA admin@example.com",
]
fqdn = "{fqdn}"

[network]
source = "from-dhcp"
{network}
[disk-setup]
filesystem = "zfs"
zfs.raid = "raid1"
disk-list = ["sda", "sdb"]
"""
_FLEET = """filter.ID_NET_NAME_MAC = '*{{ mac | replace(":", "") | lower }}'\n"""


def address(prefix: str, number: int) -> str:
    """:returns: the address of one machine; ``prefix`` is its first two octets."""
    octets = number.to_bytes(4, "big").hex()
    return ":".join((prefix, octets[:2], octets[2:4], octets[4:6], octets[6:]))


def machine(number: int) -> str:
    return address("52:54", number)


def member(number: int) -> str:
    return address("bc:24", number)


def stranger(number: int) -> str:
    return address("02:00", number)


def directory(root: Path, number: int) -> Path:
    """Of one machine."""
    return root / machine(number).replace(":", "-")


def name(number: int) -> str:
    """What the document of one machine says beside what all of them share."""
    return f"n{number:06d}.example.com"


def write_machine(root: Path, number: int, fqdn: str) -> None:
    text = f'extends = "fleet"\n[global]\nfqdn = "{fqdn}"\n'
    (directory(root, number) / "proxmox.toml").write_text(text)


def write_set(root: Path, machines: int) -> None:
    """
    ``machines`` documents over the group ``fleet``, which has a placeholder; a group ``rack``
    that claims its members and has none; a default of another kind.
    """
    members = ", ".join(f'"{member(each)}"' for each in range(MEMBERS))
    rack = _ANSWER.format(fqdn="pve.example.com", network="")
    fleet = _ANSWER.format(fqdn="fleet.example.com", network=_FLEET)
    for path, text in (
        ("groups/rack/proxmox.toml", f"members = [{members}]\n{rack}"),
        ("groups/fleet/proxmox.toml", fleet),
        ("default/rhel.ks", "text\nreboot\n" + "# as long as the answer of a default\n" * 20),
    ):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text)
    for number in range(machines):
        directory(root, number).mkdir()
        write_machine(root, number, name(number))


def spread(machines: int, most: int) -> Sequence[int]:
    """:returns: the numbers of at most ``most`` machines, from all over the set."""
    return range(0, machines, max(1, machines // most))


def get(target: str) -> bytes:
    lines = f"GET {target} HTTP/1.1", "Host: 127.0.0.1:8000", "User-Agent: x", "Accept: */*"
    return "\r\n".join((*lines, "", "")).encode()


def posts(addresses: Iterable[str]) -> list[bytes]:
    """What Proxmox's installer posts, for each of its addresses."""
    recorded = Recorded.read("proxmox-ve-9.2").raw
    return [recorded.replace(_RECORDED.encode(), each.encode()) for each in addresses]
