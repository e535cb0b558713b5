"""The tables and schemas of the protocol page, made from the contract: ``make reference``."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..contract import bounds, commands, frames, joining, jose, sessions, structure
from ..contract import reports as reporting
from ..contract import specs as specifying
from ..contract.kinds import KINDS
from ..contract.refusals import REFUSALS
from ..contract.schema import agent_frames, schema, server_frame
from ..contract.structure import JSON
from .reference import table

#: Where what is made stands in the page.
_BLOCK = re.compile(r"(<!-- made: (\w+)(?: (\w+))? -->\n).*?(<!-- end -->\n)", re.DOTALL)

#: Messages that travel, or are signed or sealed: each has a schema of its own.
MESSAGES: Final[tuple[type, ...]] = (
    joining.Keys,
    joining.JoinToken,
    joining.Joining,
    joining.JoinRequest,
    joining.JoinAnswer,
    joining.Joined,
    joining.Assertion,
    sessions.Hello,
    sessions.SessionRequest,
    sessions.Welcome,
    frames.Accepted,
    commands.Envelope,
    commands.Command,
    commands.WorkerCertificate,
    commands.Approval,
    commands.AttestedResult,
    sessions.SecretRequest,
    sessions.SecretAnswer,
    specifying.NodeSpec,
    reporting.StatusReport,
    sessions.Problem,
)
_FRAMES: Final[Mapping[str, Callable[[], JSON]]] = {
    "ServerFrame": server_frame,
    "AgentFrame": agent_frames,
}
_KIND: Final = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}

_BOUNDS: Final = (
    ("bytes of a JSON document, of either side", structure.LONGEST_DOCUMENT),
    ("values in such a document", structure.VALUES),
    ("bytes of a line of the stream", structure.LONGEST_FRAME),
    ("agent frames in one request", frames.FRAMES),
    ("status frames among them", frames.STATUSES),
    ("characters of a signed or sealed message", jose.LONGEST),
    ("bytes of a command's claims", commands.LONGEST_COMMAND),
    ("bytes of a result", commands.LONGEST_RESULT),
    ("characters of a name", bounds.NAME),
    ("characters of a sentence", bounds.SENTENCE),
    ("elements of a list that has no bound of its own", bounds.MANY),
    ("the largest whole number", bounds.LARGEST),
    ("seconds between the clocks at a join and a Hello", joining.SKEW),
    ("seconds for which a Hello's nonce is remembered", sessions.NONCES_KEPT),
    ("seconds that a command may live", commands.LONGEST_LIFE),
    ("seconds that a worker's certificate may live", commands.LONGEST_CERTIFICATE),
    ("seconds of clock skew for signed documents", commands.SKEW),
)


def schemas() -> dict[str, str]:
    """:returns: ``docs/schemas``: by file name, what is in it."""
    made: dict[str, JSON] = {each.__name__: schema(each) for each in MESSAGES}
    made |= {name: make() for name, make in _FRAMES.items()}
    return {f"{name}.json": json.dumps(each, indent=1) + "\n" for name, each in made.items()}


def filled(page: str) -> str:
    """:returns: the page, with what stands between its marks made anew."""
    return _BLOCK.sub(lambda found: found[1] + _made(found[2], found[3]) + found[4], page)


def types() -> dict[str, type]:
    """:returns: by name: every message, and every part of one."""
    rooms = (joining, sessions, commands, reporting, specifying, frames)
    return {
        name: value
        for room in rooms
        for name, value in vars(room).items()
        if isinstance(value, type) and hasattr(value, "__attrs_attrs__")
    }


def _made(what: str, name: str | None) -> str:
    if what == "fields":
        assert name is not None
        return _fields(name)
    return {"refusals": _refusals, "kinds": _kinds, "bounds": _bounds}[what]()


def _fields(name: str) -> str:
    found: Any = schema(types()[name])
    needed = found.get("required", ())
    parts = found.get("$defs", {})
    rows = []
    for field, said in found["properties"].items():
        default = "" if field in needed else f"`{json.dumps(said['default'])}`"
        told = said.get("description", "").replace("None:", "null:")
        rows.append((f"`{field}`", _type(said, parts), default, told))
    if not rows:
        return "It has no fields.\n"
    fields = table(("Field", "Type", "Unless given", "What it is"), rows)
    if name in {each.__name__ for each in MESSAGES}:
        fields += f"\nSchema: [{name}.json](schemas/{name}.json)\n"
    return fields


def _type(said: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    if "anyOf" in said:
        return " or ".join(_type(each, parts) for each in said["anyOf"])
    if "$ref" in said:
        name = str(said["$ref"]).rpartition("/")[2]
        values = parts[name].get("enum")
        return f"[{name}](#{name.lower()})" if values is None else _words(values)
    kinds = said["type"] if isinstance(said["type"], list) else [said["type"]]
    return " or ".join(_one(each, said, parts) for each in kinds)


def _words(values: Sequence[str]) -> str:
    return " or ".join(f"`{each}`" for each in values)


def _one(kind: str, said: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    if kind == "array":
        most = f", at most {said['maxItems']}" if "maxItems" in said else ""
        return f"list of {_type(said['items'], parts)}{most}"
    if kind == "string" and "pattern" in said:
        return "name"
    if kind == "string" and "maxLength" in said:
        return f"text, {said.get('minLength', 0)} to {said['maxLength']}"
    if kind == "integer" and "minimum" in said and said["maximum"] != bounds.LARGEST:
        return f"{said['minimum']} to {said['maximum']}"
    if kind == "integer" and said.get("minimum"):
        return f"whole number from {said['minimum']}"
    return _KIND[kind]


def _refusals() -> str:
    rows = [(f"`{e.code}`", str(e.status), e.meaning, e.advice) for e in REFUSALS.values()]
    return table(("Code", "Status", "What is wrong", "What to do"), rows)


def _kinds() -> str:
    rows = [
        (
            f"`{each.name}`",
            ", ".join(sorted(role.value for role in each.roles)),
            "yes" if each.destructive else "no",
        )
        for each in KINDS.values()
    ]
    return table(("Kind", "Run by", "Destroys"), rows)


def _bounds() -> str:
    return table(("What", "At most"), [(what, f"{most:,}") for what, most in _BOUNDS])


def write(docs: Path) -> None:
    """:param docs: the directory of the pages."""
    page = docs / "protocol.md"
    page.write_text(filled(page.read_text("utf-8")), "utf-8")
    for name, text in schemas().items():
        (docs / "schemas" / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
