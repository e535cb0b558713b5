"""THE table of installers' own tools: which documents each is for, and how it is called."""

from attrs import frozen

from ..answers.checks.result import Rendered


@frozen
class Tool:
    """
    One row of the table.

    :ivar program: as it is found on ``PATH``.
    :ivar arguments: before the file's name.
    :ivar extensions: of documents that it is for.
    :ivar kinds: what they have to be taken for, by how that begins; empty for anything.
    :ivar unless: what it must not find in one: it would go and fetch a file from somewhere.
    """

    program: str
    arguments: tuple[str, ...]
    extensions: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    unless: bytes = b"\0"

    def suits(self, rendered: Rendered) -> bool:
        """:returns: whether it is for that document."""
        return (
            rendered.format in self.extensions
            and (not self.kinds or rendered.kind.startswith(self.kinds))
            and self.unless not in rendered.body
        )


TOOLS = (
    Tool("proxmox-auto-install-assistant", ("validate-answer",), ("toml",), ("Proxmox",)),
    Tool(
        "cloud-init",
        ("schema", "--config-file"),
        ("yaml", "yml", "vendor-data"),
        ("Ubuntu", "cloud-config"),
    ),
    Tool("ignition-validate", (), ("ign", "json"), ("Ignition",)),
    Tool("xmllint", ("--noout", "--nonet"), ("xml", "autoyast", "unattend")),
    Tool("ksvalidator", (), ("ks",), unless=b"%ksappend"),
    Tool("debconf-set-selections", ("--checkonly",), ("preseed", "seed")),
)
