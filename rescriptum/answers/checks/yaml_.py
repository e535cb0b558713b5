"""YAML as cloud-init reads it, whose library knows YAML 1.1: ``yes`` is true there."""

import re
from functools import lru_cache
from warnings import catch_warnings, simplefilter

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLWarning
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from ..formats import yamllines
from ..formats.yamlnodes import MERGE, Raw


class _Constructor(SafeConstructor):
    """Values as that library has them, which takes a number without a point for text."""

    def number(self, node: ScalarNode) -> object:
        """:returns: of ``7e12345``, which may well be a serial number, what is written."""
        written = self.construct_scalar(node)
        return self.construct_yaml_float(node) if "." in written else written


_Constructor.add_constructor("tag:yaml.org,2002:float", _Constructor.number)


class _Unsure(Exception):
    """Something that only the library reads."""


def read(data: bytes) -> object:
    """
    :returns: its value; None where there is nothing.
    :raises ValueError: for what is no YAML.
    """
    try:
        node = yamllines.parse(data.decode("utf-8"))
        if node is not None:
            return _value(node.value)
    except (UnicodeDecodeError, _Unsure):
        pass
    return load(data)


def load(data: bytes | str) -> object:
    """
    By the library, which takes milliseconds.

    :raises ValueError: for what is no YAML.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.version = (1, 1)
    yaml.Constructor = _Constructor
    try:
        with catch_warnings():
            simplefilter("ignore", YAMLWarning)
            return yaml.load(data)
    except YAMLError as e:
        raise ValueError(_reason(e)) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (ValueError, TypeError, LookupError, OverflowError):
        raise ValueError("a value that its tag does not allow") from None


def _reason(error: YAMLError) -> str:
    """:returns: where and what, without what is quoted: it may be a password."""
    if isinstance(error, ReaderError):
        return str(error.reason)
    if not isinstance(error, MarkedYAMLError):
        return "cannot be read"
    mark = error.problem_mark or error.context_mark
    said = re.split("[\"']", error.problem or error.context or "cannot be read")[0].rstrip()
    return f"line {mark.line + 1}: {said}" if mark is not None else said


def _value(value: object) -> object:
    """What is told apart in every YAML, as it is in that one."""
    if isinstance(value, Raw):
        if value.tag or value == MERGE:
            raise _Unsure
        return _bare(value.text)
    if isinstance(value, dict):
        return {_value(key): _value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_value(each) for each in value]
    return value


@lru_cache(1024)
def _bare(text: str) -> object:
    return load(text) if text else None
