"""Tests for the import rule: which rooms may know of which, and who may touch the world."""

import ast
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).parent.parent / "rescriptum"

#: What only a shell may import: the world outside the arguments.
WORLD = (
    "twisted.internet",
    "twisted.web",
    "twisted.application",
    "os",
    "socket",
    "time",
    "random",
    "secrets",
)
SHELL_NAMES = {"protocol", "resource", "client", "store", "service"}
SHELL_NAMES |= {
    "runner",
    "queue",
    "config",
    "sources",
    "contradictions",
    "logs",
    "metrics",
    "testing",
    "tap",
}
SHELL_ROOMS = {"web", "net", "cli", "roles", "answers.stores", "gateway.stores", "gateway.replies"}
SHELL_ROOMS |= {"gateway.api"}
#: What every package may import beside itself; shells may have ``web`` and ``net`` too.
SHARED = {"", "__version__", "errors", "values", "interfaces", "parsing", "boot", "contract"}
SHARED_BY_SHELLS = {"web", "net"}
#: Modules of the top room that only its own modules and the joiners need.
TOP = {path.stem for path in ROOT.glob("*.py")}
JOINERS = {"roles", "cli", "tap", "testing"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield name, ast.parse(path.read_text(), str(path))


def imports(name: str, tree: ast.Module) -> Iterator[str]:
    """Absolute names of what is imported anywhere in the module; ours start with a dot."""
    package = (ROOT / name.replace(".", "/")).is_dir()
    here = name.split(".") if name else []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                assert node.module is not None
                yield node.module
                continue
            base = here if package else here[:-1]
            base = base[: len(base) - node.level + 1]
            stem = [*base, *(node.module.split(".") if node.module else [])]
            if node.module is None:
                for alias in node.names:
                    yield "." + ".".join([*stem, alias.name])
            else:
                yield "." + ".".join(stem)


def is_shell(name: str) -> bool:
    parts = name.split(".")
    rooms = {parts[0], ".".join(parts[:2])}
    return not rooms.isdisjoint(SHELL_ROOMS) or parts[-1] in SHELL_NAMES


class LayeringTests(SynchronousTestCase):
    def test_pure_modules_do_not_touch_the_world(self) -> None:
        """
        A module that is no shell by its name or its room imports no reactor, operating system,
        clock or randomness.
        """
        touching = [
            f"{name}: {what}"
            for name, tree in modules()
            if not is_shell(name)
            for what in imports(name, tree)
            if any(what == each or what.startswith(each + ".") for each in WORLD)
        ]
        self.assertEqual(touching, [])

    def test_packages_do_not_import_their_siblings(self) -> None:
        """
        A package imports what every room shares and itself; only roles and commands join rooms.
        """
        crossing = []
        for name, tree in modules():
            room = name.split(".")[0]
            if room in JOINERS or not name:
                continue
            allowed = SHARED | {room} | (SHARED_BY_SHELLS if is_shell(name) else set())
            if "." not in name and (ROOT / f"{name}.py").exists():
                allowed = SHARED | SHARED_BY_SHELLS | TOP
            for what in imports(name, tree):
                if what.startswith(".") and what[1:].split(".")[0] not in allowed:
                    crossing.append(f"{name}: {what}")
        self.assertEqual(crossing, [])

    def test_the_reactor_is_never_imported_at_module_level(self) -> None:
        """
        ``from twisted.internet import reactor`` is written inside functions of the roots only.
        """
        for name, tree in modules():
            for node in tree.body:
                if isinstance(node, ast.ImportFrom) and node.module == "twisted.internet":
                    self.assertNotIn("reactor", [alias.name for alias in node.names], name)

    def test_the_boot_server_speaks_no_dhcp(self) -> None:
        """The role's whole import closure holds no module of ``proxydhcp``."""
        closure, todo = set(), ["roles.serve"]
        trees = dict(modules())
        while todo:
            name = todo.pop()
            if name in closure or name not in trees:
                continue
            closure.add(name)
            todo += [what[1:] for what in imports(name, trees[name]) if what.startswith(".")]
        self.assertIn("roles.serve", closure)
        self.assertEqual([each for each in closure if each.startswith("proxydhcp")], [])
