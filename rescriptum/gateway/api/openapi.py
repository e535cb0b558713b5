"""The OpenAPI 3.1 document, made of the table of operations and the types of messages."""

import re
from collections.abc import Iterator
from typing import Final

from ...contract.refusals import REFUSALS
from ...contract.schema import definitions
from ...contract.sessions import Problem
from ...contract.structure import JSON
from .operations import LONGEST_LIMIT, OPERATIONS, ROOT, USUAL_LIMIT, Operation

_SCHEMAS: Final = "#/components/schemas/"
_CAPTURE = re.compile(r"<(\w+)>")
#: Codes of every operation with a token, with a body, with a query.
GUARDED: Final = ("unauthorized", "locked-out", "forbidden", "store-unavailable", "over-capacity")
READING: Final = ("malformed-json", "invalid-message", "too-large")
ASKING: Final = ("invalid-message",)
#: Whatever has no better code.
_OURS: Final = ("failed",)


def refusals(operation: Operation) -> tuple[str, ...]:
    """:returns: every code with which ``operation`` may be refused."""
    codes = operation.refusals + _OURS
    if operation.scope is not None:
        codes += GUARDED
    if operation.takes is not None:
        codes += READING
    elif operation.filters or operation.paged:
        codes += ASKING
    return tuple(dict.fromkeys(codes))


def document(version: str) -> JSON:
    """:param version: of rescriptum."""
    kinds = {kind for each in OPERATIONS for kind in (each.takes, each.gives) if kind is not None}
    kinds = {*kinds, Problem} - {dict}
    paths: dict[str, dict[str, object]] = {}
    for operation in OPERATIONS:
        path = "/" + "/".join((*ROOT, _CAPTURE.sub(r"{\1}", operation.path)))
        paths.setdefault(path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rescriptum gateway",
            "version": version,
            "summary": "What operators ask of the gateway.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"operator": []}],
        "tags": [{"name": each} for each in dict.fromkeys(map(_tag, OPERATIONS))],
        "paths": paths,
        "components": {
            "schemas": definitions(sorted(kinds, key=lambda each: each.__name__), _SCHEMAS),
            "securitySchemes": {
                "operator": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "As 'rescriptum gateway operator create' prints it.",
                }
            },
        },
    }


def _described(operation: Operation) -> JSON:
    made: JSON = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [_tag(operation)],
        "parameters": list(_parameters(operation)),
        "responses": _responses(operation),
    }
    if operation.scope is None:
        made["security"] = []
    else:
        made["x-scope"] = operation.scope.value
    if operation.takes is not None:
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(operation.takes)}},
        }
    return made


def _tag(operation: Operation) -> str:
    return operation.path.partition("/")[0].partition(".")[0]


def _parameters(operation: Operation) -> Iterator[JSON]:
    for name in _CAPTURE.findall(operation.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    for name in operation.filters:
        yield {"name": name, "in": "query", "schema": {"type": "string"}}
    if operation.paged:
        limit = {"type": "integer", "minimum": 1, "maximum": LONGEST_LIMIT, "default": USUAL_LIMIT}
        yield {"name": "limit", "in": "query", "schema": limit}
        about = "`next` of the page before."
        yield {
            "name": "cursor",
            "in": "query",
            "description": about,
            "schema": {"type": "string"},
        }
    if operation.matches:
        about = "The ETag that it must still have."
        yield {
            "name": "If-Match",
            "in": "header",
            "description": about,
            "schema": {"type": "string"},
        }
    if operation.media_type != "application/json":
        about = "`seq` of the last event that was seen."
        yield {
            "name": "Last-Event-ID",
            "in": "header",
            "description": about,
            "schema": {"type": "string"},
        }


def _responses(operation: Operation) -> JSON:
    good: JSON = {"description": operation.summary}
    if operation.gives is dict:
        good["content"] = {operation.media_type: {"schema": {"type": "object"}}}
    elif operation.gives is not None:
        good["content"] = {operation.media_type: {"schema": _reference(operation.gives)}}
    made: JSON = {str(operation.status): good}
    by_status: dict[int, list[str]] = {}
    for code in refusals(operation):
        by_status.setdefault(REFUSALS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        told = "; ".join(f"`{code}`: {REFUSALS[code].meaning}" for code in codes)
        made[str(status)] = {
            "description": told,
            "content": {"application/json": {"schema": _reference(Problem)}},
        }
    return made


def _reference(kind: type) -> JSON:
    return {"$ref": _SCHEMAS + kind.__name__}
