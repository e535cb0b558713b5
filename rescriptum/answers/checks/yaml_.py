"""YAML as cloud-init reads it, whose library knows YAML 1.1: ``yes`` is true there."""

from functools import lru_cache
from warnings import catch_warnings, simplefilter

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError, YAMLWarning
from ruamel.yaml.nodes import ScalarNode

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
    except (YAMLError, ValueError, TypeError, RecursionError, OverflowError) as e:
        raise ValueError(" ".join(str(e).split())) from None


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
