"""What a row of the table of families is made of."""

from collections.abc import Callable

from attrs import frozen

from ...boot.scripts import Initrd, Stanza
from ..files import Files

MAC = "${netX/mac}"
#: Names the interface that booted, for installers on machines with several (families.md 2.3).
BOOTIF = "BOOTIF=01-${netX/mac:hexhyp}"


@frozen
class Found:
    """
    What a family recognised.

    :ivar kernel: its path, or None: this image has none that works over the network.
    :ivar initrd: its path, or None.
    :ivar architecture: as the text or the path says; the kernel's header is asked first.
    :ivar missing: why it cannot be booted as it is, and what would help.
    :ivar notes: for an operator.
    """

    version: str = ""
    variant: str = ""
    kernel: str | None = None
    initrd: str | None = None
    architecture: str | None = None
    missing: str = ""
    notes: tuple[str, ...] = ()


@frozen
class Where:
    """
    The URLs a family's arguments are made of, none with a slash at its end.

    :ivar media: of the media listener.
    :ivar answers: of the answer listener.
    """

    id: str
    media: str
    answers: str

    @property
    def tree(self) -> str:
        """The image as a directory tree, with the slash that installers append paths to."""
        return f"{self.media}/{self.id}/file/"

    @property
    def image(self) -> str:
        """The whole image under a name that ends in ``.iso``: casper asks for that (C2)."""
        return f"{self.media}/{self.id}/{self.id}.iso"

    @property
    def kernel(self) -> str:
        return f"{self.media}/{self.id}/kernel"

    @property
    def initrd(self) -> str:
        return f"{self.media}/{self.id}/initrd"

    def stanza(self, *arguments: str) -> Stanza:
        """The usual one: a kernel and one initrd, which iPXE calls by its URL's last part."""
        return Stanza(self.kernel, ("initrd=initrd", *arguments), (Initrd(self.initrd),))


@frozen
class Family:
    """
    One row: a kind of installer.

    :ivar name: for sidecars and tables.
    :ivar recognise: None where the files are not of this family.
    :ivar boots: how it is started; ``variant`` as found, and whether an answer is named.
    :ivar memory: megabytes to advise, for a variant (families.md 7).
    :ivar answer: which answer the unattended form asks for, in words.
    """

    name: str
    recognise: Callable[[Files], Found | None]
    boots: Callable[[Where, str, bool], Stanza]
    memory: Callable[[str], int | None]
    answer: str = ""
