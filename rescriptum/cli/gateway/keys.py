"""``rescriptum gateway keys``: roots, workers and approvers; none of it asks the gateway."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO

from twisted.python.usage import UsageError

from ...config import Reading
from ...errors import ConfigError
from ...values import Problem, printable
from ..options import Command as CommandLine
from ..options import Group
from .keyfiles import DATA_DIR, KEYS, content, keep, private, public, worker

if TYPE_CHECKING:
    from ...contract.commands import Command
    from ...contract.keys import Key
    from ...contract.structure import JSON

#: Of a certificate that says nothing else.
DAYS = 30


def publicly(key: "Key") -> "JSON":
    """:returns: what may be shown of a key."""
    from ...contract.keys import pin, public_jwk

    return {"thumbprint": key.thumbprint(), "pin": pin(key), "jwk": public_jwk(key)}


def told(fields: "JSON", as_json: object, out: TextIO) -> int:
    """Say ``fields``. :returns: the exit code."""
    if as_json:
        out.write(json.dumps(fields, indent=2) + "\n")
        return 0
    for name, value in fields.items():
        text = json.dumps(value) if isinstance(value, dict) else str(value)
        out.write(f"{name:<11} {text}\n")
    return 0


class _KeyCommand(CommandLine):
    """What needs the packages that sign."""

    optFlags: ClassVar[list[list[str | None]]] = [["json", "j", "For programs."]]

    def perform_reading(self, reading: Reading, out: TextIO, err: TextIO) -> int:
        from ...contract.refusals import Rejected

        try:
            return self._perform(out)
        except Rejected as e:
            raise ConfigError([Problem("keys", str(e))]) from None

    def _perform(self, out: TextIO) -> int:
        raise NotImplementedError

    def _needs(self, *names: str) -> None:
        missing = [f"--{name}" for name in names if not self[name]]
        if missing:
            raise UsageError(f"missing: {', '.join(missing)}")


class NewOptions(_KeyCommand):
    """``keys new``."""

    synopsis = "Usage: rescriptum gateway keys new root|approver --out FILE [--json]"
    longdesc = (
        "Make a key on this host: of a command root, which certifies workers, or of an approver,"
        " who agrees to what destroys. Its file has mode 0600, and nothing else has the private"
        " half: keep it offline, and a copy of it."
    )
    optParameters: ClassVar[list[list[str | None]]] = [["out", "o", None, "The file to make."]]

    def parseArgs(self, what: str) -> None:  # type: ignore[override]
        if what not in ("root", "approver"):
            raise UsageError("make what? root or approver")

    def postOptions(self) -> None:
        self._needs("out")

    def _perform(self, out: TextIO) -> int:
        from ...contract.keys import dumped, generate

        key = generate("Ed25519")
        keep(self["out"], dumped(key))
        return told(publicly(key), self["json"], out)


class ShowOptions(_KeyCommand):
    """``keys show``."""

    synopsis = "Usage: rescriptum gateway keys show FILE [--json]"
    longdesc = "The public half of a key: its thumbprint, its pin, and the JWK that others need."

    def parseArgs(self, file: str) -> None:  # type: ignore[override]
        self["file"] = file

    def _perform(self, out: TextIO) -> int:
        return told(publicly(public(self["file"])), self["json"], out)


class WorkerOptions(_KeyCommand):
    """``keys worker``."""

    synopsis = "Usage: rescriptum gateway keys worker [--data-dir DIR] [--json]"
    longdesc = (
        "The public half of the key that this host's gateway signs commands with: the JWK is what"
        " a command root certifies."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["data-dir", "d", DATA_DIR, "Of the gateway."],
    ]

    def _perform(self, out: TextIO) -> int:
        return told(publicly(worker(self["data-dir"])), self["json"], out)


class CertifyOptions(_KeyCommand):
    """``keys certify``."""

    synopsis = (
        "Usage: rescriptum gateway keys certify --root FILE --worker FILE --out FILE"
        " [--kinds KIND,…] [--days N]"
    )
    longdesc = (
        "Sign, with a command root, that a worker may sign commands: of these kinds, for so many"
        " days. Few days and few kinds: nothing takes a certificate back before it ends. Bring"
        " the file to the gateway's host, and 'rescriptum gateway keys install' it."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["root", None, None, "The command root's private key."],
        ["worker", None, None, "The worker's public JWK, as 'keys worker --json' tells it."],
        ["kinds", None, None, "Kinds of commands; without it, all that there are."],
        ["days", None, str(DAYS), "How long it is valid, up to 90."],
        ["out", "o", None, "The file to make."],
    ]

    def postOptions(self) -> None:
        self._needs("root", "worker", "out")
        if not (self["days"].isascii() and self["days"].isdigit()):
            raise UsageError(f"--days: not a number: {self['days']!r}")

    def _perform(self, out: TextIO) -> int:
        from ...contract.keys import public_jwk
        from ...contract.kinds import KINDS
        from ...gateway.statements import certificate

        kinds = [each for each in (self["kinds"] or "").split(",") if each] or list(KINDS)
        unknown = sorted(set(kinds) - KINDS.keys())
        if unknown:
            known = ", ".join(KINDS)
            text = f"no such kind: {', '.join(unknown)}; there are {known}"
            raise ConfigError([Problem("--kinds", text)])
        jwk: JSON = dict(public_jwk(public(self["worker"])))
        days = int(self["days"])
        text = certificate(private(self["root"]), jwk, kinds, int(time.time()), days * 86_400)
        keep(self["out"], text.encode("ascii") + b"\n")
        out.write(f"{self['out']}: valid for {days} days, for {len(set(kinds))} kinds\n")
        return 0


class InstallOptions(_KeyCommand):
    """``keys install``."""

    synopsis = "Usage: rescriptum gateway keys install FILE [--data-dir DIR]"
    longdesc = (
        "Put a worker's certificate beside this host's gateway's keys; a running gateway takes it"
        " up within half a minute."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["data-dir", "d", DATA_DIR, "Of the gateway."],
    ]

    def parseArgs(self, file: str) -> None:  # type: ignore[override]
        self["file"] = file

    def _perform(self, out: TextIO) -> int:
        from ...contract.commands import WorkerCertificate
        from ...contract.jose import unverified
        from ...contract.keys import public_key
        from ...contract.structure import structured
        from ...gateway.store import CERTIFICATE
        from ...net.keyfiles import KeyFiles

        text = content(self["file"]).decode("ascii", "replace").strip()
        said = structured(WorkerCertificate, unverified("worker", text))
        own = worker(self["data-dir"])
        if public_key(said.jwk, "Ed25519").thumbprint() != own.thumbprint():
            raise ConfigError([Problem(self["file"], "certifies the worker of another gateway")])
        directory = Path(self["data-dir"]) / KEYS
        KeyFiles(directory).write(CERTIFICATE, text.encode("ascii") + b"\n")
        out.write(f"{directory / CERTIFICATE}: {len(said.kinds)} kinds\n")
        return 0


class SignOptions(_KeyCommand):
    """``keys sign``."""

    synopsis = "Usage: rescriptum gateway keys sign BATCH.json --key FILE --out FILE"
    longdesc = (
        "Sign an approval where the approver's key is, perhaps offline: of every command of the"
        " batch as 'rescriptum gateway batch show ID --json' told it, which is shown before. Hand"
        " it in by 'rescriptum gateway approve BATCH --file FILE'."
    )
    optParameters: ClassVar[list[list[str | None]]] = [
        ["key", "k", None, "The approver's private key."],
        ["out", "o", None, "The file to make."],
    ]

    def parseArgs(self, file: str) -> None:  # type: ignore[override]
        self["file"] = file

    def postOptions(self) -> None:
        self._needs("key", "out")

    def _perform(self, out: TextIO) -> int:
        from ...contract.structure import parsed
        from ...gateway.statements import approval

        found = parsed(content(self["file"]))
        commands = found.get("commands") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(commands, list):
            raise ConfigError([Problem(self["file"], "not a batch: it has no commands")])
        wanted = waiting(commands)
        out.writelines(f"{line}\n" for line in described(wanted.values()))
        text = approval(private(self["key"]), str(found.get("id")), wanted, int(time.time()))
        keep(self["out"], text.encode("ascii") + b"\n")
        out.write(f"{self['out']}: approves {len(wanted)} commands of {found.get('id')}\n")
        return 0


def waiting(commands: Iterable[object]) -> "dict[str, Command]":
    """
    :param commands: of a batch, as a gateway told them.
    :returns: those that wait for approval, by their digests, as they really are: read from the
        very text that the digest is of. Nothing else that a gateway says of them is believed.
    :raises ConfigError: where that is another text: the gateway is not to be trusted.
    """
    from ...contract.commands import Command
    from ...contract.jose import digest
    from ...contract.refusals import Rejected
    from ...contract.structure import parsed, structured

    found = {}
    for each in commands:
        if not isinstance(each, dict) or each.get("state") != "waiting":
            continue
        text = str(each.get("claims", "")).encode("utf-8", "replace")
        if digest(text) != each.get("digest"):
            name = str(each.get("id"))
            told = "the gateway tells another text than the digest is of: do not approve it"
            raise ConfigError([Problem(name, told)])
        try:
            found[digest(text)] = structured(Command, parsed(text))
        except Rejected as e:
            raise ConfigError([Problem(str(each.get("id")), f"no command: {e}")]) from None
    return found


def described(commands: "Iterable[Command]") -> Iterable[str]:
    """:returns: for people, what each of them would do."""
    for each in commands:
        payload = json.dumps(each.payload, sort_keys=True)
        yield printable(f"{each.kind} on {each.node_id}: {payload}")


class KeysOptions(Group):
    """The group."""

    synopsis = "Usage: rescriptum gateway keys new|show|worker|certify|install|sign"
    longdesc = (
        "Keys of command roots, workers and approvers. Nothing of this asks the gateway, and the"
        " private half of a root or an approver never has to be on its host."
    )
    subCommands: ClassVar[list[list[object]]] = [
        ["new", None, NewOptions, "Make the key of a root or an approver."],
        ["show", None, ShowOptions, "The public half of a key."],
        ["worker", None, WorkerOptions, "The public half of this gateway's worker."],
        ["certify", None, CertifyOptions, "Let a worker sign, with a root's key."],
        ["install", None, InstallOptions, "Put a worker's certificate where it is used."],
        ["sign", None, SignOptions, "Approve a batch, with an approver's key."],
    ]
