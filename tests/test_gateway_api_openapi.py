"""Tests for ``rescriptum.gateway.api.openapi``: the document is what the code does."""

import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.refusals import REFUSALS
from rescriptum.gateway.api import openapi
from rescriptum.gateway.api.operations import BY_NAME, OPERATIONS, ROOT
from rescriptum.gateway.api.performed import PERFORMED
from rescriptum.gateway.records import Scope
from tests.operatorcases import TOKENS, OperatorCase, document

#: The parts of OpenAPI 3.1 that are used, closed: what is written otherwise is a mistake.
STRUCTURE: dict[str, Any] = {
    "type": "object",
    "required": ["openapi", "info", "paths"],
    "additionalProperties": False,
    "properties": {
        "openapi": {"const": "3.1.0"},
        "info": {
            "type": "object",
            "required": ["title", "version"],
            "additionalProperties": False,
            "properties": {
                "title": {"type": "string"},
                "version": {"type": "string"},
                "summary": {"type": "string"},
                "license": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}, "identifier": {"type": "string"}},
                },
            },
        },
        "servers": {"type": "array", "items": {"type": "object", "required": ["url"]}},
        "security": {"type": "array", "items": {"$ref": "#/$defs/requirement"}},
        "tags": {"type": "array", "items": {"type": "object", "required": ["name"]}},
        "paths": {
            "type": "object",
            "patternProperties": {"^/": {"$ref": "#/$defs/path"}},
            "additionalProperties": False,
        },
        "components": {
            "type": "object",
            "properties": {
                "schemas": {
                    "type": "object",
                    "patternProperties": {"^[a-zA-Z0-9._-]+$": {"$ref": "#/$defs/schema"}},
                    "additionalProperties": False,
                },
                "securitySchemes": {
                    "additionalProperties": {
                        "type": "object",
                        "required": ["type", "scheme"],
                        "properties": {"type": {"const": "http"}, "scheme": {"const": "bearer"}},
                    }
                },
            },
            "additionalProperties": False,
        },
    },
    "$defs": {
        "requirement": {
            "type": "object",
            "properties": {"operator": {"type": "array", "maxItems": 0}},
            "additionalProperties": False,
        },
        "schema": {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        "path": {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {"^(get|put|post|delete)$": {"$ref": "#/$defs/operation"}},
            "additionalProperties": False,
        },
        "operation": {
            "type": "object",
            "required": ["operationId", "responses", "summary", "tags"],
            "additionalProperties": False,
            "properties": {
                "operationId": {"type": "string"},
                "summary": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "security": {"type": "array", "items": {"$ref": "#/$defs/requirement"}},
                "x-scope": {"enum": [each.value for each in Scope]},
                "parameters": {"type": "array", "items": {"$ref": "#/$defs/parameter"}},
                "requestBody": {
                    "type": "object",
                    "required": ["content"],
                    "properties": {
                        "required": {"const": True},
                        "content": {"$ref": "#/$defs/content"},
                    },
                    "additionalProperties": False,
                },
                "responses": {
                    "type": "object",
                    "minProperties": 2,
                    "patternProperties": {"^[1-5][0-9][0-9]$": {"$ref": "#/$defs/response"}},
                    "additionalProperties": False,
                },
            },
        },
        "parameter": {
            "type": "object",
            "required": ["name", "in", "schema"],
            "additionalProperties": False,
            "properties": {
                "name": {"type": "string"},
                "in": {"enum": ["path", "query", "header"]},
                "required": {"type": "boolean"},
                "description": {"type": "string"},
                "schema": {"$ref": "#/$defs/schema"},
            },
            "if": {"properties": {"in": {"const": "path"}}},
            "then": {"required": ["required"], "properties": {"required": {"const": True}}},
        },
        "response": {
            "type": "object",
            "required": ["description"],
            "additionalProperties": False,
            "properties": {
                "description": {"type": "string"},
                "content": {"$ref": "#/$defs/content"},
            },
        },
        "content": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["schema"],
                "additionalProperties": False,
                "properties": {"schema": {"$ref": "#/$defs/schema"}},
            },
        },
    },
}


def references(part: object) -> set[str]:
    if isinstance(part, dict):
        found = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return found.union(*(references(each) for each in part.values()))
    if isinstance(part, list):
        return set().union(*(references(each) for each in part))
    return set()


