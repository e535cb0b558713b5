"""What a server said when it was asked as firmware asks, made into findings."""

from collections.abc import Mapping

from attrs import field, frozen

from .chain import Finding, Link, Verdict

_SCRIPT_MARK = b"#!ipxe"


@frozen
class Heard:
    """
    An answer over HTTP.

    :ivar length: of ``Content-Length``, or None where there is none.
    """

    status: int
    media_type: str
    length: int | None
    body: bytes = field(default=b"", repr=False)


@frozen
class Silent:
    """
    No answer.

    :ivar reason: refused, timed out, reset: for people.
    """

    reason: str


Answer = Heard | Silent


@frozen
class Bind:
    """
    What became of an attempt to bind the port that nobody answers on.

    :ivar error: None: it could be bound, so nothing was listening.
    :ivar denied: for lack of privilege.
    """

    error: str | None
    denied: bool = False


def tftp_same(name: str, size: int, granted: Mapping[str, str]) -> Finding:
    """A loader came, to the byte."""
    options = " ".join(f"{key}={value}" for key, value in granted.items()) or "no options"
    return Finding(Link.TFTP, Verdict.OK, name, f"handed over, {size} bytes, {options}")


def tftp_foreign(name: str, at: str, difference: str) -> Finding:
    """Something answers on the port, and it is not this server with this directory."""
    text = (
        f"{at} is answered by another server, or by one with another boot directory: "
        f"{difference}; find it with 'ss -ulpn' and stop it, or set RESCRIPTUM_TFTP_ADDR=off"
    )
    seen = "PXE-E23: TFTP error, or a loader that is not ours"
    return Finding(Link.TFTP, Verdict.BROKEN, name, text, seen)


def tftp_silent(at: str, bind: Bind) -> Finding:
    """Nothing answers on the port; ``bind`` tells why."""
    if bind.error is None:
        text = f"nothing answers on {at}, and it is free: is rescriptum running?"
    elif bind.denied:
        text = (
            f"nothing answers on {at} and it cannot be bound either: {bind.error}. Port 69 is "
            "privileged: run as root and set RESCRIPTUM_USER to drop afterwards, or grant the "
            "interpreter cap_net_bind_service with setcap; the server still answers and still "
            "serves media, but a machine sent here asks for a loader and gets nothing"
        )
    else:
        text = (
            f"nothing answers on {at} and it cannot be bound either: {bind.error}; something "
            "holds it and says nothing: 'ss -ulpn' names it"
        )
    seen = "PXE-E32: TFTP open timeout, or PXE-E18: Server response timeout"
    return Finding(Link.TFTP, Verdict.BROKEN, "TFTP", text, seen)


def not_asked(link: Link, host: str) -> Finding:
    """The allow list would have the server keep silent to this very host."""
    text = f"not asked: RESCRIPTUM_BOOT_ALLOW does not admit {host}; add it, so that this can"
    return Finding(link, Verdict.WARNING, host, text)


def _unanswered(link: Link, subject: str, answer: Answer, seen: str) -> Finding | None:
    """:returns: what is wrong with an answer that should be 200; None: nothing is."""
    if isinstance(answer, Silent):
        text = f"no answer: {answer.reason}; is rescriptum running, and is a firewall between?"
        return Finding(link, Verdict.BROKEN, subject, text, seen)
    if answer.status != 200:
        text = f"status {answer.status}; the server's log has the reason"
        return Finding(link, Verdict.BROKEN, subject, text, seen)
    return None


