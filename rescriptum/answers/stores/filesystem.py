"""Which file systems this kernel sees every change of: those that no other computer writes to."""

import ctypes
import os

#: Kinds by their number in statfs(2). A kind that is missing here is looked at more often than it
#: needs; a network's, or one in user space, would be believed when nothing was told.
LOCAL = {
    0x2011BAB0: "exfat",
    0x2FC12FC1: "zfs",
    0x01021994: "tmpfs",
    0x3153464A: "jfs",
    0x52654973: "reiserfs",
    0x58465342: "xfs",
    0x73717368: "squashfs",
    0x7366746E: "ntfs3",
    0x794C7630: "overlay",
    0x858458F6: "ramfs",
    0x9123683E: "btrfs",
    0xCA451A4E: "bcachefs",
    0xE0F5E1E2: "erofs",
    0xEF53: "ext4",
    0xF2F52010: "f2fs",
}


def kind(path: str) -> int:
    """
    :returns: what statfs(2) calls the file system's type, or 0 where there is no such call.
    """
    statfs = getattr(ctypes.CDLL(None, use_errno=True), "statfs", None)
    # The type is the first word of the structure, whose size and other fields vary.
    buffer = ctypes.create_string_buffer(512)
    if statfs is None or statfs(ctypes.c_char_p(os.fsencode(path)), buffer) != 0:
        return 0
    return ctypes.c_ulong.from_buffer(buffer).value & 0xFFFFFFFF


def is_local(path: str) -> bool:
    """:returns: whether inotify tells of all that is written there."""
    return kind(path) in LOCAL