class DocumentTests(SynchronousTestCase):
    def test_its_structure(self) -> None:
        Draft202012Validator.check_schema(STRUCTURE)
        Draft202012Validator(STRUCTURE).validate(document())

    def test_every_reference_leads_somewhere_and_nothing_is_left_over(self) -> None:
        components = document()["components"]
        assert isinstance(components, dict)
        named = {f"#/components/schemas/{each}" for each in components["schemas"]}
        self.assertEqual(references(document()), named)

    def test_paths_and_their_parameters_agree(self) -> None:
        paths = document()["paths"]
        assert isinstance(paths, dict)
        for path, methods in paths.items():
            wanted = re.findall(r"{(\w+)}", path)
            for told in methods.values():
                given = [each["name"] for each in told["parameters"] if each["in"] == "path"]
                self.assertEqual(given, wanted, path)

    def test_every_operation_is_told_once(self) -> None:
        paths = document()["paths"]
        assert isinstance(paths, dict)
        told = [each["operationId"] for methods in paths.values() for each in methods.values()]
        self.assertEqual(sorted(told), sorted(BY_NAME))
        self.assertEqual(len(OPERATIONS), len(BY_NAME))

    def test_every_code_is_in_the_table_of_refusals(self) -> None:
        for operation in OPERATIONS:
            for code in openapi.refusals(operation):
                self.assertIn(code, REFUSALS, operation.name)

    def test_reading_takes_the_scope_to_read(self) -> None:
        """And whatever changes something takes more."""
        for operation in OPERATIONS:
            if operation.scope is None:
                continue
            reads = operation.method == "GET"
            self.assertEqual(operation.scope is Scope.READ, reads, operation.name)


class PageTests(SynchronousTestCase):
    def test_the_page_lists_every_operation(self) -> None:
        """``docs/gateway-api.md`` says of each what the table says."""
        page = (Path(__file__).parent.parent / "docs" / "gateway-api.md").read_text()
        told = [
            tuple(cell.strip() for cell in line.split("|")[1:5])
            for line in page.splitlines()
            if re.match(r"\| `(GET|PUT|POST|DELETE) ", line)
        ]
        wanted = []
        for each in OPERATIONS:
            path = each.path.replace("<", "{").replace(">", "}")
            query = [f"`{name}`" for name in each.filters] + ["pages"] * each.paged
            scope = each.scope.value if each.scope is not None else "–"
            row = f"`{each.method} {path}`", scope, each.summary, ", ".join(query) or "–"
            wanted.append(row)
        self.assertEqual(told, wanted)


class RouteTests(OperatorCase, SynchronousTestCase):
    def test_every_operation_is_performed(self) -> None:
        by_itself = {"events", "openapi"}
        self.assertEqual(set(PERFORMED) | by_itself, set(BY_NAME))

    def test_every_operation_has_its_route_and_there_is_no_other(self) -> None:
        found = set()
        for pattern, methods in self.operators.routes._methods.items():
            path = "/".join("<>" if each is None else each for each in pattern.parts)
            self.assertFalse(pattern.rest)
            found |= {(method, path) for method in methods if method != "HEAD"}
        wanted = {
            (each.method, "/".join((*ROOT, re.sub(r"<\w+>", "<>", each.path))))
            for each in OPERATIONS
        }
        self.assertEqual(found, wanted)

    def test_anybody_may_read_the_document(self) -> None:
        told = self.asked("GET", "openapi.json", token=None)
        self.assertEqual(told.status, 200)
        self.assertEqual(json.loads(told.body), document())

    def test_no_operation_but_that_goes_without_a_token(self) -> None:
        """Each is refused before anything that was sent is looked at."""
        for operation in OPERATIONS:
            if operation.scope is None:
                continue
            path = re.sub(r"<\w+>", "x", operation.path)
            told = self.asked(
                operation.method, path, b"{", token=None, peer=(f"2001:db8:{path}", 1)
            )
            self.assertEqual(told.status, 401, operation.name)
            self.assertEqual(told.header("WWW-Authenticate"), "Bearer")

    def test_each_scope_may_what_the_table_says(self) -> None:
        """Whoever may do too little is told so before anything that was sent is looked at."""
        for operation in OPERATIONS:
            for scope, token in TOKENS.items():
                if operation.scope is None or operation.name == "events":
                    continue
                path = re.sub(r"<\w+>", "x", operation.path)
                told = self.asked(operation.method, path, b"{", token=token)
                said = self.fitting(operation, told)
                refused = said is not None and said.get("code") in ("forbidden", "unauthorized")
                self.assertEqual(refused, not scope.includes(operation.scope), operation.name)

    def test_what_is_not_there(self) -> None:
        told = self.asked("GET", "sights")
        self.assertEqual((told.status, json.loads(told.body)["code"]), (404, "unknown-path"))
        told = self.asked("DELETE", "sites")
        self.assertEqual((told.status, json.loads(told.body)["code"]), (405, "wrong-method"))
        self.assertEqual(told.header("Allow"), "GET, HEAD, POST")
