"""
Every iPXE script, and the one place where text becomes part of one.

iPXE splits a line at blanks and knows no quotes; ``${name}`` expands, and the words ``||``, ``&&``
and ``;`` end a command. It encodes nothing by itself, so SMBIOS strings go through ``:uristring``
(W172), and the interface is ``netX``, the one that booted, not the first (W081).
"""

from collections.abc import Iterable, Sequence
from enum import Enum

from attrs import frozen

from ..errors import Malformed
from ..values import MAC

#: Baked into loaders before any deployment exists: the media listener's contract.
CONTRACT_PORT = 8001
MENU_COLUMNS = 28

#: Words that end a command.
ENDS = frozenset(("||", "&&", ";"))
#: An empty address would make a URL that is relative to nothing (W173).
_TO_NEXT_SERVER = "isset ${next-server} && chain "
_IDENTITY = (
    "mac=${netX/mac}&uuid=${uuid}",
    "serial=${serial:uristring}&asset=${asset:uristring}",
    "manufacturer=${manufacturer:uristring}&product=${product:uristring}",
    "platform=${platform}&arch=${buildarch}",
)


class Unclaimed(Enum):
    """What a machine that no document claims is sent to."""

    MENU = "menu"
    LOCAL = "local"


def word(text: str) -> str:
    """
    :returns: ``text``, which is one argument of an iPXE command.
    :raises Malformed: when it is not: blanks, control characters, non-ASCII, or a separator.
    """
    if not text or text in ENDS or not all("!" <= letter <= "~" for letter in text):
        raise Malformed(f"not one word of an iPXE script: {text!r}")
    return text


def prose(text: str, columns: int = 78) -> str:
    """
    :returns: printable ASCII that iPXE shows as it is: no settings expanded, no command ended,
        cut at ``columns``.
    """
    shown = "".join(letter if " " <= letter <= "~" else " " for letter in text)
    words = (part for part in shown.replace("${", "$ {").split() if part not in ENDS)
    return " ".join(words)[:columns].rstrip()


@frozen
class Initrd:
    """
    One ``initrd`` line.

    :ivar name: iPXE's name of the image, what ``initrd=`` on the kernel line refers to (W171).
    :ivar member: wraps the file in a cpio archive under this name.
    """

    url: str
    name: str | None = None
    member: str | None = None

    def line(self) -> str:
        named = ["--name", word(self.name)] if self.name is not None else []
        member = [word(self.member)] if self.member is not None else []
        return " ".join(["initrd", *named, word(self.url), *member])


@frozen
class Stanza:
    """
    How one image is booted.

    :ivar kernel: its URL.
    :ivar arguments: of the kernel, a word each; iPXE's settings in them expand.
    :ivar comments: for whoever reads the script.
    """

    kernel: str
    arguments: tuple[str, ...] = ()
    initrds: tuple[Initrd, ...] = ()
    comments: tuple[str, ...] = ()

    def lines(self) -> Iterable[str]:
        """:raises Malformed: when a part of it is not one word."""
        yield " ".join(["kernel", word(self.kernel), *(word(each) for each in self.arguments)])
        for initrd in self.initrds:
            yield initrd.line()


def script(lines: Iterable[str]) -> str:
    """:returns: the lines as an iPXE script; its first bytes must be the mark (W170)."""
    return "".join(f"{line}\n" for line in ("#!ipxe", *lines))


def stanza_script(stanza: Stanza) -> str:
    """:returns: a script that boots one image and nothing else: an ``.ipxe`` document."""
    comments = (f"# {prose(each)}" for each in stanza.comments)
    # What an earlier try loaded would be booted along.
    return script([*comments, "imgfree ||", *stanza.lines(), "boot"])


def autoexec(media_url: str, media_port: int) -> str:
    """
    What a stock loader asks for by itself: beside it, or in the TFTP root (W142).

    iPXE 1.21 has no address yet when it runs this, 2.0 has. The address it was booted from,
    ``next-server``, is known to reach us; the configured one is the second try.
    """
    scheme = media_url.partition("://")[0]
    first = f"{scheme}://${{next-server}}:{media_port}/ipxe/bootstrap?mac=${{netX/mac}}"
    configured = f"{media_url}/ipxe/bootstrap?mac=${{netX/mac}}"
    tries = (_TO_NEXT_SERVER + first, f"chain {word(configured)}")
    return _leading(tries, f"No boot server answered at {prose(media_url)}")


def _leading(tries: Iterable[str], said: str) -> str:
    """
    :param tries: commands that lead to the first script; what ends well has found the machine
        nothing to boot, so that the firmware goes on.
    :param said: where none of them has.
    """
    return script(
        [
            "# Which machine is this, and what was decided for it?",
            "isset ${netX/ip} || dhcp || goto unreachable",
            *(f"{each} && exit 1 ||" for each in tries),
            ":unreachable",
            f"echo {said}",
            "sleep 10",
            "exit 1",
        ]
    )


def site_script(url: str, mac: MAC | None = None) -> str:
    """
    :param url: of a site's boot server, without a slash at the end; empty: the one that the script
        came from, in which this stands.
    :param mac: as the machine has said it; None: that of the interface that booted (W081).
    :returns: where a machine of the site asks for its script; iPXE fills in the rest.
    """
    return (
        f"{url}/boot/ipxe?mac={mac or '${netX/mac}'}&uuid=${{uuid}}&ip=${{netX/ip}}"
        "&arch=${buildarch}-${platform}&serial=${serial:uristring}"
    )


