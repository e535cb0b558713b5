"""From files to an entry of the catalogue."""

from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, frozen

from ..errors import MalformedImage, NotFound, Unavailable
from ..values import Content, Problem
from .catalogue import Candidate, Catalogue, Medium
from .families.family import Found
from .families.proxmox import PROXMOX
from .families.table import FAMILIES, UNKNOWN, family, recognise
from .files import Files
from .kernels import HEAD_BYTES, kernel
from .sidecar import Sidecar


@frozen
class Probe:
    """
    What an image, or a directory, turned out to be.

    :ivar missing: why it cannot be booted as it is.
    :ivar fleeting: it could not be read just now, and may be another time.
    """

    family: str = UNKNOWN
    variant: str = ""
    version: str = ""
    architecture: str | None = None
    kernel: Content | None = None
    initrd: Content | None = None
    missing: str = ""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    fleeting: bool = False

    @property
    def boots(self) -> bool:
        return self.kernel is not None and self.initrd is not None


@frozen
class Seen:
    """
    A candidate with what the disk says of it.

    :ivar folder: the directory of its id, or None; ``beside`` what that turned out to be.
    """

    candidate: Candidate
    image: Content | None
    folder: Path | None
    beside: Probe | None
    sidecar: Sidecar

    @property
    def key(self) -> tuple[object, ...]:
        """What a look into the image depends on: it changes, and the image is probed again."""
        return (self.image.version if self.image is not None else None, self.sidecar)


@frozen
class Scan:
    """
    The media directory, images not looked into.

    :ivar around: a kernel and an initrd in the media directory itself, where Proxmox's assistant
        puts them.
    :ivar fleeting: the directory could not be listed just now: what was there before may well be.
    """

    seen: tuple[Seen, ...] = ()
    problems: tuple[Problem, ...] = ()
    around: Probe | None = None
    fleeting: bool = False


def probe(files: Files, sidecar: Sidecar) -> Probe:
    """
    Look into an image or a tree, once.

    Never raises for what is inside: an image that makes no sense is unknown, and a problem.
    """
    try:
        return _probe(files, sidecar)
    except MalformedImage as e:
        return Probe(problems=(str(e),))
    except Unavailable as e:
        return Probe(problems=(str(e),), fleeting=True)


def _probe(files: Files, sidecar: Sidecar) -> Probe:
    recognised = recognise(files)
    name, found = (recognised[0].name, recognised[1]) if recognised else (UNKNOWN, Found())
    problems = []
    if sidecar.family is not None and sidecar.family != name:
        if family(sidecar.family) is not None:
            name, found = sidecar.family, Found(architecture=found.architecture)
        elif sidecar.family != UNKNOWN:
            known = ", ".join(each.name for each in FAMILIES)
            problems.append(f"family {sidecar.family!r} is none of {known}")
    at = {"kernel": sidecar.kernel or found.kernel, "initrd": sidecar.initrd or found.initrd}
    contents: dict[str, Content | None] = {}
    for part, path in at.items():
        try:
            contents[part] = files.find(path) if path is not None else None
        except NotFound as e:
            contents[part] = None
            problems.append(f"{part}: {e}")
    architecture, notes = found.architecture, list(found.notes)
    if contents["kernel"] is not None and at["kernel"] is not None:
        header = kernel(files.read(at["kernel"], HEAD_BYTES))
        if architecture != "i386":  # its header is that of x86_64
            architecture = header.architecture or architecture
        if header.trouble:
            notes.append(header.trouble)
    return Probe(
        name,
        found.variant,
        found.version or (files.label if name != UNKNOWN else ""),
        architecture,
        contents["kernel"],
        contents["initrd"],
        found.missing,
        tuple(notes),
        tuple(problems),
    )


def joined(inside: Probe, beside: Probe | None) -> Probe:
    """
    An image and the directory of its id: the directory has the boot files that the image lacks.
    """
    if inside.boots or beside is None or not beside.boots:
        return inside
    return evolve(
        inside if inside.family != UNKNOWN else beside,
        kernel=beside.kernel,
        initrd=beside.initrd,
        architecture=beside.architecture or inside.architecture,
        missing="",
        notes=(*inside.notes, *beside.notes),
        problems=inside.problems,
    )


def assemble(scan: Scan, probes: Mapping[str, Probe]) -> Catalogue:
    """
    :param probes: of the images that were looked into, by id.
    :returns: the catalogue; the other images are pending in it.
    """
    entries, problems = [], list(scan.problems)
    pending = set()
    bare = [
        each.candidate.id
        for each in scan.seen
        if (known := probes.get(each.candidate.id)) is not None
        and known.family == PROXMOX.name
        and not joined(known, each.beside).boots
    ]
    for each in scan.seen:
        name = each.candidate.id
        if each.image is None:
            probed = each.beside or Probe()
        elif name in probes:
            # Which of several images stripped files belong to, nothing in them says.
            beside = scan.around if bare == [name] else each.beside
            probed = joined(probes[name], beside)
        else:
            pending.add(name)
            continue
        entry, texts = _medium(each, probed)
        entries.append(entry)
        problems += (Problem(name, text) for text in texts)
    return Catalogue(tuple(entries), tuple(problems), frozenset(pending))


def _medium(seen: Seen, probed: Probe) -> tuple[Medium, list[str]]:
    image, sidecar = seen.image, seen.sidecar
    texts = [*sidecar.problems, *probed.problems]
    if image is not None and sidecar.vouches_for(image.size, image.version[3]):
        image = evolve(image, digest=sidecar.digest)
    elif image is not None and sidecar.digest is not None and sidecar.size is not None:
        texts.append("was replaced since its sha256 was recorded; run 'rescriptum media add'")
    parts = (image,) if image is not None else (probed.kernel, probed.initrd)
    row = family(probed.family)
    entry = Medium(
        seen.candidate.id,
        probed.family,
        probed.variant,
        sidecar.version or probed.version,
        sidecar.architecture or probed.architecture,
        sum(each.size for each in parts if each is not None),
        image,
        probed.kernel if probed.boots else None,
        probed.initrd if probed.boots else None,
        seen.folder,
        sidecar.digest,
        sidecar.arguments,
        row.memory(probed.variant) if row is not None else None,
        (*((probed.missing,) if probed.missing and not probed.boots else ()), *probed.notes),
    )
    return entry, texts
