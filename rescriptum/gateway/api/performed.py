"""What performs each operation of the table, by its name."""

from collections.abc import Callable, Mapping
from typing import Final

from sqlalchemy import Connection

from . import joining, machines, people, sites, work, workflows
from .call import Call

#: In one transaction; it may be done again, when another one was in its way.
Perform = Callable[[Connection, Call], object]

PERFORMED: Final[Mapping[str, Perform]] = {
    "site-list": sites.listed,
    "site-create": sites.create,
    "site-show": sites.show,
    "site-change": sites.change,
    "site-remove": sites.remove,
    "lease-show": sites.lease,
    "lease-move": sites.move,
    "lease-quarantine": sites.quarantine,
    "token-list": joining.token_list,
    "token-create": joining.token_create,
    "token-remove": joining.token_remove,
    "node-list": joining.node_list,
    "node-show": joining.node_show,
    "node-remove": joining.node_remove,
    "machine-list": machines.machine_list,
    "machine-add": machines.machine_add,
    "machine-show": machines.machine_show,
    "machine-set": machines.machine_set,
    "machine-remove": machines.machine_remove,
    "discovered-list": machines.discovered_list,
    "adopt": machines.adopt,
    "image-list": machines.image_list,
    "image-add": machines.image_add,
    "image-show": machines.image_show,
    "image-remove": machines.image_remove,
    "image-assign": machines.image_assign,
    "image-unassign": machines.image_unassign,
    "command-list": work.command_list,
    "command-send": work.command_send,
    "command-show": work.command_show,
    "command-revoke": work.command_revoke,
    "batch-list": work.batch_list,
    "batch-show": work.batch_show,
    "approve": work.approve,
    "workflow-list": workflows.listed,
    "workflow-start": workflows.start,
    "workflow-show": workflows.show,
    "workflow-cancel": workflows.cancel,
    "secret-list": people.secret_list,
    "secret-set": people.secret_set,
    "secret-remove": people.secret_remove,
    "operator-me": people.me,
    "operator-list": people.operator_list,
    "operator-create": people.operator_create,
    "operator-remove": people.operator_remove,
    "pins": people.pins,
    "trust-show": people.trust_show,
    "trust-set": people.trust_set,
    "event-list": people.event_list,
}
