"""
Every source to one frozen ``Config``: environment over TOML file over environment file over
defaults. Nothing else reads the environment.
"""

import grp
import os
import pwd
import stat
import tomllib
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar, cast

from attrs import field, frozen

from . import envfile
from .boot.allow import AllowList
from .boot.scripts import CONTRACT_PORT, Unclaimed
from .errors import ConfigError
from .settings import BY_PATH, BY_VARIABLE, LONG_ENOUGH, PREFIX, SETTINGS, Setting
from .values import Listen, Problem, Secret, StoreKind

_T = TypeVar("_T")

MAX_FILE = 1 << 20


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
    :ivar user: to become once the ports are bound; ``group`` likewise.
    """

    answers: Answers
    admin: Admin | None
    media: Media
    boot: Boot
    tftp: TFTP
    public_host: str | None
    tls: TLS | None
    user: str | None
    group: str | None
    log: Log

    @property
    def serves_media(self) -> bool:
        """Whether there is anything for the media listener to serve."""
        return self.media.directory is not None or self.boot.directory is not None


@frozen
class Value:
    """
    What one setting is, and who said so.

    :ivar text: None: unset.
    :ivar source: ``default``, ``environment``, or ``FILE`` or ``FILE:LINE``.
    """

    setting: Setting
    text: str | None = field(repr=False)
    source: str

    @property
    def given(self) -> bool:
        return self.source != "default"


@frozen
class Reading:
    """
    All sources, read: works where the configuration is too broken to start.

    :ivar problems: of the sources themselves; ``config`` adds those of the values.
    """

    values: Mapping[str, Value]
    toml_file: Path | None
    env_file: Path | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    _checked: list[Problem] = field(factory=list, repr=False, eq=False)

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
        problems += self._contradictions(parsed)
        if problems:
            raise ConfigError(problems)
        return _assembled(parsed)

    def _contradictions(self, parsed: Mapping[str, object]) -> list[Problem]:
        def given(variable: str) -> bool:
            return self.values[variable].given

        def at(variable: str, text: str) -> Problem:
            return Problem(self.values[variable].source, f"{variable}: {text}")

        found = []
        media, boot = parsed["RESCRIPTUM_MEDIA_DIR"], parsed["RESCRIPTUM_BOOT_DIR"]
        if given("RESCRIPTUM_MEDIA_ADDR") and media is None and boot is None:
            text = "nothing to serve there; set RESCRIPTUM_MEDIA_DIR or RESCRIPTUM_BOOT_DIR"
            found.append(at("RESCRIPTUM_MEDIA_ADDR", text))
        tftp = parsed["RESCRIPTUM_TFTP_ADDR"]
        if given("RESCRIPTUM_TFTP_ADDR") and tftp is not None and boot is None:
            text = "no loaders to hand over; set RESCRIPTUM_BOOT_DIR, or off here"
            found.append(at("RESCRIPTUM_TFTP_ADDR", text))
        answers, listen = parsed["RESCRIPTUM_LISTEN_ADDR"], parsed["RESCRIPTUM_MEDIA_ADDR"]
        if isinstance(answers, Listen) and isinstance(listen, Listen) and _clash(answers, listen):
            text = f"{listen} is taken by the answer listener on {answers}"
            found.append(at("RESCRIPTUM_MEDIA_ADDR", text))
        found += self._of_admin(parsed, at)
        for name in ("RESCRIPTUM_BOOT_DIR", "RESCRIPTUM_MEDIA_DIR", "RESCRIPTUM_CAPTURE_DIR"):
            directory = parsed[name]
            if isinstance(directory, Path) and not os.path.isdir(directory):
                found.append(at(name, f"no such directory: {directory}"))
        logo = parsed["RESCRIPTUM_BOOT_LOGO"]
        if isinstance(logo, Path) and not (os.path.isfile(logo) and os.access(logo, os.R_OK)):
            found.append(at("RESCRIPTUM_BOOT_LOGO", f"no file that can be read: {logo}"))
        elif isinstance(logo, Path) and os.path.getsize(logo) > MAX_FILE:
            found.append(at("RESCRIPTUM_BOOT_LOGO", f"larger than {MAX_FILE} bytes: {logo}"))
        for one, other in (("CERT", "KEY"), ("KEY", "CERT")):
            if given(f"RESCRIPTUM_TLS_{one}") and not given(f"RESCRIPTUM_TLS_{other}"):
                found.append(at(f"RESCRIPTUM_TLS_{one}", f"needs RESCRIPTUM_TLS_{other} too"))
            pem = parsed[f"RESCRIPTUM_TLS_{one}"]
            # Whether it can be read is root's to know, when the server starts.
            if isinstance(pem, Path) and not os.path.isfile(pem):
                found.append(at(f"RESCRIPTUM_TLS_{one}", f"no such file: {pem}"))
        user, group = parsed["RESCRIPTUM_USER"], parsed["RESCRIPTUM_GROUP"]
        if isinstance(user, str) and not _exists(pwd.getpwnam, user):
            found.append(at("RESCRIPTUM_USER", f"no such user: {user}"))
        if isinstance(group, str) and not _exists(grp.getgrnam, group):
            found.append(at("RESCRIPTUM_GROUP", f"no such group: {group}"))
        if given("RESCRIPTUM_GROUP") and user is None:
            found.append(at("RESCRIPTUM_GROUP", "needs RESCRIPTUM_USER too"))
        return found

    def _of_admin(
        self, parsed: Mapping[str, object], at: Callable[[str, str], Problem]
    ) -> list[Problem]:
        admin, token = parsed["RESCRIPTUM_ADMIN_ADDR"], parsed["RESCRIPTUM_ADMIN_TOKEN"]
        if not isinstance(admin, Listen):
            return []
        found = []
        if not self.values["RESCRIPTUM_ADMIN_TOKEN"].given:
            found.append(at("RESCRIPTUM_ADMIN_ADDR", "needs RESCRIPTUM_ADMIN_TOKEN too"))
        elif isinstance(token, Secret) and len(token) < LONG_ENOUGH:
            found.append(at("RESCRIPTUM_ADMIN_TOKEN", f"want {LONG_ENOUGH} characters or more"))
        others = {"answer": parsed["RESCRIPTUM_LISTEN_ADDR"]}
        if parsed["RESCRIPTUM_MEDIA_DIR"] is not None or parsed["RESCRIPTUM_BOOT_DIR"] is not None:
            others["media"] = parsed["RESCRIPTUM_MEDIA_ADDR"]
        for name, other in others.items():
            if isinstance(other, Listen) and _clash(admin, other):
                text = f"{admin} is taken by the {name} listener on {other}"
                found.append(at("RESCRIPTUM_ADMIN_ADDR", text))
        return found


def _exists(look_up: Callable[[str], object], name: str) -> bool:
    try:
        look_up(name)
    except KeyError:
        return False
    return True


def _clash(one: Listen, other: Listen) -> bool:
    """Whether both cannot be bound; port 0 is any free one, and ``::`` takes IPv4 too."""
    hosts = {one.host, other.host}
    if one.port != other.port or one.port == 0:
        return False
    v4 = not any(":" in each for each in hosts)
    return len(hosts) == 1 or "::" in hosts or ("0.0.0.0" in hosts and v4)


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
    problems: list[Problem] = []
    warnings: list[Problem] = []
    env = {name: text.strip() for name, text in environ.items() if text.strip()}
    if toml_file is None and "RESCRIPTUM_CONFIG" in env:
        toml_file = Path(env["RESCRIPTUM_CONFIG"])
    env_file = Path(env["RESCRIPTUM_ENV_FILE"]) if "RESCRIPTUM_ENV_FILE" in env else None
    values = {each.variable: Value(each, each.default, "default") for each in SETTINGS}

    def put(variable: str, text: str, source: str) -> None:
        setting = BY_VARIABLE.get(variable)
        if setting is None:
            warnings.append(Problem(source, f"no such setting: {variable}"))
        elif text.strip():
            values[variable] = Value(setting, text.strip(), source)

    if env_file is not None:
        lines, found = envfile.parse(_text_of(env_file, problems), str(env_file))
        problems += found
        warnings += _readable_by_others(env_file)
        for variable, line in lines.items():
            put(variable, line.value, f"{env_file}:{line.number}")
    if toml_file is not None:
        for path, text in _toml_values(toml_file, problems):
            if path in BY_PATH:
                put(BY_PATH[path].variable, text, str(toml_file))
            else:
                warnings.append(Problem(str(toml_file), f"no such setting: {path}"))
    for variable, text in env.items():
        if variable.startswith(PREFIX):
            put(variable, text, "environment")
    if toml_file is not None and "RESCRIPTUM_CONFIG" not in env:
        named = values["RESCRIPTUM_CONFIG"].setting
        values[named.variable] = Value(named, str(toml_file), "--config")
    warnings += _cautions(values)
    return Reading(values, toml_file, env_file, tuple(problems), tuple(warnings))


def _cautions(values: Mapping[str, Value]) -> list[Problem]:
    """:returns: what works and is probably not meant."""
    found = []

    def caution(name: str, text: str) -> None:
        found.append(Problem(values[name].source, text))

    if not (values["RESCRIPTUM_MEDIA_ADDR"].text or "").endswith(f":{CONTRACT_PORT}"):
        text = f"loaders look for scripts on port {CONTRACT_PORT} of this server"
        caution("RESCRIPTUM_MEDIA_ADDR", text)
    for name in ("RESCRIPTUM_ANSWER_TOKEN", "RESCRIPTUM_INSTALLED_TOKEN"):
        token = values[name].text
        if token is not None and len(token) < LONG_ENOUGH:
            caution(name, f"{name}: fewer than {LONG_ENOUGH} characters can be guessed")
    admin = values["RESCRIPTUM_ADMIN_ADDR"].text
    if admin is not None and values["RESCRIPTUM_TLS_CERT"].text is None and not _loopback(admin):
        text = "RESCRIPTUM_ADMIN_ADDR: without TLS the network can read the token"
        caution("RESCRIPTUM_ADMIN_ADDR", text)
    return found


def _loopback(listen: str) -> bool:
    """Whether only this machine can connect; what is no address is a problem, told elsewhere."""
    try:
        return ip_address(Listen.parse(listen).host).is_loopback
    except ValueError:
        return True


def _text_of(path: Path, problems: list[Problem]) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise ValueError(f"larger than {MAX_FILE} bytes")
        return data.decode("utf-8")
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else str(e)
        problems.append(Problem(str(path), f"cannot be read: {reason}"))
        return ""


def _readable_by_others(path: Path) -> list[Problem]:
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except (OSError, ValueError):
        return []
    if not mode & 0o044:
        return []
    return [Problem(str(path), f"others can read it (mode {mode:04o}); want 0600")]


def _toml_values(path: Path, problems: list[Problem]) -> list[tuple[str, str]]:
    """:returns: dotted paths and text, tables walked."""
    try:
        tree = tomllib.loads(_text_of(path, problems))
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        problems.append(Problem(str(path), f"not TOML: {e}"))
        return []
    found: list[tuple[str, str]] = []
    todo: list[tuple[str, object]] = [(name, value) for name, value in tree.items()]
    while todo:
        name, value = todo.pop(0)
        if isinstance(value, dict):
            todo += [(f"{name}.{key}", each) for key, each in value.items()]
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            found.append((name, ",".join(value)))
        elif isinstance(value, bool | int | str):
            found.append((name, str(value)))
        else:
            problems.append(Problem(str(path), f"{name}: want text or a number"))
    return found
