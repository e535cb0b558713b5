"""
iPXE scripts.

Facts: ``src/image/script.c``, ``src/core/exec.c`` and ``src/hci/commands`` of github.com/ipxe/ipxe,
and the command reference at ipxe.org/cmd.
"""

import re
from collections.abc import Iterator

from attrs import define, field

from .finding import Checked, Finding, hint, problem, warning
from .shape import shown, words

_COMMANDS = frozenset(
    words(
        "autoboot boot certfree certstat certstore chain choose clear colour config console "
        "cpair cpuid dhcp echo efimap exit fcels fcstat fdt form gdbstub goto help ibstat "
        "ifclose ifconf iflinkwait ifopen ifstat imgargs imgdecrypt imgexec imgextract imgfetch "
        "imgfree imgload imgmem imgselect imgset imgstat imgtrust imgverify inc initrd ipstat "
        "iseq isset item iwlist iwstat kernel login lotest md4sum md5sum menu module nslookup "
        "nstat ntp param params pciscan ping pnplist poweroff present profstat prompt pxebs "
        "read reboot route sanboot sanhook sanunhook set sha1sum sha224sum sha256sum sha384sum "
        "sha512sum shell shim show sleep startpxe stoppxe sync time usbscan vcreate vdestroy"
    )
)
_BETWEEN = frozenset(("||", "&&", ";"))
_MAGIC = re.compile(r"#!(ipxe|gpxe)\s")


@define
class _Script:
    """
    One pass over a script.

    :ivar labels: that it has, and where the first of each is.
    :ivar jumps: where it goes, and from which line.
    """

    labels: dict[str, int] = field(factory=dict)
    jumps: list[tuple[int, str]] = field(factory=list)

    def findings(self, text: str) -> Iterator[Finding]:
        if not _MAGIC.match(text):
            yield problem("want #!ipxe for the first line: else iPXE does not run it", line=1)
        for number, line in _joined(text):
            line = line.strip()
            if line.startswith(":"):
                label, _, line = line[1:].partition(" ")
                yield from self._label(number, label)
            yield from self._commands(number, line.split())
        for number, label in self.jumps:
            if label not in self.labels:
                said = f"goto {label}: there is no :{label}{hint(label, self.labels)}"
                yield problem(said, line=number)

    def _label(self, number: int, label: str) -> Iterator[Finding]:
        first = self.labels.setdefault(label, number)
        if first != number:
            said = f":{label} is in line {first} too: goto {label} goes there"
            yield warning(said, line=number)

    def _commands(self, number: int, tokens: list[str]) -> Iterator[Finding]:
        """A comment begins with a token that begins with ``#``."""
        begins = True
        for at, token in enumerate(tokens):
            if token.startswith("#"):
                return
            if token in _BETWEEN:
                begins = True
                continue
            if _unclosed(token):
                yield problem(
                    f"{shown(token)}: want a }} for each ${{, and no blank in it", "", number
                )
            if begins:
                begins = False
                if "$" not in token and token not in _COMMANDS:
                    said = f"unknown command {shown(token)}{hint(token, _COMMANDS)}"
                    yield warning(said, line=number)
                if token == "goto" and at + 1 < len(tokens) and "$" not in tokens[at + 1]:
                    self.jumps.append((number, tokens[at + 1]))


def check(data: bytes) -> Checked:
    """Commands, labels and settings."""
    return Checked.of("iPXE script", _Script().findings(data.decode("utf-8", "replace")))


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Lines that go on joined, each with the number of the first."""
    start, held = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        held += line.removesuffix("\r")
        if held.endswith("\\"):
            start, held = start or number, held[:-1]
        else:
            yield start or number, held
            start, held = 0, ""
    if held:
        yield start, held


def _unclosed(token: str) -> bool:
    """:returns: whether a setting is named and not to its end: iPXE takes it for text then."""
    depth = at = 0
    while at < len(token):
        if token.startswith("${", at):
            depth, at = depth + 1, at + 2
        else:
            depth, at = max(0, depth - (token[at] == "}")), at + 1
    return depth > 0
