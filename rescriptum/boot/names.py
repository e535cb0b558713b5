"""
The name of a loader as firmware spells it, made into segments that can be looked up.

ROMs, shims and boot managers disagree about everything but the last word of a path: which slash,
how many, what follows the name. All of that is settled here, before anything touches a disk.
"""

from ..errors import Forbidden, NotFound

#: Bytes of a name; firmware's own limit is 128 (the BOOTP ``file`` field).
MAX_NAME = 512
MAX_SEGMENTS = 16

#: ROMs that read option 67 as a C string run on into the end option (W046); others pad (W138).
_TRAILING = b"\xff\0 \t\r\n"


def segments(name: bytes) -> tuple[str, ...]:
    """
    :param name: as it came from the wire, whatever it holds.
    :returns: at least one segment, none of them empty, ``.`` or ``..``, all printable.
    :raises NotFound: for a name that no file of ours can have.
    :raises Forbidden: for a name that tries to leave the directory (W147).
    """
    if len(name) > MAX_NAME:
        raise NotFound(f"a name of {len(name)} bytes")
    bare = name.rstrip(_TRAILING)
    if b"\0" in bare:
        raise Forbidden("a NUL inside the name")
    try:
        text = bare.decode("utf-8")
    except UnicodeDecodeError:
        raise NotFound("a name that is not UTF-8") from None
    # Windows' paths and shim's use backslashes, and iPXE hands them on (W137).
    parts = tuple(part for part in text.replace("\\", "/").split("/") if part not in ("", "."))
    if ".." in parts:
        raise Forbidden("a name that leaves the boot directory")
    if not parts:
        raise NotFound("an empty name")
    if len(parts) > MAX_SEGMENTS:
        raise NotFound(f"a name of {len(parts)} parts")
    if not all(part.isprintable() for part in parts):
        raise NotFound("a name with control characters")
    return parts
