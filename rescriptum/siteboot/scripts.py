"""
What a machine of a site is told to do: one script a situation.

It says in words what it does, since whoever stands before the machine sees nothing else.
"""

from collections.abc import Sequence
from typing import Final

from ..boot.bootparams import BootParameters
from ..boot.scripts import Initrd, Stanza, prose, script, site_script, stanza_script, word
from ..errors import Malformed
from ..values import MAC

#: Seconds between two looks, and how many a machine takes before it boots its own disk.
PAUSE, RETRIES = 10, 3
#: Characters of a kernel's command line: Linux cuts a longer one, arm64 and x86_64 alike.
LONGEST_LINE: Final = 2047


def again(url: str, mac: MAC | None, reason: str, tries: int) -> str:
    """
    Not now: the machine asks again, a few times, and boots its own disk then.

    :param url: of the boot server, without a slash at the end.
    :param tries: how often it has asked again already.
    """
    said = f"echo {prose(reason)}"
    if tries >= RETRIES:
        return script([said, "echo The local disk is booted.", "exit"])
    where = f"{site_script(url, mac)}&tries={tries + 1}"
    return script(
        [
            said,
            f"echo Asking again in {PAUSE} seconds, {RETRIES - tries} more times at most.",
            f"sleep {PAUSE}",
            f"chain --replace {where} || exit",
        ]
    )


def standby(url: str, mac: MAC | None, tries: int) -> str:
    """This agent does not hold the boot lease, or cannot prove it."""
    return again(url, mac, "This boot server is not active.", tries)


def not_a_mac() -> str:
    """Nobody can tell which machine this is."""
    return script(["echo No MAC address was given that can be read.", "exit 1"])


def no_entry(mac: MAC) -> str:
    """Nothing was prepared for it: it is left alone."""
    return script([f"echo Nothing is prepared for {mac}; the local disk is booted.", "exit"])


def local() -> str:
    """It was decided that it boots what it has."""
    return script(["exit"])


def failed(reason: str) -> str:
    """What was prepared for it cannot be booted: no retry mends it."""
    return script([f"echo {prose(reason)}", "exit 1"])


def line(cmdlines: Sequence[str], parameters: BootParameters) -> tuple[str, ...]:
    """
    :param cmdlines: of the site and of the entry: what the kernel is told beside ours.
    :returns: the kernel's arguments.
    :raises Malformed: when one of them is not one word, or they are too long for a kernel.
    """
    others = [word(each) for cmdline in cmdlines for each in cmdline.split()]
    arguments = ("initrd=initrd", *others, *parameters.words())
    if len(" ".join(arguments)) > LONGEST_LINE:
        raise Malformed(f"a kernel command line of more than {LONGEST_LINE} characters")
    return arguments


def ramdisk(url: str, suffix: str, arguments: tuple[str, ...]) -> str:
    """
    :param suffix: of the files of the machine's architecture: ``-arm64`` or nothing.
    :param arguments: as :func:`line` has them.
    """
    initrd = Initrd(f"{url}/boot/initrd{suffix}", name="initrd")
    return stanza_script(Stanza(f"{url}/boot/kernel{suffix}", arguments, (initrd,)))


def sanboot(url: str, grant: str, digest: str, bios: bool) -> str:
    """:param grant: that the image is read under."""
    drive = " --drive 0x80" if bios else ""
    return script([f"sanboot --no-describe{drive} {word(f'{url}/cache/t/{grant}/{digest}')}"])


def not_cached(url: str, mac: MAC) -> str:
    """Its image is on its way: it waits for as long as its entry lives."""
    return script(
        [
            "echo The image is not at this site yet.",
            f"echo Asking again in {PAUSE} seconds.",
            f"sleep {PAUSE}",
            f"chain --replace {site_script(url, mac)} || exit",
        ]
    )
