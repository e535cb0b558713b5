"""A workflow begins only with what can be carried on to its end, as far as anybody can tell."""

from sqlalchemy import Connection

from ..contract.refusals import Rejected
from ..contract.structure import JSON
from .means import Means
from .parameters import checked
from .plans import WORKFLOWS
from .records import Workflow
from .records import WorkflowStep as StepRow
from .stores import images, machines, secrets, workflows
from .workflows import WorkflowKind


def start(
    means: Means,
    connection: Connection,
    kind: str,
    machine: str,
    parameters: JSON,
    operator: str,
    now: int,
) -> Workflow:
    """
    :param parameters: as the table has them; ``image`` names one that the gateway knows.
    :raises Rejected: ``invalid-payload``, ``not-found``; ``in-use`` while another is about it.
    """
    try:
        chosen = WorkflowKind(kind)
    except ValueError:
        kinds = ", ".join(each.value for each in WorkflowKind)
        raise Rejected("invalid-payload", f"kind: one of {kinds}") from None
    about = machines.get(connection, machine)
    said = checked(chosen, _with_image(connection, parameters))
    if said.get("user_data_ref"):
        secrets.get(connection, str(said["user_data_ref"]))  # it is there, before a disk is wiped
    steps = WORKFLOWS[chosen]
    if not about.macs and any(step.name == "boot.prepareRamdisk" for step in steps):
        raise Rejected("invalid-payload", f"machine {machine} has no MAC address to boot by")
    if not about.bmc_address and all(step.needs_bmc for step in steps):
        raise Rejected("invalid-payload", f"machine {machine} has no BMC")
    made = Workflow(means.new_id(), chosen.value, about.site, about.name, said, operator, now)
    rows = [StepRow(made.id, number, step.name) for number, step in enumerate(steps)]
    workflows.add(connection, made, rows)
    return made


def _with_image(connection: Connection, parameters: JSON) -> JSON:
    name = parameters.get("image")
    if name is None:
        return parameters
    image = images.get(connection, str(name))
    rest = {key: value for key, value in parameters.items() if key != "image"}
    return {"sha256": image.sha256, "url": image.url, "format": image.format, **rest}
