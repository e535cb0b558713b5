"""Changes of a password."""

from attrs import evolve

from ..values import Secret
from .access import with_account
from .asking import NOTHING, Answer, Ask, Rude, refusal
from .state import State
from .switches import Switch

_SHORTEST, _LONGEST = 8, 20


def change_password(state: State, at: int, ask: Ask) -> tuple[State, Answer]:
    """A PATCH of an account. :param at: which of them."""
    switches, told = state.switches, ask.document or {}
    password = told.get("Password")
    if not isinstance(password, str) or not password:
        text = "Only Password can be changed."
        return state, refusal(switches, 400, "PropertyNotWritable", text)
    if Switch.PASSWORD_RULES in switches and not _SHORTEST <= len(password) <= _LONGEST:
        said = f" {password!r} is not." if Switch.ECHO in switches else ""
        text = f"Passwords are of {_SHORTEST} to {_LONGEST} characters.{said}"
        related = ("#/Password",)
        return state, refusal(switches, 400, "PropertyValueFormatError", text, related=related)
    if Switch.ECHO in switches:
        text = f"The password cannot be {password!r}."
        return state, refusal(switches, 400, "PropertyValueNotInList", text)
    if Switch.PASSWORD_KEPT in switches:
        return state, Answer(200, {"Password": None})
    old = state.accounts[at]
    limited = Switch.NO_LOGIN_RIGHT in switches
    new = evolve(old, password=Secret(password), limited=limited, must_change=False)
    state, _ = with_account(state, old, new)
    state = evolve(state, version=state.version + 1)
    if Switch.OLD_SESSIONS not in switches:
        kept = tuple(each for each in state.sessions if each.user != old.name)
        state = evolve(state, sessions=kept)
    dropped = Rude.DROP if Switch.PASSWORD_DROPS in switches else None
    return state, evolve(NOTHING, rude=dropped)
