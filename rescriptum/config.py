"""
Every source to one frozen ``Config``: environment over TOML file over environment file over
defaults. Nothing else reads the environment.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, cast

from attrs import evolve, frozen

from .boot.allow import AllowList
from .boot.scripts import Unclaimed
from .contradictions import cautions, contradictions
from .errors import ConfigError
from .settings import PREFIX
from .sources import Sources
from .values import Listen, Problem, Secret, StoreKind

_T = TypeVar("_T")


@frozen
class Answers:
    """
    The answer listener and its answer set.

    :ivar store: what keeps it, in ``directory`` or in ``database``.
    :ivar capture: None: requests are not kept.
    :ivar token: that installers present; None: they need none.
    :ivar installed: that disarms a machine; None: nothing does.
    """

    directory: Path
    listen: Listen
    connections: int
    seconds: int
    store: StoreKind
    database: Path
    capture: Path | None
    token: Secret | None
    installed: Secret | None


@frozen
class Admin:
    """The admin listener."""

    listen: Listen
    token: Secret


@frozen
class Media:
    """
    The media listener, and the images.

    :ivar directory: None: no images, yet loaders and scripts are served where ``boot`` says so.
    """

    directory: Path | None
    listen: Listen
    connections: int
    seconds: int


@frozen
class Boot:
    """Loaders and scripts."""

    directory: Path | None
    allow: AllowList
    timeout_seconds: int
    unclaimed: Unclaimed
    title: str | None
    logo: Path | None


@frozen
class TFTP:
    """:ivar listen: None: another server hands the loaders over."""

    listen: Listen | None
    blksize: int
    ports: tuple[int, int] | None


@frozen
class TLS:
    """Files in PEM; both, or no TLS at all."""

    certificate: Path
    key: Path


@frozen
class Log:
    """
    :ivar show: ``all``, ``problems`` or ``off``.
    :ivar file: ``stderr``, ``stdout`` or a path.
    """

    show: str
    file: str


@frozen
class Config:
    """
    What the boot server and its commands run on.

    :ivar admin: None: there is no admin listener.
    :ivar public_host: None: derived at start.
    :ivar controllers: of the power of machines, for commands; the server never reads it.
    :ivar user: to become once the ports are bound; ``group`` likewise.
    """

    answers: Answers
    admin: Admin | None
    media: Media
    boot: Boot
    tftp: TFTP
    public_host: str | None
    controllers: Path | None
    tls: TLS | None
    user: str | None
    group: str | None
    log: Log

    @property
    def serves_media(self) -> bool:
        """Whether there is anything for the media listener to serve."""
        return self.media.directory is not None or self.boot.directory is not None


@frozen
class Reading(Sources):
    """
    All sources, read: works where the configuration is too broken to start.

    :ivar problems: of the sources themselves; ``config`` adds those of the values.
    """

    def all_problems(self) -> tuple[Problem, ...]:
        """:returns: every reason why nothing would start on this; none, and it would."""
        try:
            self.config()
        except ConfigError as e:
            return e.problems
        return ()

    def config(self) -> Config:
        """:raises ConfigError: with every problem there is, each with its source."""
        problems = list(self.problems)
        parsed: dict[str, object] = {}
        for name, value in self.values.items():
            parsed[name] = None
            if value.text is not None:
                try:
                    parsed[name] = value.setting.parse(value.text)
                except ValueError as e:
                    problems.append(Problem(value.source, f"{name}: {e}"))
        problems += contradictions(self.values, parsed)
        if problems:
            raise ConfigError(problems)
        return _assembled(parsed)


def _assembled(parsed: Mapping[str, object]) -> Config:
    def get(name: str, kind: type[_T]) -> _T:
        return cast(_T, parsed[PREFIX + name])

    cert, key = parsed["RESCRIPTUM_TLS_CERT"], parsed["RESCRIPTUM_TLS_KEY"]
    admin = parsed["RESCRIPTUM_ADMIN_ADDR"]
    return Config(
        answers=Answers(
            get("ANSWERS_DIR", Path),
            get("LISTEN_ADDR", Listen),
            get("MAX_CONNECTIONS", int),
            get("TIMEOUT_SECS", int),
            get("STORE", StoreKind),
            get("DB_PATH", Path),
            cast(Path | None, parsed["RESCRIPTUM_CAPTURE_DIR"]),
            cast(Secret | None, parsed["RESCRIPTUM_ANSWER_TOKEN"]),
            cast(Secret | None, parsed["RESCRIPTUM_INSTALLED_TOKEN"]),
        ),
        admin=Admin(admin, get("ADMIN_TOKEN", Secret)) if isinstance(admin, Listen) else None,
        media=Media(
            cast(Path | None, parsed["RESCRIPTUM_MEDIA_DIR"]),
            get("MEDIA_ADDR", Listen),
            get("MEDIA_MAX_CONNECTIONS", int),
            get("MEDIA_TIMEOUT_SECS", int),
        ),
        boot=Boot(
            cast(Path | None, parsed["RESCRIPTUM_BOOT_DIR"]),
            cast(AllowList | None, parsed["RESCRIPTUM_BOOT_ALLOW"]) or AllowList(),
            get("BOOT_TIMEOUT_SECS", int),
            get("BOOT_UNCLAIMED", Unclaimed),
            cast(str | None, parsed["RESCRIPTUM_BOOT_TITLE"]),
            cast(Path | None, parsed["RESCRIPTUM_BOOT_LOGO"]),
        ),
        tftp=TFTP(
            cast(Listen | None, parsed["RESCRIPTUM_TFTP_ADDR"]),
            get("TFTP_BLKSIZE", int),
            cast(tuple[int, int] | None, parsed["RESCRIPTUM_TFTP_PORT_RANGE"]),
        ),
        public_host=cast(str | None, parsed["RESCRIPTUM_PUBLIC_HOST"]),
        controllers=cast(Path | None, parsed["RESCRIPTUM_CONTROLLERS_FILE"]),
        tls=TLS(cert, key) if isinstance(cert, Path) and isinstance(key, Path) else None,
        user=cast(str | None, parsed["RESCRIPTUM_USER"]),
        group=cast(str | None, parsed["RESCRIPTUM_GROUP"]),
        log=Log(get("LOG", str), get("LOG_FILE", str)),
    )


def read(environ: Mapping[str, str], toml_file: Path | None = None) -> Reading:
    """
    :param toml_file: from the command line, over ``RESCRIPTUM_CONFIG``.
    :returns: what all sources say; nothing is raised, problems are values.
    """
    told = Reading.gather(environ, toml_file)
    return evolve(told, warnings=(*told.warnings, *cautions(told.values)))
