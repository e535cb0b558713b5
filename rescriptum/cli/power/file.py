"""The operator's controllers file, as the configuration names it."""

from ...answers.facts import normalise
from ...answers.selection import spellings
from ...config import Config
from ...errors import ConfigError
from ...power.controllers import Controlled, Controllers
from ...power.reading import read
from ...power.store import contents
from ...values import Problem

_VARIABLE = "RESCRIPTUM_CONTROLLERS_FILE"


def canonical(identity: str) -> str:
    """:returns: the one spelling of an identity that stands for all that answers know of it."""
    return min(spellings(normalise(identity)))


def controllers_of(config: Config) -> Controllers:
    """:raises ConfigError: when there is none, others may read it, or it is wrong."""
    path = config.controllers
    if path is None:
        text = "is not set; want a TOML file that says what controls the power of machines"
        raise ConfigError([Problem(_VARIABLE, text)])
    return read(contents(path), str(path), canonical)


def controlled(config: Config, identity: str) -> Controlled:
    """
    :param identity: of a machine, in any spelling.
    :raises ConfigError: as above.
    :raises NotFound: when nothing controls it.
    """
    return controllers_of(config).find(identity, canonical(identity))
