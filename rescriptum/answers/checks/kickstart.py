"""
Kickstart files of Anaconda: RHEL 8 to 10 and their rebuilds, Fedora.

Facts: the commands and sections of pykickstart 3.7 (``handlers/rhel8.py`` to ``f46.py``,
``parser.py``), which Anaconda reads files with. It stops at a command or a section that it does not
know, and at a section without ``%end``.
"""

import shlex
from collections.abc import Iterator, Sequence

from attrs import define, field

from .finding import Checked, Finding, hint, problem, warning
from .shape import shown, words

_COMMANDS = frozenset(
    words(
        "auth authconfig authselect autopart autostep bootc bootloader btrfs cdrom clearpart "
        "cmdline device deviceprobe dmraid driverdisk eula fcoe firewall firstboot graphical "
        "group halt harddrive hmc ignoredisk install iscsi iscsiname keyboard lang liveimg "
        "logging logvol mediacheck method module mount multipath network nfs nvdimm "
        "ostreecontainer ostreesetup part partition poweroff raid rdp realm reboot repo reqpart "
        "rescue rhsm rootpw selinux services shutdown skipx snapshot sshkey sshpw stratisfs "
        "stratispool syspurpose text timesource timezone updates url user vnc volgroup xconfig "
        "zerombr zfcp zipl"
    )
)
#: Commands that newer releases refuse, and the RHEL that was the last to take them.
_REMOVED = {
    "auth": 9,
    "authconfig": 9,
    "autostep": 9,
    "device": 8,
    "deviceprobe": 8,
    "dmraid": 8,
    "install": 8,
    "method": 9,
    "multipath": 8,
    "nvdimm": 9,
}
_SECTIONS = words(
    "%packages %pre %pre-install %post %onerror %traceback %addon %anaconda %certificate"
)
_INCLUDES = words("%include %ksappend")
#: Commands of which a file needs one, or the installer stops and asks; and what they say.
_NEEDED = (
    (
        words(
            "autopart part partition logvol raid btrfs mount reqpart stratispool liveimg "
            "ostreesetup ostreecontainer bootc rescue"
        ),
        "how the disk is laid out (autopart)",
    ),
    (words("rootpw user sshkey rescue"), "who may log in (rootpw or user)"),
    (words("lang rescue"), "the language (lang)"),
    (words("keyboard rescue"), "the keyboard (keyboard)"),
    (words("timezone rescue"), "the time zone (timezone)"),
)


@define
class _Reading:
    """
    One pass over a file.

    :ivar commands: that were given.
    :ivar whole: whether all of it is here: no command reads another file.
    """

    _lines: Iterator[tuple[int, str]]
    commands: set[str] = field(factory=set)
    whole: bool = True

    def findings(self) -> Iterator[Finding]:
        for number, line in self._lines:
            try:
                args = shlex.split(line, comments=True)
            except ValueError as e:
                command = line.split(None, 1)[0]  # and no more: what follows may be a password
                yield problem(f"{shown(command)}: {str(e).lower()}", line=number)
                continue
            if not args:
                continue
            if args[0].startswith("%"):
                yield from self._special(number, args)
            else:
                yield from self._command(number, args[0])

    def _command(self, number: int, command: str) -> Iterator[Finding]:
        self.commands.add(command)
        if command not in _COMMANDS:
            yield warning(
                f"unknown command {shown(command)}{hint(command, _COMMANDS)}", line=number
            )
        elif command in _REMOVED:
            said = f"{command} is refused by RHEL {_REMOVED[command] + 1} and Fedora"
            yield warning(said, line=number)

    def _special(self, number: int, args: Sequence[str]) -> Iterator[Finding]:
        name = args[0]
        if name in _INCLUDES:
            self.whole = False
            if len(args) < 2:
                yield problem(f"{name} of which file?", line=number)
        elif name == "%end":
            yield problem("%end, and no section is open", line=number)
        else:
            if name not in _SECTIONS:
                yield warning(f"unknown section {shown(name)}{hint(name, _SECTIONS)}", line=number)
            yield from self._section(number, name[:40])

    def _section(self, number: int, name: str) -> Iterator[Finding]:
        """All its lines: in a script anything may stand but the beginning of another section."""
        for at, line in self._lines:
            word = (line.split(None, 1) or [""])[0]
            if word == "%end":
                return
            if word == "%include":
                self.whole = False
            elif word in _SECTIONS:
                yield problem(f"{name} of line {number} has no %end before {word}", line=at)
                number, name = at, word
        yield problem(f"{name} has no %end", line=number)


def check(data: bytes) -> Checked:
    """Commands, and sections that end."""
    return Checked.of("kickstart", _findings(data.decode("utf-8", "replace")))


def _findings(text: str) -> Iterator[Finding]:
    reading = _Reading(iter(enumerate(text.split("\n"), 1)))
    yield from reading.findings()
    if not reading.whole:
        return
    for needed, what in _NEEDED:
        if reading.commands.isdisjoint(needed):
            yield warning(f"nothing says {what}: the installer may stop and ask")
