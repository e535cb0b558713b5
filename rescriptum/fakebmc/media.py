"""Virtual media."""

from attrs import evolve

from .asking import NOTHING, Answer, Ask, refusal
from .state import State
from .switches import Switch


def insert(state: State, ask: Ask) -> tuple[State, Answer]:
    """A POST to ``InsertMedia``, or a PATCH where that is the way."""
    switches, told = state.switches, ask.document or {}
    image = told.get("Image")
    if not isinstance(image, str) or not image:
        return state, refusal(switches, 400, "ActionParameterMissing", "Image is missing.")
    if Switch.NO_QUERY in switches and any(each in image for each in "?="):
        text = "The image's URL has characters that are not allowed."
        return state, refusal(switches, 400, "ActionParameterValueFormatError", text)
    if Switch.MEDIA_STRICT in switches:
        for name in ("Inserted", "WriteProtected"):
            if name in told:
                text = f"The parameter {name} is not known."
                said = refusal(
                    switches,
                    400,
                    "ActionParameterUnknown",
                    text,
                    related=(f"#/{name}",),
                    args=(name,),
                )
                return state, said
    if Switch.MEDIA_CREDENTIALS in switches and not (told.get("UserName") and told.get("Password")):
        return state, Answer(500, raw=b"Internal error")
    if Switch.MEDIA_TRANSFER in switches and "TransferProtocolType" not in told:
        text = "TransferProtocolType is missing."
        args = ("TransferProtocolType",)
        return state, refusal(switches, 400, "ActionParameterMissing", text, args=args)
    if state.media:
        return state, refusal(switches, 409, "ResourceInUse", "There is an image already.")
    return evolve(state, media=image, version=state.version + 1).changed("boot"), NOTHING


def eject(state: State, ask: Ask) -> tuple[State, Answer]:
    """A POST to ``EjectMedia``, or a PATCH where that is the way."""
    switches = state.switches
    if Switch.EJECT_BODY in switches and ask.document is None:
        return state, refusal(switches, 400, "MalformedJSON", "There is no body.")
    if not state.media:
        return state, refusal(switches, 400, "ResourceMissing", "There is no image.")
    stale = Switch.INSERTED_STALE in switches
    state = evolve(state, media="", stale=stale, version=state.version + 1).changed("boot")
    if Switch.EJECT_ERROR in switches:
        return state, Answer(500, raw=b"Internal error")
    return state, NOTHING