def http_loader(
    url: str, probe: Answer, answer: Answer, expected: bytes, media_type: str
) -> Finding:
    """
    A loader as UEFI HTTP boot fetches it.

    :param probe: to HEAD, which firmware sends first (W150).
    :param expected: the bytes in the boot directory.
    :param media_type: by which firmware knows what it is (W152).
    """
    seen = "'Could not retrieve NBP file size from HTTP server', or nothing at all"
    for each in (probe, answer):
        if (wrong := _unanswered(Link.HTTP, url, each, seen)) is not None:
            return wrong
    assert isinstance(probe, Heard) and isinstance(answer, Heard)
    trouble = ""
    if answer.body != expected:
        trouble = (
            f"{len(answer.body)} bytes that are not the {len(expected)} of the boot directory: "
            "another server, or a proxy between"
        )
    elif probe.length != len(expected):
        trouble = f"HEAD says {probe.length} bytes, GET sends {len(expected)}"
    elif answer.media_type != media_type:
        trouble = f"Content-Type is {answer.media_type!r}, firmware wants {media_type!r}"
    if trouble:
        return Finding(Link.HTTP, Verdict.BROKEN, url, trouble, seen)
    return Finding(Link.HTTP, Verdict.OK, url, f"{len(expected)} bytes, {media_type}")


def script(url: str, answer: Answer, leads_to: str) -> Finding:
    """
    A script that every machine comes through.

    :param leads_to: a part of a URL that has to be in it; empty: nothing in particular.
    """
    seen = f"iPXE: 'Could not boot' with {url}"
    if (wrong := _unanswered(Link.SCRIPT, url, answer, seen)) is not None:
        return wrong
    assert isinstance(answer, Heard)
    if not answer.body.startswith(_SCRIPT_MARK):
        text = "not a script: its first bytes are not '#!ipxe'; another server answers there"
        return Finding(Link.SCRIPT, Verdict.BROKEN, url, text, "iPXE: 'Exec format error'")
    if leads_to.encode("ascii", "replace") not in answer.body:
        text = f"a script that does not lead to {leads_to}: another server, or older settings"
        return Finding(Link.SCRIPT, Verdict.BROKEN, url, text, seen)
    return Finding(Link.SCRIPT, Verdict.OK, url, f"{len(answer.body)} bytes")


def claim(url: str, answer: Answer, otherwise: str, *, asked_for: str | None) -> Finding:
    """
    What the answer listener says of a machine.

    :param otherwise: what an unclaimed machine comes to.
    :param asked_for: the machine, or None: only whether the listener answers is of interest.
    """
    seen = f"one refused request, then {otherwise}"
    if isinstance(answer, Heard) and answer.status == 404:
        who = "no document claims it" if asked_for else "no machine was named"
        return Finding(
            Link.ANSWER, Verdict.OK, asked_for or url, f"answers; {who}: it gets {otherwise}"
        )
    if (wrong := _unanswered(Link.ANSWER, asked_for or url, answer, seen)) is not None:
        return wrong
    assert isinstance(answer, Heard)
    if not answer.body.startswith(_SCRIPT_MARK):
        text = "its document is not a script: the first bytes are not '#!ipxe'"
        return Finding(
            Link.ANSWER, Verdict.BROKEN, asked_for or url, text, "iPXE: 'Exec format error'"
        )
    return Finding(
        Link.ANSWER, Verdict.OK, asked_for or url, f"claimed, a script of {len(answer.body)} bytes"
    )


def part(kind: str, url: str, answer: Answer) -> Finding:
    """A kernel or an initrd that a script names, by its headers alone."""
    seen = f"iPXE: an error with {url}, then the menu again or a prompt"
    if (wrong := _unanswered(Link.KERNEL, url, answer, seen)) is not None:
        return wrong
    assert isinstance(answer, Heard)
    if not answer.length:
        text = f"this {kind} has no Content-Length, or is empty"
        return Finding(Link.KERNEL, Verdict.BROKEN, url, text, seen)
    return Finding(Link.KERNEL, Verdict.OK, url, f"{kind}, {answer.length} bytes")


def document(url: str, answer: Answer) -> Finding:
    """What the installer will ask for."""
    seen = "an installer that stops and asks, since it got no answer"
    if (wrong := _unanswered(Link.ANSWER, url, answer, seen)) is not None:
        return wrong
    assert isinstance(answer, Heard)
    return Finding(Link.ANSWER, Verdict.OK, url, f"the installer's answer, {answer.length} bytes")
