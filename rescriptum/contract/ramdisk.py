"""What a ramdisk is told: the payloads of its kinds."""

from enum import Enum

from attrs import field, frozen

from .bounds import many, number, text
from .sources import LONGEST


class WipeMode(Enum):
    """How thoroughly a disk is emptied."""

    QUICK = "quick"  # what makes it boot, mount or assemble
    SECURE = "secure"  # every sector
    CRYPTO = "crypto"  # the key that every sector is encrypted by, in the drive


class ImageFormat(Enum):
    """How an image is stored; a compressed one is known by its first bytes (W292)."""

    RAW = "raw"
    GZIP = "gzip"
    ZSTD = "zstd"
    XZ = "xz"
    QCOW2 = "qcow2"


class SeedKind(Enum):
    """What reads the user data of an installed system."""

    NOCLOUD = "nocloud"
    IGNITION = "ignition"


class DiagnosticTest(Enum):
    """What of a machine is tried out."""

    MEMORY = "memory"
    DISK = "disk"
    CPU = "cpu"
    GPU = "gpu"


@frozen
class Wipe:
    """Of ``disk.wipe``. :ivar disks: their names, as ``sda``; none: every disk of the machine."""

    mode: WipeMode = WipeMode.QUICK
    disks: tuple[str, ...] = field(default=(), validator=many(256))


@frozen
class RootDisk:
    """
    Which disk the operating system goes to: the first of ``wwn``, ``serial`` and ``device`` that is
    given; with none, the smallest that is no smaller than ``min_size_bytes``.
    """

    wwn: str = field(default="", validator=text(empty=True))
    serial: str = field(default="", validator=text(empty=True))
    device: str = field(default="", validator=text(empty=True))
    min_size_bytes: int = field(default=0, validator=number())


@frozen
class ImageWrite:
    """
    Of ``image.write``.

    :ivar sha256: of the stored bytes, in hex. :ivar url: of the image's source.
    """

    sha256: str = field(validator=text(64))
    url: str = field(validator=text(LONGEST))
    format: ImageFormat = ImageFormat.RAW
    root_disk: RootDisk = RootDisk()


@frozen
class SeedWrite:
    """
    Of ``seed.write``.

    :ivar user_data_ref: the secret that is the user data.
    :ivar hostname: and ``instance_id``, for the seed's metadata; empty: the machine's own name is
        left to the image.
    """

    kind: SeedKind = SeedKind.NOCLOUD
    user_data_ref: str = field(default="", validator=text(empty=True))
    instance_id: str = field(default="", validator=text(empty=True))
    hostname: str = field(default="", validator=text(empty=True))


@frozen
class Kexec:
    """
    Of ``boot.kexec``.

    :ivar kernel: and ``initrd``: paths in the installed system; empty: found there.
    :ivar args: more for its kernel's command line.
    :ivar reboot: whether the machine reboots, where the ramdisk's kernel may start no other one:
        its disk is left to boot by itself, and ``args`` count for nothing.
    """

    kernel: str = field(default="", validator=text(1024, empty=True))
    initrd: str = field(default="", validator=text(1024, empty=True))
    args: str = field(default="", validator=text(1024, empty=True))
    reboot: bool = False


@frozen
class Diagnose:
    """Of ``diagnostics.run``. :ivar seconds: for each test, at the most."""

    tests: tuple[DiagnosticTest, ...] = field(default=(), validator=many(16))
    seconds: int = field(default=60, validator=number(1, 3600))


@frozen
class NothingSaid:
    """Of ``inventory.collect``, ``power.off`` and ``power.reboot``."""
