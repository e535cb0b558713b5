"""Images of operating systems, and which sites are to have them in their cache."""

from collections.abc import Collection, Sequence

from attrs import evolve
from sqlalchemy import Connection, RowMapping, delete, select

from ...contract.refusals import Rejected
from ...contract.sources import LONGEST, image_url, is_digest
from ...errors import Malformed
from ..records import Image, Page
from .rows import LIMIT, MOST, added, columns, counted, made, named, paged, removed, there
from .tables import image_sites, images
from .telling import notify

#: Images that one site is to have.
MOST_OF_SITE = MOST


def create(connection: Connection, image: Image, now: int) -> Image:
    """
    :returns: as it is kept.
    :raises Rejected: ``conflict``, ``invalid-message``; ``in-use`` for a site that is none.
    """
    image = evolve(_checked(image), created_at=now, revision=1)
    added(connection, images, _values(image), f"image {image.name}")
    for site in image.sites:
        assign(connection, image.name, site)
    return image


def get(connection: Connection, name: str) -> Image:
    """:raises Rejected: ``not-found``."""
    found = connection.execute(select(images).where(images.c.name == name)).mappings().all()
    return there(next(iter(_made(connection, found)), None), "image", name)


def listing(connection: Connection, after: str = "", limit: int = LIMIT) -> Page[Image]:
    """:returns: by name."""
    rows, following = paged(connection, select(images), images.c.name, after, limit)
    return Page(_made(connection, rows), following)


def of_sites(connection: Connection, names: Collection[str]) -> dict[str, tuple[Image, ...]]:
    """
    :param names: of sites.
    :returns: what each is to have in its cache, by name; in as many queries as for one.
    """
    theirs = image_sites.c.site.in_(sorted(names))
    pairs = select(image_sites.c.site, image_sites.c.image).where(theirs)
    wanted: dict[str, list[str]] = {name: [] for name in names}
    for site, image in connection.execute(pairs.order_by(image_sites.c.image)):
        wanted[site].append(image)
    mine = images.c.name.in_(select(image_sites.c.image).where(theirs))
    rows = connection.execute(select(images).where(mine)).mappings().all()
    kept = {each.name: each for each in _made(connection, rows)}
    return {
        site: tuple(kept[each] for each in found[:MOST_OF_SITE] if each in kept)
        for site, found in wanted.items()
    }


def assign(connection: Connection, image: str, site: str) -> None:
    """
    The site is to have it, or has it already.

    :raises Rejected: ``in-use``, where there is no such image or site; ``too-large``.
    """
    if counted(connection, image_sites, image_sites.c.site == site) >= MOST_OF_SITE:
        raise Rejected("too-large", f"site {site} has {MOST_OF_SITE} images")
    mine = (image_sites.c.image == image) & (image_sites.c.site == site)
    if counted(connection, image_sites, mine):
        return
    added(connection, image_sites, {"image": image, "site": site}, f"image {image} at {site}")
    notify(connection, "spec", site)


def unassign(connection: Connection, image: str, site: str) -> None:
    """The site need not have it; whether it has it or not."""
    mine = (image_sites.c.image == image) & (image_sites.c.site == site)
    if connection.execute(delete(image_sites).where(mine)).rowcount:
        notify(connection, "spec", site)


def remove(connection: Connection, name: str) -> None:
    """:raises Rejected: ``not-found``; ``in-use`` while a site is to have it."""
    here = select(image_sites.c.site).where(image_sites.c.image == name).limit(1)
    site = connection.execute(here).scalar_one_or_none()
    if site is not None:
        raise Rejected("in-use", f"site {site} is to have image {name}")
    removed(connection, images, images.c.name == name, f"image {name[:128]}")


def _checked(image: Image) -> Image:
    named("image", image.name)
    named("format", image.format)
    if not is_digest(image.sha256):
        raise Rejected("invalid-message", "sha256: not 64 lower-case hexadecimal digits")
    try:
        image_url(image.url, LONGEST)
    except Malformed as e:
        raise Rejected("invalid-message", f"url: {e}") from None
    return image


def _values(image: Image) -> dict[str, object]:
    values = columns(image)
    del values["sites"]
    return values


def _made(connection: Connection, rows: Sequence[RowMapping]) -> tuple[Image, ...]:
    names = [str(row["name"]) for row in rows]
    statement = (
        select(image_sites.c.image, image_sites.c.site)
        .where(image_sites.c.image.in_(names))
        .order_by(image_sites.c.site)
    )
    sites: dict[str, list[str]] = {name: [] for name in names}
    for name, site in connection.execute(statement):
        sites[name].append(site)
    return tuple(made(Image, {**row, "sites": sites[str(row["name"])]}) for row in rows)