def site_autoexec(url: str, port: int) -> str:
    """
    As :func:`autoexec`, at a site.

    :param url: as of :func:`site_script`; empty: the server that handed this over, by HTTP at
        ``port``.
    """
    if url:
        tries, said = [f"chain {site_script(url)}"], prose(url)
    else:
        served = f"http://${{next-server}}:{port}"
        tries, said = [_TO_NEXT_SERVER + site_script(served)], f"${{next-server}}, port {port}"
    return _leading(tries, f"Nothing was booted from {said}")


def pxelinux_config() -> str:
    """
    What pxelinux is told when it asks for ``pxelinux.cfg/default``: iPXE as a kernel, our script
    as its initrd. The way in for BIOS machines whose DHCP server cannot tell iPXE apart.
    """
    return "DEFAULT ipxe\nPROMPT 0\nLABEL ipxe\n KERNEL ipxe.lkrn\n INITRD script.ipxe\n"


def bootstrap(media_url: str, answers_url: str, unclaimed: Unclaimed) -> str:
    """The first script over HTTP: says who the machine is, falls through where nothing claims."""
    to_menu = f"chain {word(media_url)}/ipxe/menu?${{machine}}"
    otherwise = to_menu if unclaimed is Unclaimed.MENU else "exit"
    first, *rest = _IDENTITY
    return script(
        [
            f"set machine {first}",
            *(f"set machine ${{machine}}&{each}" for each in rest),
            f"chain {word(answers_url)}/ipxe/boot?${{machine}} || {otherwise}",
        ]
    )


@frozen
class Choice:
    """
    One image in the menu.

    :ivar name: its id in the catalogue.
    :ivar title: for people.
    :ivar architecture: ``x86_64`` or ``arm64``; None is offered to every machine.
    :ivar stanza: how it boots, or None: as a CD (``sanboot``).
    """

    name: str
    title: str
    architecture: str | None
    stanza: Stanza | None

    @property
    def label(self) -> str:
        """No image's id can be one of the menu's own labels."""
        return f"image-{self.name}"

    def item(self) -> str:
        item = f"item {word(self.label)} {prose(self.title, MENU_COLUMNS) or self.name}"
        if self.architecture is None:
            return item
        return f"iseq ${{arch}} {word(self.architecture)} && {item} ||"

    def section(self, media_url: str) -> Iterable[str]:
        yield f":{self.label}"
        yield "imgfree ||"
        if self.stanza is None:
            yield f"sanboot {word(f'{media_url}/{self.name}/iso')} || goto again"
        else:
            for line in self.stanza.lines():
                yield f"{line} || goto failed"
            yield "boot || goto failed"
        yield "goto again"


_TOOLS = (
    ("shell", "iPXE shell", ("shell ||", "goto again")),
    ("netinfo", "Network interfaces", ("ifstat ||", "route ||", "prompt ||", "goto again")),
    (
        "retry",
        "Ask again",
        ("chain {media}/ipxe/bootstrap?mac=${{netX/mac}} || goto again", "goto again"),
    ),
    (
        "endpoints",
        "Another boot server",
        (
            "echo Address of the other server, as HOST:PORT:",
            "read other ||",
            "isset ${{other}} && chain http://${{other}}/ipxe/bootstrap || goto again",
            "goto again",
        ),
    ),
    ("reboot", "Reboot", ("reboot || goto again",)),
)


def menu(
    choices: Sequence[Choice], media_url: str, title: str, timeout_seconds: int, logo: str | None
) -> str:
    """
    What a machine that nobody decided about sees; without a choice it boots its own disk.

    :param title: iPXE's settings in it expand; everything else is shown as it is.
    :param logo: URL of a picture, or None; a console without a framebuffer goes on without.
    """
    media = word(media_url)
    installs = [each for each in choices if each.stanza is not None]
    discs = [each for each in choices if each.stanza is None]
    lines = [f"console --picture {word(logo)} --keep ||"] if logo is not None else []
    lines += [
        # BIOS builds of iPXE are 32-bit code on what is mostly a 64-bit machine.
        "set arch ${buildarch}",
        "iseq ${arch} i386 && cpuid --ext 29 && set arch x86_64 ||",
        f"menu {title}",
        "item --gap -- Default",
        "item local Boot from the local disk",
    ]
    for heading, group in (("Install", installs), ("Tools", discs)):
        if group:
            lines += [f"item --gap -- {heading}", *(each.item() for each in group)]
    lines += [
        "item --gap -- Diagnostics",
        *(f"item {name} {text}" for name, text, _ in _TOOLS),
        f"choose --timeout {timeout_seconds * 1000} --default local chosen || goto local",
        "goto ${chosen} || goto local",
        ":failed",
        "echo It did not start; the menu comes back.",
        "prompt --timeout 10000 ||",
        ":again",
        f"chain {media}/ipxe/menu?mac=${{netX/mac}} || goto local",
        ":local",
        # Works on BIOS and UEFI alike, unlike sanboot of a drive number.
        "exit",
    ]
    for name, _, body in _TOOLS:
        lines += [f":{name}", *(line.format(media=media) for line in body)]
    for choice in choices:
        lines += choice.section(media)
    return script(lines)
