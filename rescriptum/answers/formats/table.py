"""
THE table of formats: what a document's extension means, and which URLs ask for it.

Where several documents of one machine may answer, the order of the rows decides.
"""

from functools import lru_cache

from attrs import frozen

from .. import nocloud
from . import json_, text, toml, xml, yaml
from .family import Family

_PLAIN = "text/plain; charset=utf-8"


@frozen
class Format:
    """
    One row.

    :ivar extension: of the file, lower case: the key of a document within its place.
    :ivar family: what reads it and lays it over others.
    :ivar media_type: exactly what ``Content-Type`` says. TOML is never called JSON: Proxmox 9.2
        would parse it as such (families C7).
    :ivar filename: what a file is called that we make.
    """

    extension: str
    family: Family
    media_type: str
    filename: str


_TOML = Family("toml", toml.read, toml.compose, toml.values)
_YAML = Family("yaml", yaml.read, yaml.compose, yaml.values)
_JSON = Family("json", json_.read, json_.compose, json_.values)
_XML = Family("xml", xml.read, xml.compose, xml.values)
_TEXT = Family("text", text.read, text.compose, text.values)

_YAML_TYPE = "text/yaml; charset=utf-8"
_XML_TYPE = "application/xml; charset=utf-8"

FORMATS = (
    Format("toml", _TOML, _PLAIN, "proxmox.toml"),
    Format("yaml", _YAML, _YAML_TYPE, "ubuntu.yaml"),
    Format("yml", _YAML, _YAML_TYPE, "ubuntu.yml"),
    Format("json", _JSON, "application/json", "answer.json"),
    Format("ign", _JSON, "application/json", "flatcar.ign"),
    Format("xml", _XML, _XML_TYPE, "answer.xml"),
    Format("autoyast", _XML, _XML_TYPE, "suse.autoyast"),
    Format("unattend", _XML, _XML_TYPE, "windows.unattend"),
    Format("ks", _TEXT, _PLAIN, "rhel.ks"),
    Format("preseed", _TEXT, _PLAIN, "debian.preseed"),
    Format("seed", _TEXT, _PLAIN, "debian.seed"),
    Format("cfg", _TEXT, _PLAIN, "answer.cfg"),
    Format("ipxe", _TEXT, _PLAIN, "boot.ipxe"),
)

#: Parts of a NoCloud seed beside its user-data, which is the YAML document: files of just these
#: names, with ``.yaml`` or ``.yml`` behind them if you like.
PARTS = {name: Format(name, _YAML, _YAML_TYPE, name) for name in nocloud.PARTS}

BY_EXTENSION = {row.extension: row for row in FORMATS} | PARTS

#: A path segment, and the formats it asks for, preferred one first. Not ``seed``: that is where
#: NoCloud looks for YAML.
ALIASES = {
    segment: tuple(BY_EXTENSION[each] for each in extensions.split())
    for segments, extensions in (
        ("proxmox pve toml", "toml"),
        ("debian preseed", "preseed seed"),
        ("rhel centos fedora alma rocky kickstart ks", "ks"),
        ("ubuntu autoinstall cloudinit nocloud yaml yml", "yaml yml"),
        ("flatcar coreos ignition ign", "ign json"),
        ("suse opensuse autoyast", "autoyast xml"),
        ("windows unattend", "unattend xml"),
        ("json", "json ign"),
        ("xml", "xml"),
        ("cfg", "cfg"),
        ("ipxe", "ipxe"),
    )
    for segment in segments.split()
}


@lru_cache(1024)  # a rack's machines ask for a few paths, or each for its own
def accepted(segments: tuple[str, ...]) -> tuple[Format, ...]:
    """:returns: what a path asks for: by its first segment that is an alias, else any format."""
    for segment in segments:
        found = ALIASES.get(segment.lower())
        if found is not None:
            return found
    return FORMATS
