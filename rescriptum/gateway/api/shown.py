"""Values of the shapes as replies have them: what is None is left out."""

from attrs import has

from ...contract.structure import plain


def shown(value: object) -> object:
    """:returns: what JSON has, of an attrs value; JSON in it stays as it is."""
    if not has(type(value)):
        return value
    made = plain(value)
    return {
        name: _part(getattr(value, name), there)
        for name, there in made.items()
        if getattr(value, name) is not None
    }


def _part(value: object, there: object) -> object:
    if has(type(value)):
        return shown(value)
    if isinstance(value, tuple):
        assert isinstance(there, list | tuple)
        return [_part(*each) for each in zip(value, there, strict=True)]
    return there
