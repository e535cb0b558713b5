"""One request to a BMC: what it answers, and what it is afterwards."""

from collections.abc import Callable, Mapping

from attrs import evolve

from . import access, accounts, etags, media, power, updates
from .asking import NOTHING, Answer, Ask, Rude, refusal
from .documents import documents
from .places import ROOT, Places
from .state import State
from .switches import Switch

_HUGE = 5 << 20
_DEPTH = 10_000

Action = Callable[[State, Ask], tuple[State, Answer]]


def respond(state: State, ask: Ask) -> tuple[State, Answer]:
    """:returns: the BMC as it is after ``ask``, and what it says to it."""
    state = updates.progressed(state.settled(ask.now), ask.now)
    switches = state.switches
    early = _rudeness(state, ask) or _redirect(state, ask) or _unheeded(state, ask)
    if early is not None:
        return state, early
    places = Places.of(switches)
    if Switch.NO_REUSE in switches:
        word = Switch.NO_REUSE.word
        if ask.again:
            return state, Answer(rude=Rude.DROP)
        if ask.place == places.system and word not in state.refusals:
            return state.refused(word), Answer(500, raw=b"Internal error")
    if ask.method == "GET" and ask.place == ROOT:
        return _read(state, ask, places)
    if ask.method == "POST" and ask.place == places.sessions:
        return access.login(state, ask)
    state, whose = access.known(state, ask)
    if isinstance(whose, Answer):
        return state, whose
    limit = access.limits(state, whose, ask)
    if limit is not None:
        return state, limit
    if ask.method == "GET":
        return _read(state, ask, places)
    if ask.method == "DELETE" and ask.place.startswith(f"{places.sessions}/"):
        return access.logout(state, ask.place.rpartition("/")[2])
    return _write(state, ask, places)


def _read(state: State, ask: Ask, places: Places) -> tuple[State, Answer]:
    switches, place = state.switches, ask.place
    if Switch.NO_IDENTITY in switches and place.startswith(f"{ROOT}/Registries"):
        coding = ask.headers.get("accept-encoding", "")
        if "identity" in coding or not coding:
            return state, refusal(switches, 406, "NotAcceptable", "Only gzip is acceptable.")
    found = documents(state, ask.now).get(place)
    if found is None:
        return state, refusal(switches, 404, "ResourceMissingAtURI", "There is no such resource.")
    state = updates.monitor_read(state, place, ask.now)
    if not _changeable(place, places):
        return state, Answer(200, found)
    state, tags = etags.got(state)
    if tags.body is not None:
        found = {**found, "@odata.etag": tags.body}
    headers = (("ETag", tags.header),) if tags.header is not None else ()
    return state, Answer(200, found, headers)


def _changeable(place: str, places: Places) -> bool:
    fixed = (places.system, places.settings, places.medium)
    return place in fixed or place.startswith(f"{places.accounts}/")


def _write(state: State, ask: Ask, places: Places) -> tuple[State, Answer]:
    switches = state.switches
    action = _actions(state, places).get((ask.method, ask.place))
    if action is None and ask.method == "PATCH" and ask.place.startswith(f"{places.accounts}/"):
        action = _account(state, ask.place.rpartition("/")[2])
    if action is None:
        return state, refusal(switches, 404, "ResourceMissingAtURI", "There is no such resource.")
    if ask.method == "PATCH":
        unmatched = etags.unmatched(state, ask.headers.get("if-match"))
        if unmatched is not None:
            return state, unmatched
    if ask.place in (places.reset, places.system, places.settings):
        state, posting = power.in_post(state)
        if posting is not None:
            return state, posting
    state, answer = action(state, ask)
    if Switch.SEE_OTHER in switches and ask.method == "POST" and answer is NOTHING:
        state, task = updates.begun(state, ask.now, applied=True)
        return state, Answer(303, headers=(("Location", places.task(task.id)),))
    return state, answer


def _actions(state: State, places: Places) -> Mapping[tuple[str, str], Action]:
    switches = state.switches
    found: dict[tuple[str, str], Action] = {
        ("POST", places.reset): power.reset,
        ("PATCH", places.system): lambda state, ask: power.override(state, ask, False),
        ("POST", places.manager_reset): _manager_reset,
    }
    if Switch.BOOT_SETTINGS in switches:
        found["PATCH", places.settings] = lambda state, ask: power.override(state, ask, True)
    if Switch.MEDIA_PATCH in switches:
        found["PATCH", places.medium] = _patched_medium
    else:
        found |= {("POST", places.insert): media.insert, ("POST", places.eject): media.eject}
    if Switch.NO_UPDATE not in switches:
        found["POST", places.update] = updates.update
    return found


def _account(state: State, id: str) -> Action | None:
    numbers = {str(at): at - 2 for at, _ in enumerate(state.accounts, 2)}
    at = numbers.get(id)
    if at is None:
        return None
    return lambda state, ask: accounts.change_password(state, at, ask)


def _patched_medium(state: State, ask: Ask) -> tuple[State, Answer]:
    told = ask.document or {}
    return media.insert(state, ask) if told.get("Image") else media.eject(state, ask)


def _manager_reset(state: State, ask: Ask) -> tuple[State, Answer]:
    """Sessions do not survive it."""
    return evolve(state, sessions=()).logged("The BMC was reset"), NOTHING


def _rudeness(state: State, ask: Ask) -> Answer | None:
    switches = state.switches
    if Switch.HANG in switches and ask.place != ROOT:
        return Answer(rude=Rude.HANG)
    if Switch.WEAK in switches and ask.at_once > 1:
        return refusal(switches, 503, "ServiceTemporarilyUnavailable", "One at a time, please.")
    if ask.method != "GET" or not ask.place.startswith(f"{ROOT}/Systems"):
        return None
    if Switch.HUGE in switches:
        return Answer(200, raw=b'{"Members": "' + b"x" * _HUGE + b'"}')
    if Switch.GARBAGE in switches:
        return Answer(200, raw=b"\xff\xfe<html>\0 no JSON {")
    if Switch.DEEP in switches:
        return Answer(200, raw=b"[" * _DEPTH + b"]" * _DEPTH)
    if Switch.CUT in switches:
        return Answer(200, documents(state, ask.now).get(ask.place, {}), rude=Rude.CUT)
    return None


def _redirect(state: State, ask: Ask) -> Answer | None:
    switches, places = state.switches, Places.of(state.switches)
    bare = ask.path == ask.place
    to = None
    if Switch.SLASH in switches and ask.path == ROOT:
        to = f"{ROOT}/"
    elif Switch.SESSIONS_SLASH in switches and ask.method == "POST" and bare:
        to = f"{ask.path}/" if ask.place == places.sessions else None
    elif ask.method == "GET" and ask.place == ROOT:
        host = ask.headers.get("host", "")
        if Switch.REDIRECT_HOST in switches:
            to = f"{state.elsewhere}{ROOT}/"
        elif Switch.REDIRECT_HTTP in switches:
            to = f"http://{host}{ROOT}/"
        elif Switch.REDIRECT_PATH in switches:
            to = "/login/"
        elif Switch.REDIRECT_LOOP in switches:
            to = f"{ask.path}/"
    return Answer(308, headers=(("Location", to),)) if to is not None else None


def _unheeded(state: State, ask: Ask) -> Answer | None:
    switches = state.switches
    if Switch.ODATA_VERSION in switches and ask.headers.get("odata-version") != "4.0":
        return refusal(switches, 412, "PreconditionFailed", "OData-Version is not 4.0.")
    return None
