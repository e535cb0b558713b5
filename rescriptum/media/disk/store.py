"""The media directory on the disk. Everything here blocks: it runs in a worker thread."""

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from attrs import evolve

from ...errors import MalformedImage, NotFound, Unavailable
from ...values import Content, Problem
from ..catalogue import PREPARED, Candidate, Catalogue, Item, candidates
from ..files import image_type
from ..probing import Probe, Scan, Seen, assemble, probe
from ..readers.store import Disc, Folder, content_of, listed, version_of
from ..sidecar import MAX_BYTES, Sidecar, parse, render

PIECE = 1 << 20


def read_catalogue(directory: Path) -> Catalogue:
    """:returns: the whole catalogue at once: for commands, which have nothing else to do."""
    found = scan(directory)
    probes = {each.candidate.id: look_into(each) for each in found.seen if each.image is not None}
    return assemble(found, probes)


def scan(directory: Path) -> Scan:
    """
    What there is, without looking into images; directories are looked into each time.

    Never raises for the directory's state: what is wrong is a problem of the scan.
    """
    try:
        items = list(_items(directory))
    except OSError as e:
        gone = e.errno in (errno.ENOENT, errno.ENOTDIR)
        problem = Problem(str(directory), f"cannot be listed: {e.strerror}")
        return Scan((), (problem,), fleeting=not gone)
    found, problems = candidates(items)
    seen, more = [], list(problems)
    for each in found:
        try:
            entry = _seen(directory, each)
        except (OSError, NotFound) as e:
            more.append(Problem(each.id, f"cannot be read: {e}"))
        else:
            # A directory of any other kind is the operator's own affair.
            if entry.image is not None or (entry.beside is not None and entry.beside.boots):
                seen.append(entry)
    around = None
    if PREPARED.issubset(each.name for each in items if not each.directory):
        around = probe(Folder(directory), Sidecar(kernel="vmlinuz", initrd="initrd.img"))
    return Scan(tuple(seen), tuple(more), around)


def _items(directory: Path) -> Iterator[Item]:
    for entry in listed(directory):
        try:
            kinds = entry.is_dir(), entry.is_file()
        except OSError:  # a link to where we may not look
            continue
        if any(kinds):
            yield Item(entry.name, kinds[0])


def _seen(directory: Path, candidate: Candidate) -> Seen:
    sidecar = Sidecar()
    if candidate.sidecar is not None:
        try:
            sidecar = parse(read_sidecar(directory / candidate.sidecar))
        except OSError as e:  # the image is no worse for that
            sidecar = Sidecar(problems=(f"{candidate.sidecar} cannot be read: {e.strerror}",))
    image = None
    if candidate.image is not None:
        image = content_of(directory / candidate.image, image_type(candidate.image))
    folder = directory / candidate.folder if candidate.folder is not None else None
    beside = None
    if folder is not None:
        # What a sidecar says of paths is about the image, where there is one.
        beside = probe(Folder(folder), Sidecar() if image is not None else sidecar)
    return Seen(candidate, image, folder, beside, sidecar)


def read_sidecar(path: Path) -> str:
    """:raises OSError: when it cannot be read."""
    with open(path, "rb") as file:
        return file.read(MAX_BYTES).decode("utf-8", "replace")


def look_into(seen: Seen) -> Probe:
    """:returns: what the image of ``seen``, which has one, turned out to be."""
    assert seen.image is not None
    try:
        disc = Disc(seen.image)
    except MalformedImage as e:
        promised = seen.image.path.suffix.lower() == ".iso"  # an .img is any disk's image
        return Probe(problems=(f"{e}; it is served whole",) if promised else ())
    except Unavailable as e:
        return Probe(problems=(str(e),), fleeting=True)
    probed = probe(disc, seen.sidecar)
    if disc.short:
        text = "is shorter than the volume in it says: was it copied or downloaded to its end?"
        probed = evolve(probed, problems=(*probed.problems, text))
    return probed


def digest_of(content: Content, told: Callable[[int], None]) -> str:
    """
    :param told: called with the number of bytes of each piece that was read.
    :returns: SHA-256 of a whole file, in hexadecimal.
    :raises OSError: when it cannot be read.
    :raises Unavailable: when it changed meanwhile: the digest would be of no file that ever was.
    """
    digest = hashlib.sha256()
    with open(content.path, "rb", buffering=0) as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            told(len(piece))
        if version_of(os.fstat(file.fileno())) != content.version:
            raise Unavailable(f"{content.path.name} changed while it was read")
    return digest.hexdigest()


def write_sidecar(path: Path, changes: Mapping[str, str]) -> None:
    """
    Record ``changes``, keep everything else that the sidecar says, its mode and its owner.

    The new one replaces the old in one step.

    :raises OSError: when it cannot be written.
    """
    was = path.stat() if path.exists() else None
    text = render(read_sidecar(path) if was is not None else "", changes)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, stat.S_IMODE(was.st_mode) if was is not None else 0o644)
        if was is not None and os.geteuid() == 0:
            os.chown(draft, was.st_uid, was.st_gid)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
