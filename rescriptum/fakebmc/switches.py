"""THE table of switches: what BMCs in the field do, each to be had of the fake one."""

from collections.abc import Iterable
from difflib import get_close_matches
from enum import Enum
from typing import Self

from attrs import frozen

from ..errors import Malformed


class Switch(Enum):
    """
    One thing that some BMCs do.

    :ivar word: what it is switched on by. :ivar quirk: its number among the quirks; empty: it is
        no vendor's manner but plain rudeness. :ivar does: what the fake BMC then does.
    """

    word: str
    quirk: str
    does: str

    def __init__(self, word: str, quirk: str, does: str) -> None:
        self.word = word
        self.quirk = quirk
        self.does = does

    # Names and lists.
    ODD_IDS = "odd-ids", "W200", "names its system System.Embedded.1 and its manager alike"
    TWO_SYSTEMS = "two-systems", "W200", "lists two systems, so that one has to be named"
    MEMBERS_DICT = "members-dict", "W201", "gives members as an object, not a list"
    MEMBERS_LINKS = "members-links", "W201", "gives members below Links"
    # The way in.
    SLASH = "slash", "W202", "redirects /redfish/v1 to /redfish/v1/"
    SESSIONS_SLASH = "sessions-slash", "W202", "redirects a login to the same URL and a slash"
    SEE_OTHER = "see-other", "W203", "answers actions 303, with a task to be read by GET"
    SLOTS_TAKEN = "slots-taken", "W204", "has its session slots taken: 503 RAC0218 for two logins"
    SLOTS_FULL = "slots-full", "W204", "has its session slots taken for good"
    NO_SESSIONS = "no-sessions", "W204", "knows no sessions, only basic authentication"
    SESSIONS_ELSEWHERE = "sessions-elsewhere", "W205", "names its sessions in Links.Sessions alone"
    SESSION_EXPIRES = "session-expires", "W206", "forgets each machine's first session soon"
    LOGOUT_FAILS = "logout-fails", "W206", "answers 404 to a logout that it does"
    NO_IDENTITY = "no-identity", "W207", "answers 406 for registries where identity is asked for"
    ODATA_VERSION = "odata-version", "W208", "answers 412 without OData-Version: 4.0"
    NO_REUSE = "no-reuse", "W208", "answers 500 once, and drops the connection that then goes on"
    OLD_TLS = "old-tls", "W209", "speaks TLS 1.1 at most"
    EXPIRED = "expired", "W210", "shows a certificate that has expired"
    WRONG_CLOCK = "wrong-clock", "W211", "believes it is 1970, and its certificate of the future"
    EXTENDED_OBJECT = "extended-object", "W212", "gives ExtendedInfo as an object, not a list"
    BARE_MESSAGE_IDS = "bare-message-ids", "W212", "leaves the registry out of MessageId"
    # ETags.
    NEEDS_IF_MATCH = "needs-if-match", "W213", "answers 428 to a PATCH without If-Match"
    GET_FIRST = "get-first", "W214", "answers 412 unless If-Match is what a GET gave"
    ETAG_QUOTED_TWICE = "etag-quoted-twice", "W215", "quotes its ETag header twice"
    ETAG_BODY_ONLY = "etag-body-only", "W215", "gives the ETag in the body alone"
    ETAG_BODY_DIFFERS = "etag-body-differs", "W215", "gives two ETags, and takes the body's"
    ETAG_WEAK = "etag-weak", "W215", "gives a weak ETag, and takes only the strong form"
    ETAG_ANY = "etag-any", "W215", "takes no If-Match but a star"
    ETAG_EMPTY = "etag-empty", "W216", "gives an empty ETag, and takes no If-Match"
    ETAG_CHANGES = "etag-changes", "W217", "gives another ETag for each GET; the last one counts"
    ETAG_NEVER = "etag-never", "W215", "answers 412 to every PATCH"
    # Boot override.
    BOOT_RESETS = "boot-resets", "W218", "resets what a PATCH of Boot does not name"
    MODE_READ_ONLY = "mode-read-only", "W219", "answers 400 to a boot mode"
    NO_CONTINUOUS = "no-continuous", "W220", "knows no override but once"
    CONTINUOUS_FORGOTTEN = "continuous-forgotten", "W220", "takes Continuous, and makes it Disabled"
    BOOT_SETTINGS = "boot-settings", "W221", "takes the override on its settings resource alone"
    BOOT_TRIPLE = "boot-triple", "W222", "answers 400 to a PATCH of Boot without all three"
    OVERRIDE_SURVIVES = "override-survives", "W223", "keeps an override of once after the boot"
    CONFIG_JOB = "config-job", "W224", "refuses an override until the machine was reset"
    NO_HTTP_BOOT = "no-http-boot", "W225", "cannot boot by HTTP"
    # Power.
    NO_GRACEFUL_RESTART = "no-graceful-restart", "W226", "knows no GracefulRestart"
    NO_FORCE_RESTART = "no-force-restart", "W226", "knows no ForceRestart"
    NO_POWER_CYCLE = "no-power-cycle", "W226", "knows no PowerCycle"
    NO_NMI = "no-nmi", "W226", "knows no Nmi"
    ACTION_INFO = "action-info", "W226", "lists its reset types in an ActionInfo"
    NO_ALLOWABLE = "no-allowable", "W226", "lists no reset types"
    SAME_STATE = "same-state", "W227", "answers 409 to On when on, and to ForceOff when off"
    IN_POST = "in-post", "W228", "refuses three changes as a machine in POST does"
    POWER_LAGS = "power-lags", "W229", "changes its power only after 12 seconds"
    POWER_NULL = "power-null", "W229", "knows no power state for 12 seconds after a change"
    # Virtual media.
    MEDIA_IN_SYSTEM = "media-in-system", "W231", "has its media below the system"
    MEDIA_DVD = "media-dvd", "W231", "has a USB stick first, and calls the other slot DVD"
    MEDIA_CREDENTIALS = "media-credentials", "W232", "answers 500 to media without credentials"
    MEDIA_STRICT = "media-strict", "W232", "answers 400 to Inserted and WriteProtected"
    MEDIA_TRANSFER = "media-transfer", "W232", "answers 400 without TransferProtocolType"
    MEDIA_PATCH = "media-patch", "W232", "has no actions for media, and takes a PATCH"
    EJECT_BODY = "eject-body", "W233", "answers 400 to an eject without {}"
    INSERTED_STALE = "inserted-stale", "W233", "says Inserted after an eject"
    EJECT_ERROR = "eject-error", "W233", "answers 500 to an eject that it does"
    NO_QUERY = "no-query", "W234", "refuses an image URL with ? or ="
    USB_CD = "usb-cd", "W235", "boots media as UsbCd, not Cd"
    # Tasks.
    TASK_BODY = "task-body", "W236", "names a task in the body of its 202 alone"
    TASK_NONE = "task-none", "W236", "answers 200 and nothing, and updates"
    NO_UPDATE = "no-update", "W236", "has no SimpleUpdate"
    TASK_VANISHES = "task-vanishes", "W237", "forgets a task as it ends"
    MONITOR_ONCE = "monitor-once", "W238", "forgets a finished task once its monitor was read"
    MONITOR_SUFFIX = "monitor-suffix", "W239", "has its monitors at the task's URL and /Monitor"
    TASK_LATE = "task-late", "W239", "answers 404 for a task that was just begun"
    TASK_CRITICAL = "task-critical", "W240", "completes an update with status Critical"
    TASK_STUCK = "task-stuck", "W240", "never ends a task"
    TASK_FOREIGN = "task-foreign", "W241", "names a task by a URL of another host"
    # Accounts.
    PASSWORD_KEPT = "password-kept", "W242", "answers 200 to a new password, and keeps the old"
    PASSWORD_DROPS = "password-drops", "W242", "takes a new password, and drops the connection"
    NO_LOGIN_RIGHT = "no-login-right", "W243", "answers 403 to whoever has changed a password"
    CHANGE_REQUIRED = "change-required", "W244", "refuses all but the change of its password"
    ACCOUNTS_IN_MANAGER = "accounts-in-manager", "W245", "has its accounts below the manager"
    PASSWORD_RULES = "password-rules", "W246", "refuses passwords that are not of 8 to 20"
    LOCKS_OUT = "locks-out", "W246", "locks an account after three wrong passwords"
    OLD_SESSIONS = "old-sessions", "W247", "keeps sessions of an old password"
    WEAK = "weak", "W249", "answers 503 to a second request while it answers one"
    # Rude.
    HANG = "hang", "", "never answers but for its service root"
    HUGE = "huge", "", "answers systems with 5 MiB"
    CUT = "cut", "", "closes in the middle of its systems"
    GARBAGE = "garbage", "", "answers systems with what is no JSON"
    WRONG_TYPES = "wrong-types", "", "has numbers where texts belong, and texts where objects do"
    DEEP = "deep", "", "nests its systems ten thousand lists deep"
    ALWAYS_401 = "always-401", "", "takes logins, and refuses their sessions"
    ECHO = "echo", "", "repeats passwords in the text of its errors"
    REDIRECT_HOST = "redirect-host", "", "redirects to another host"
    REDIRECT_HTTP = "redirect-http", "", "redirects to http"
    REDIRECT_PATH = "redirect-path", "", "redirects to another path"
    REDIRECT_LOOP = "redirect-loop", "", "redirects to the same path and one slash more, for ever"


_BY_WORD = {each.word: each for each in Switch}


@frozen
class Switches:
    """Those that are on."""

    chosen: frozenset[Switch] = frozenset()

    def __contains__(self, switch: Switch) -> bool:
        return switch in self.chosen

    @classmethod
    def of(cls, *chosen: Switch) -> Self:
        return cls(frozenset(chosen))

    @classmethod
    def parse(cls, words: Iterable[str]) -> Self:
        """:raises Malformed: for a word that is none, with the nearest that is."""
        chosen = set()
        for word in words:
            found = _BY_WORD.get(word)
            if found is None:
                near = get_close_matches(word, _BY_WORD, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise Malformed(f"no such switch: {word!r}{hint}")
            chosen.add(found)
        return cls(frozenset(chosen))
