"""What is said of a request that was tried."""

from collections.abc import Iterator

from attrs import evolve

from ..documents import DEFAULT, Document
from ..facts import RESERVED, Facts
from ..resolution import Chosen
from .finding import Checked, Severity, hint
from .result import Result
from .trials import Trial

#: What requests are known to carry, for the names of facts that are misspelt.
_FACTS = (
    *("mac", "uuid", "serial", "asset", "manufacturer", "product", "platform", "arch", "sku"),
    *("hostname", "fqdn", *sorted(RESERVED)),
)


def result_of(
    trial: Trial, severity: Severity, source: str, text: str, chosen: Chosen | None = None
) -> Result:
    """:param chosen: what the answer was, where there was one."""
    extension = trial.wanted.format.extension if trial.wanted is not None else ""
    who = "" if trial.role == DEFAULT else trial.who
    return Result(
        severity,
        source,
        text,
        format=extension if chosen is None else chosen.format.extension,
        machine=who if chosen is None else chosen.machine or who,
        group="" if chosen is None else chosen.group,
    )


def elsewhere(trial: Trial, wanted: Document, chosen: Chosen) -> Iterator[Result]:
    """The answer is another document."""
    top = chosen.layers[-1] if chosen.layers else wanted
    severity = Severity.PROBLEM
    said = f"never served: asked for {trial.who}, the answer is {top.source}"
    if trial.role == "member":
        severity = Severity.WARNING
        said = f"its member {trial.who} is claimed by group {chosen.group} first"
        if chosen.machine and top.control.extends is not None:
            severity = Severity.NOTE
            said = f"its member {trial.who} has a document that extends {top.control.extends}"
    elif trial.role == "example":
        reason = unheld(wanted, trial.facts) or f"the answer is {top.source}"
        said = f"does not reach it: {reason}"
    elif trial.role == DEFAULT and not chosen.default:
        severity = Severity.NOTE
        said = f"not checked: {top.source} claims the request that was made for it"
    yield result_of(trial, severity, wanted.source, said)


def unheld(document: Document, facts: Facts) -> str:
    """:returns: the criterion that an example does not fulfil."""
    for criterion in document.control.criteria:
        if not criterion.holds(facts):
            return f"{criterion} does not hold"
    return ""


def needs(trial: Trial, chosen: Chosen, missing: tuple[str, ...]) -> Iterator[Result]:
    """What only the server sets and did not is wrong; what a request may carry is not known."""
    source = chosen.layers[-1].source
    for name in missing:
        if name in ("machine", "group"):
            said = {
                "machine": "needs {{ machine }}: no machine's own document applies here; "
                "{{ mac }} may do",
                "group": "needs {{ group }}: no group applies here",
            }[name]
            yield result_of(trial, Severity.PROBLEM, source, said, chosen)
    names = [each for each in missing if each not in ("machine", "group")]
    if names:
        meant = "".join(
            hint(each, _FACTS) for each in names if each not in _FACTS and "." not in each
        )
        if trial.wanted is None:
            said = f"needs {', '.join(names)}, which the request does not carry{meant}"
            yield result_of(trial, Severity.PROBLEM, source, said, chosen)
        else:
            said = f"needs {', '.join(names)} from the request: not checked without --facts{meant}"
            yield result_of(trial, Severity.NOTE, source, said, chosen)


def findings(trial: Trial, chosen: Chosen, checked: Checked) -> Iterator[Result]:
    for each in checked.findings:
        if each.repeats and len(chosen.layers) > 1:
            continue
        about = result_of(trial, each.severity, chosen.layers[-1].source, each.text, chosen)
        yield evolve(about, path=each.path, line=each.line)
