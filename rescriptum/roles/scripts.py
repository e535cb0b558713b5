"""What the generated scripts of one configuration say: the server serves it, commands print it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from .. import __version__
from ..boot import scripts
from ..boot.scripts import Choice
from ..config import Config
from ..media.catalogue import Catalogue
from ..media.families.table import stanza
from ..net.addresses import bracketed, derived_host
from ..values import Generated

LOGO = "logo.png"


def media_url(config: Config) -> str:
    """:returns: what scripts call the media listener, without a slash at the end."""
    return _url(config, config.media.listen.port)


def answers_url(config: Config) -> str:
    """:returns: what scripts call the answer listener, without a slash at the end."""
    return _url(config, config.answers.listen.port)


def _url(config: Config, port: int) -> str:
    scheme = "http" if config.tls is None else "https"
    return f"{scheme}://{bracketed(config.public_host or derived_host())}:{port}"


def generated(config: Config) -> Mapping[str, Generated]:
    """:returns: what loaders ask for beside themselves, by name: answered from memory."""
    chain = scripts.autoexec(media_url(config), config.media.listen.port).encode("ascii")
    files = {
        "autoexec.ipxe": Generated(chain),
        "script.ipxe": Generated(chain),
        "pxelinux.cfg/default": Generated(scripts.pxelinux_config().encode("ascii")),
    }
    if config.boot.logo is not None:
        files[LOGO] = Generated(config.boot.logo.read_bytes(), "image/png")
    return files


def bootstrap(config: Config) -> str:
    """:returns: the bootstrap that machines are sent."""
    return scripts.bootstrap(media_url(config), answers_url(config), config.boot.unclaimed)


def choices(config: Config, catalogue: Catalogue) -> Sequence[Choice]:
    """:returns: what the menu offers, by name: what can be installed by hand, and discs."""
    media, answers = media_url(config), answers_url(config)
    titles = Counter(medium.title for medium in catalogue.entries)
    return [
        Choice(
            medium.id,
            medium.title if titles[medium.title] == 1 else medium.id,
            medium.architecture,
            stanza(medium, media, answers, unattended=False) if medium.bootable else None,
        )
        for medium in catalogue.entries
        if medium.bootable or medium.image is not None
    ]


def menu(config: Config, offered: Sequence[Choice], logo: bool) -> str:
    """:returns: the menu that an unclaimed machine is sent."""
    title = config.boot.title or f"rescriptum {__version__} - ${{next-server}}"
    media = media_url(config)
    picture = f"{media}/boot/{LOGO}" if logo else None
    return scripts.menu(offered, media, title, config.boot.timeout_seconds, picture)
