"""
THE table of variables: parsing, ``rescriptum config``, help and the reference page read it.

A value is text from the environment, a TOML file or an environment file; its row knows what
would be right.
"""

from collections.abc import Callable

from attrs import frozen

from . import parsing
from .boot.allow import AllowList
from .values import Listen, StoreKind

PREFIX = "RESCRIPTUM_"
MAX_BLKSIZE = 1468  # 1500 less IP, UDP and TFTP headers (W113)
#: Characters of a token that nobody guesses.
LONG_ENOUGH = 16


@frozen
class Setting:
    """
    One variable.

    :ivar variable: its name in the environment and in an environment file.
    :ivar path: its place in the TOML file, dotted.
    :ivar parse: text to value; raises ValueError with a sentence that says what would be right.
    :ivar default: text, parsed like any other; None: unset is a value of its own.
    :ivar help: one sentence for people.
    :ivar derived: how an unset value is found at start, for people; empty: it is not.
    :ivar secret: its value is a ``Secret``: nobody is shown it.
    """

    variable: str
    path: str
    parse: Callable[[str], object]
    default: str | None
    help: str
    derived: str = ""
    secret: bool = False


SETTINGS = (
    Setting(
        "RESCRIPTUM_CONFIG",
        "",
        parsing.path,
        None,
        "A TOML file with settings; named here or by --config, never searched for.",
    ),
    Setting(
        "RESCRIPTUM_ENV_FILE",
        "",
        parsing.path,
        None,
        "A file of KEY=value lines that the TOML file and the environment override.",
    ),
    Setting(
        "RESCRIPTUM_ANSWERS_DIR",
        "answers.dir",
        parsing.path,
        "/srv/answers",
        "The answer set: a directory a machine.",
    ),
    Setting(
        "RESCRIPTUM_STORE",
        "answers.store",
        parsing.store,
        StoreKind.FILES.value,
        "What keeps the answer set: files, or sqlite for a database.",
    ),
    Setting(
        "RESCRIPTUM_DB_PATH",
        "answers.database",
        parsing.path,
        "/srv/answers.db",
        "The database, where RESCRIPTUM_STORE is sqlite.",
    ),
    Setting(
        "RESCRIPTUM_LISTEN_ADDR",
        "answers.listen",
        Listen.parse,
        "0.0.0.0:8000",
        "Where the answer listener binds; [::]:8000 takes IPv4 and IPv6.",
    ),
    Setting(
        "RESCRIPTUM_MAX_CONNECTIONS",
        "answers.connections",
        parsing.number(1, 65536, "connections"),
        "2048",
        "How many connections the answer listener holds at once.",
    ),
    Setting(
        "RESCRIPTUM_TIMEOUT_SECS",
        "answers.seconds",
        parsing.number(1, 3600, "seconds"),
        "10",
        "How long one exchange on the answer listener may take, from its first byte.",
    ),
    Setting(
        "RESCRIPTUM_ANSWER_TOKEN",
        "answers.token",
        parsing.token,
        None,
        "What installers have to present as a bearer token; unset, anybody is answered.",
        secret=True,
    ),
    Setting(
        "RESCRIPTUM_INSTALLED_TOKEN",
        "answers.installed",
        parsing.token,
        None,
        "What disarms a machine by POST /installed; unset, there is no such request.",
        secret=True,
    ),
    Setting(
        "RESCRIPTUM_CAPTURE_DIR",
        "answers.capture",
        parsing.path,
        None,
        "Where requests to the answer listener are kept for replaying; unset, nowhere.",
    ),
    Setting(
        "RESCRIPTUM_ADMIN_ADDR",
        "admin.listen",
        Listen.parse,
        None,
        "Where the admin listener binds; unset, there is none.",
    ),
    Setting(
        "RESCRIPTUM_ADMIN_TOKEN",
        "admin.token",
        parsing.token,
        None,
        f"The bearer token of the admin listener, {LONG_ENOUGH} characters or more.",
        secret=True,
    ),
    Setting(
        "RESCRIPTUM_MEDIA_DIR",
        "media.dir",
        parsing.path,
        None,
        "Installer images and trees; unset, none are served.",
    ),
    Setting(
        "RESCRIPTUM_MEDIA_ADDR",
        "media.listen",
        Listen.parse,
        "0.0.0.0:8001",
        "Where the media listener binds; loaders expect port 8001.",
    ),
    Setting(
        "RESCRIPTUM_MEDIA_TIMEOUT_SECS",
        "media.seconds",
        parsing.number(1, 86400, "seconds"),
        "600",
        "How long a transfer on the media listener may stand still before it is dropped.",
    ),
    Setting(
        "RESCRIPTUM_MEDIA_MAX_CONNECTIONS",
        "media.connections",
        parsing.number(1, 65536, "connections"),
        "2048",
        "How many files above 256 KiB the media listener sends at once.",
    ),
    Setting(
        "RESCRIPTUM_PUBLIC_HOST",
        "host",
        parsing.host,
        None,
        "The address of this server that scripts and DHCP snippets name.",
        "the address that the default route leaves from",
    ),
    Setting(
        "RESCRIPTUM_BOOT_DIR",
        "boot.dir",
        parsing.path,
        None,
        "The loaders; unset, there is no TFTP listener and nothing under /boot/.",
    ),
    Setting(
        "RESCRIPTUM_BOOT_ALLOW",
        "boot.allow",
        AllowList.parse,
        None,
        "Networks whose machines TFTP and the media listener answer; unset, all of them.",
    ),
    Setting(
        "RESCRIPTUM_BOOT_TIMEOUT_SECS",
        "boot.seconds",
        parsing.number(1, 3600, "seconds"),
        "15",
        "How long the menu waits before it boots the local disk.",
    ),
    Setting(
        "RESCRIPTUM_BOOT_UNCLAIMED",
        "boot.unclaimed",
        parsing.unclaimed,
        "menu",
        "Where a machine goes that no document claims: menu, or local for its own disk.",
    ),
    Setting(
        "RESCRIPTUM_BOOT_TITLE",
        "boot.title",
        parsing.title,
        None,
        "The menu's title; iPXE's settings in it expand.",
        "rescriptum, its version and ${next-server}",
    ),
    Setting(
        "RESCRIPTUM_BOOT_LOGO",
        "boot.logo",
        parsing.path,
        None,
        "A PNG that the menu shows behind its text on machines with a screen.",
    ),
    Setting(
        "RESCRIPTUM_TFTP_ADDR",
        "tftp.listen",
        parsing.tftp,
        "0.0.0.0:69",
        "Where TFTP binds, or off where another server hands the loaders over.",
    ),
    Setting(
        "RESCRIPTUM_TFTP_BLKSIZE",
        "tftp.blksize",
        parsing.number(512, MAX_BLKSIZE, "bytes"),
        str(MAX_BLKSIZE),
        "The largest TFTP block; 1400 where a tunnel or VLAN tag lowers the MTU.",
    ),
    Setting(
        "RESCRIPTUM_TFTP_PORT_RANGE",
        "tftp.ports",
        parsing.ports,
        None,
        "FIRST-LAST: the UDP ports that TFTP data leaves from, for a firewall; unset, any.",
    ),
    Setting(
        "RESCRIPTUM_CONTROLLERS_FILE",
        "power.controllers",
        parsing.path,
        None,
        "What controls the power of machines, for commands alone; unset, nothing does.",
    ),
    Setting(
        "RESCRIPTUM_TLS_CERT",
        "tls.cert",
        parsing.path,
        None,
        "A PEM certificate chain: the answer, media and admin listeners then speak TLS.",
    ),
    Setting(
        "RESCRIPTUM_TLS_KEY",
        "tls.key",
        parsing.path,
        None,
        "The certificate's private key, PEM.",
    ),
    Setting(
        "RESCRIPTUM_USER",
        "user",
        parsing.line,
        None,
        "The user to become once the ports are bound.",
    ),
    Setting(
        "RESCRIPTUM_GROUP",
        "group",
        parsing.line,
        None,
        "The group to become once the ports are bound.",
        "the user's own group",
    ),
    Setting(
        "RESCRIPTUM_LOG",
        "log.show",
        parsing.one_of("all", "problems", "off"),
        "all",
        "Which lines are written: all, problems, or off.",
    ),
    Setting(
        "RESCRIPTUM_LOG_FILE",
        "log.file",
        parsing.line,
        "stderr",
        "Where lines are written: stderr, stdout, or a file that is appended to.",
    ),
)

BY_VARIABLE = {each.variable: each for each in SETTINGS}
BY_PATH = {each.path: each for each in SETTINGS if each.path}
