"""Who may ask: sessions, basic authentication, and what a BMC says to strangers."""

from base64 import b64decode

from attrs import evolve

from ..values import Secret
from .asking import NOTHING, Answer, Ask, refusal
from .places import ROOT, Places
from .state import LOCKED, SLOTS, Account, Session, State
from .switches import Switch

#: Requests after which a forgetful BMC has lost its first session.
_FORGOTTEN = 2


def known(state: State, ask: Ask) -> tuple[State, Account | Answer]:
    """:returns: whose request it is, or what is said to whoever it is."""
    token = ask.headers.get("x-auth-token")
    if token is not None:
        return _by_session(state, token, ask.now)
    scheme, _, told = ask.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return state, _stranger(state)
    try:
        name, _, password = b64decode(told, validate=True).decode().partition(":")
    except ValueError:
        return state, _stranger(state)
    return _by_password(state, name, password, ask.now)


def login(state: State, ask: Ask) -> tuple[State, Answer]:
    """A POST to the sessions."""
    switches, told = state.switches, ask.document or {}
    if Switch.NO_SESSIONS in switches:
        return state, refusal(switches, 404, "ResourceMissingAtURI", "There are no sessions.")
    name, password = told.get("UserName"), told.get("Password")
    if not isinstance(name, str) or not isinstance(password, str):
        return state, refusal(switches, 400, "PropertyMissing", "UserName or Password is missing.")
    state, whose = _by_password(state, name, password, ask.now)
    if isinstance(whose, Answer):
        return state, whose
    taken = Switch.SLOTS_FULL in switches or len(state.sessions) >= SLOTS
    if Switch.SLOTS_TAKEN in switches and state.refusals.count(Switch.SLOTS_TAKEN.word) < 2:
        state, taken = state.refused(Switch.SLOTS_TAKEN.word), True
    if taken:
        text = "The maximum number of user sessions has been reached."
        return state, refusal(switches, 503, "IDRAC.2.8.RAC0218", text)
    serial = state.serial + 1
    session = Session(str(serial), ask.fresh, name, ask.now)
    state = evolve(state, serial=serial, sessions=(*state.sessions, session))
    path = f"{Places.of(switches).sessions}/{session.id}"
    document = {"@odata.id": path, "Id": session.id, "UserName": name, "Password": None}
    return state, Answer(201, document, (("Location", path), ("X-Auth-Token", ask.fresh)))


def logout(state: State, id: str) -> tuple[State, Answer]:
    """A DELETE of a session."""
    kept = tuple(each for each in state.sessions if each.id != id)
    gone = len(kept) == len(state.sessions)
    state = evolve(state, sessions=kept)
    if gone or Switch.LOGOUT_FAILS in state.switches:
        return state, refusal(state.switches, 404, "ResourceMissingAtURI", "No such session.")
    return state, NOTHING


def limits(state: State, whose: Account, ask: Ask) -> Answer | None:
    """:returns: why an account may not do this; None: it may."""
    places = Places.of(state.switches)
    own = f"{places.accounts}/{2 + state.accounts.index(whose)}"
    if ask.method == "DELETE" and ask.place.startswith(places.sessions):
        return None
    if whose.must_change and not (ask.method in ("GET", "PATCH") and ask.place == own):
        text = f"The password provided for this account must be changed: PATCH it at {own}."
        return refusal(state.switches, 403, "PasswordChangeRequired", text, args=(own,))
    if whose.limited and ask.place != ROOT:
        return refusal(state.switches, 403, "InsufficientPrivilege", "You may not do that.")
    return None


def _stranger(state: State, password: str = "") -> Answer:
    said = f" {password!r} is wrong." if password and Switch.ECHO in state.switches else ""
    text = f"The credential is missing or wrong.{said}"
    return refusal(state.switches, 401, "NoValidSession", text)


def _by_session(state: State, token: str, now: float) -> tuple[State, Account | Answer]:
    found = next((each for each in state.sessions if Secret(each.token).matches(token)), None)
    if found is None or Switch.ALWAYS_401 in state.switches:
        return state, _stranger(state)
    used = evolve(found, used=now, requests=found.requests + 1)
    others = tuple(used if each is found else each for each in state.sessions)
    word = Switch.SESSION_EXPIRES.word
    if (
        Switch.SESSION_EXPIRES in state.switches
        and word not in state.refusals
        and used.requests > _FORGOTTEN
    ):
        kept = tuple(each for each in others if each is not used)
        return evolve(state, sessions=kept).refused(word), _stranger(state)
    whose = next(each for each in state.accounts if each.name == found.user)
    return evolve(state, sessions=others), whose


def _by_password(
    state: State, name: str, password: str, now: float
) -> tuple[State, Account | Answer]:
    found = next((each for each in state.accounts if each.name == name), None)
    if found is None:
        return state, _stranger(state, password)
    if now < found.locked_until:
        return state, refusal(state.switches, 401, "AccountLocked", "The account is locked.")
    if found.password.matches(password):
        return with_account(state, found, evolve(found, wrong=0, locked_until=0))
    wrong = found.wrong + 1
    until = now + LOCKED if Switch.LOCKS_OUT in state.switches and wrong >= 3 else 0
    state, _ = with_account(state, found, evolve(found, wrong=wrong, locked_until=until))
    return state, _stranger(state, password)


def with_account(state: State, old: Account, new: Account) -> tuple[State, Account]:
    """One account in another's place."""
    accounts = tuple(new if each is old else each for each in state.accounts)
    return evolve(state, accounts=accounts), new
