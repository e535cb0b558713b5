"""
THE table of formats: what a document's extension means, and which URLs ask for it.

Where several documents of one machine may answer, the order of the rows decides.
"""

from collections.abc import Callable

from attrs import frozen

from ..template import Template
from . import structured, text

_PLAIN = "text/plain; charset=utf-8"


@frozen
class Format:
    """
    One row.

    :ivar extension: of the file, lower case: the key of a document within its machine.
    :ivar family: what reads it; logs name it.
    :ivar media_type: exactly what ``Content-Type`` says. TOML is never called JSON: Proxmox 9.2
        would parse it as such (families C7).
    :ivar stem: what a file that we name is called.
    :ivar parse: the file's bytes to what is served: bytes as they are, or a template.
    """

    extension: str
    family: str
    media_type: str
    stem: str
    parse: Callable[[bytes], bytes | Template]

    @property
    def filename(self) -> str:
        return f"{self.stem}.{self.extension}"


_YAML = "text/yaml; charset=utf-8"
_XML = "application/xml; charset=utf-8"

FORMATS = (
    Format("toml", "toml", _PLAIN, "proxmox", structured.toml),
    Format("yaml", "yaml", _YAML, "ubuntu", structured.yaml),
    Format("yml", "yaml", _YAML, "ubuntu", structured.yaml),
    Format("json", "json", "application/json", "answer", structured.json_),
    Format("ign", "json", "application/json", "flatcar", structured.json_),
    Format("xml", "xml", _XML, "answer", structured.xml),
    Format("autoyast", "xml", _XML, "suse", structured.xml),
    Format("unattend", "xml", _XML, "windows", structured.xml),
    Format("ks", "text", _PLAIN, "rhel", text.parse),
    Format("preseed", "text", _PLAIN, "debian", text.parse),
    Format("seed", "text", _PLAIN, "debian", text.parse),
    Format("cfg", "text", _PLAIN, "answer", text.parse),
    Format("ipxe", "text", _PLAIN, "boot", text.parse),
)

BY_EXTENSION = {row.extension: row for row in FORMATS}

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


def accepted(segments: tuple[str, ...]) -> tuple[Format, ...]:
    """:returns: what a path asks for: by its first segment that is an alias, else any format."""
    return next((ALIASES[each] for part in segments if (each := part.lower()) in ALIASES), FORMATS)
