"""``rescriptum power``: programs, packets and BMCs that are there."""

import json
import os
import socket
import subprocess
import sys
from typing import cast

from attrs import fields
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from rescriptum.bmc.redfish.quirks import QuirkProfile
from rescriptum.cli.power.listing import ListOptions
from rescriptum.cli.power.machine import (
    OffOptions,
    OnOptions,
    ProbeOptions,
    PxeOptions,
    StatusOptions,
)
from rescriptum.cli.power.ways import Ways
from rescriptum.contract.bmc import PowerAction, SetPower
from rescriptum.errors import ConfigError, NotFound
from rescriptum.net.processes import Reactor
from rescriptum.power.controllers import Controlled, Wake
from rescriptum.testing import Switch
from rescriptum.values import MAC as Address

from ..bmccases import Asking
from ..bmcpeers import PASSWORD, USER, Emulator, Simulator
from ..powercases import MAC, PowerCase, script
from ..processes import ROOT

#: Says what it was run for, and does that to a file.
_MACHINE = """
echo "$POWER_OPERATION $POWER_MACHINE $* $RESCRIPTUM_ADMIN_TOKEN" >>{here}/runs
case $POWER_OPERATION in
  status) cat {here}/power ;;
  on) echo on >{here}/power ;;
  off|hard-off) echo off >{here}/power ;;
esac
"""


def redfish(asking: Asking, name: str = MAC, **more: str) -> str:
    """:returns: the table of a fake BMC."""
    pin = asking.bmc.pin.replace("sha256/", "sha256//")
    said = {"pinnedpubkey": f'"{pin}"', **more}
    lines = "".join(f"{key} = {value}\n" for key, value in said.items())
    return (
        f'["{name}"]\nkind = "redfish"\nurl = "{asking.bmc.url}"\n'
        f'user = "{asking.bmc.username}"\npass = "{asking.bmc.password}"\n{lines}'
    )


class ProgramTests(PowerCase):
    def setUp(self) -> None:
        super().setUp()
        (self.here / "power").write_text("off\n")
        self.program = script(self.here / "machine", _MACHINE.format(here=self.here))

    def runs(self) -> list[str]:
        path = self.here / "runs"
        return path.read_text().splitlines() if path.exists() else []

    def controls(self, **argv: list[str]) -> None:
        lines = [f"{name} = {json.dumps(each)}" for name, each in argv.items()]
        self.control("\n".join(['["m-1"]', 'kind = "command"', *lines]))

    async def test_each_operation_is_one_run(self) -> None:
        """With its arguments as they are; it is told what for, and no setting of ours."""
        program = str(self.program)
        asked = "asked; its controller does not say what came of it\n"
        os.environ["RESCRIPTUM_ADMIN_TOKEN"] = "not-for-programs"
        self.addCleanup(os.environ.pop, "RESCRIPTUM_ADMIN_TOKEN")
        self.controls(
            status=[program], on=[program, "a b", "$HOME;"], off=[program], pxe=[program, "*"]
        )
        for options, argv, line in (
            (StatusOptions(), ("M1",), "m-1: off\n"),
            (OnOptions(), ("m-1",), f"m-1: {asked}"),
            (StatusOptions(), ("m1",), "m-1: on\n"),
            (PxeOptions(), ("m1",), "m-1: boots from the network once\n"),
            (OffOptions(), ("m1",), f"m-1: {asked}"),
            (OffOptions(), ("m1", "--hard"), f"m-1: {asked}"),
        ):
            said = await self.run_command(options, *argv)
            self.assertEqual((said.code, said.out, said.err), (0, line, ""))
        self.assertEqual(
            self.runs(),
            [
                "status m-1  ",
                "on m-1 a b $HOME; ",
                "status m-1  ",
                "pxe m-1 * ",
                "off m-1  ",
                "hard-off m-1  ",
            ],
        )

    async def test_what_it_cannot(self) -> None:
        """An operation without a command is none; one without a program has nothing to do."""
        self.controls(pxe=[], on=["/nowhere/at-all"])
        self.assertEqual((await self.run_command(PxeOptions(), "m-1")).code, 0)
        for options, text in (
            (StatusOptions(), "unsupported-operation: no command for status"),
            (OffOptions(), "unsupported-operation: no command for soft-off"),
            (OnOptions(), "invalid-config: on: no program /nowhere/at-all on PATH"),
            (ProbeOptions(), "unsupported-operation: there is nothing to find out of command"),
        ):
            said = await self.run_command(options, "m-1")
            self.assertEqual((said.code, said.out), (1, ""))
            self.assertIn(f"error: m-1: {text}", said.err)
        with self.assertRaisesRegex(NotFound, "power of m-2, there is m-1"):
            await self.run_command(OnOptions(), "m-2")

    async def test_what_goes_wrong(self) -> None:
        """An exit code, with its last words; a state that is none."""
        bad = str(script(self.here / "bad", "echo one >&2; printf 'tw\\033o\\n' >&2; exit 3"))
        self.controls(on=[bad], status=["echo", "maybe"])
        said = await self.run_command(OnOptions(), "m-1")
        self.assertIn("error: m-1: failed: on: its program ended with 3: tw\\x1bo.", said.err)
        said = await self.run_command(StatusOptions(), "m-1", "--json")
        self.assertEqual(
            (said.code, said.told),
            (
                1,
                {
                    "machine": "m-1",
                    "kind": "command",
                    "operation": "power.getPower",
                    "ok": False,
                    "code": "bad-response",
                    "detail": "status printed neither on nor off",
                    "unknown": False,
                    "data": {},
                },
            ),
        )

    async def test_nobody_knows(self) -> None:
        """What does not end in time is ended, is not tried again, and may have been done."""
        slow = script(self.here / "slow", f"echo begun >>{self.here}/runs; exec sleep 600")
        self.control(f'[a]\nkind="command"\non=["{slow}"]\nstatus=["{slow}"]\ntimeout=1\n')
        said = await self.run_command(OnOptions(), "a")
        self.assertEqual((said.code, said.out), (1, ""))
        self.assertIn("error: a: timeout: on: the program was ended after", said.err)
        self.assertIn("Nobody knows whether it was done, and it is not tried again", said.err)
        self.assertIn("'rescriptum power status a'", said.err)
        self.assertEqual(self.runs(), ["begun"])
        said = await self.run_command(OnOptions(), "a", "-j")
        self.assertEqual((said.told["code"], said.told["unknown"]), ("timeout", True))
        said = await self.run_command(StatusOptions(), "a")
        self.assertNotIn("Nobody knows", said.err)

    async def test_the_file_is_its_owners(self) -> None:
        self.controls(on=[])
        self.file.chmod(0o640)
        for options, argv in ((OnOptions(), ("m-1",)), (ListOptions(), ())):
            with self.assertRaisesRegex(ConfigError, "mode 0640"):
                await self.run_command(options, *argv)


class ShellTests(PowerCase):
    """As a shell sees it."""

    def run_here(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", "from rescriptum.cli.main import run; run()", *argv],
            env={
                "PYTHONPATH": str(ROOT),
                "PATH": os.defpath,
                "RESCRIPTUM_CONTROLLERS_FILE": str(self.file),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def test_exit_codes(self) -> None:
        """Done, not done, and a file that is wrong: never a traceback, never a password."""
        table = '[a]\nkind = "redfish"\nurl = "https://127.0.0.1:1"\nuser = "u"\npass = "hunter2"\n'
        self.control("")
        for text, argv, code, out, err in (
            ("", ("list", "--state"), 0, "", ""),
            ('[a]\nkind = "command"\non = []\n', ("list",), 0, "a  command    on\n", ""),
            (f"{table}verify = false\n", ("status", "a"), 1, "", "unreachable: Connection refused"),
            (
                f"{table}verify = false\n",
                ("status", "b"),
                1,
                "",
                "error: nothing controls the power",
            ),
            (
                f"{table}verif = false\n",
                ("on", "a"),
                2,
                "",
                ":6: a: verif: redfish has no such key",
            ),
            (f"{table}verify = false\n", ("on",), 2, "", "error: which machine?"),
        ):
            self.control(text)
            done = self.run_here("power", *argv)
            self.assertEqual((done.returncode, done.stdout), (code, out), done.stderr)
            self.assertIn(err, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertNotIn("hunter2", done.stderr)

    def test_without_the_extras(self) -> None:
        """What signs and reads messages is not there on an operator's own machine."""
        code = (
            "import sys\n"
            "sys.modules.update(dict.fromkeys(['joserfc', 'cattrs', 'sqlalchemy']))\n"
            "import rescriptum.cli.power.group, rescriptum.cli.install"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))


class WakeTests(PowerCase):
    async def test_a_packet_arrives(self) -> None:
        """On the port that was named; nothing else can be asked of it."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine:
            machine.bind(("127.0.0.1", 0))
            machine.settimeout(10)
            port = machine.getsockname()[1]
            self.control(f'["{MAC}"]\nkind = "wol"\nbroadcast = "127.0.0.1"\nport = {port}\n')
            said = await self.run_command(OnOptions(), MAC)
            self.assertEqual((said.code, said.err), (0, ""))
            self.assertEqual(machine.recv(2048), b"\xff" * 6 + b"\x52\x54\x00\x12\x34\x56" * 16)
        for options in (StatusOptions(), OffOptions(), PxeOptions()):
            said = await self.run_command(options, MAC)
            self.assertIn("Wake-on-LAN powers on, and nothing else", said.err)
            self.assertEqual(said.code, 1)

    async def test_there_is_nothing_to_rest(self) -> None:
        """No two of them share a BMC: time stands still, and the second packet leaves too."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine:
            machine.bind(("127.0.0.1", 0))
            wake = Wake(Address.parse(MAC), "127.0.0.1", machine.getsockname()[1])
            ways = Ways(cast(Reactor, Clock()), lambda line: None)
            for name in ("a", "b"):
                asked = ways.ask(Controlled(name, wake), "power.setPower", SetPower(PowerAction.ON))
                self.successResultOf(Deferred.fromCoroutine(asked))

    async def test_no_such_interface(self) -> None:
        self.control(f'["{MAC}"]\nkind = "wol"\ninterface = "nothere0"\n')
        said = await self.run_command(OnOptions(), MAC)
        self.assertEqual(said.code, 1)
        self.assertIn("unreachable: 255.255.255.255 by nothere0: ", said.err)


class RedfishTests(PowerCase):
    def asking(self, *switches: Switch) -> Asking:
        asking = Asking.of(*switches)
        self.addCleanup(lambda: self.closed(asking))
        return asking

    async def closed(self, asking: Asking) -> None:
        """No command has let out the password."""
        await asking.close()
        for each in self.said:
            self.assertNotIn(asking.bmc.password, each.out + each.err)

    async def test_there_and_back(self) -> None:
        asking = self.asking()
        self.control(redfish(asking))
        for options, argv, line in (
            (StatusOptions(), (), "off"),
            (OnOptions(), (), "on"),
            (OnOptions(), (), "on already"),
            (PxeOptions(), (), "boots from the network once in UEFI mode"),
            (OffOptions(), (), "off"),
            (OnOptions(), (), "on"),
            (OffOptions(), ("--hard",), "off"),
            (OffOptions(), ("--hard",), "off already"),
        ):
            said = await self.run_command(options, MAC, *argv, reactor=asking.hurried)
            self.assertEqual((said.code, said.out, said.err), (0, f"{MAC}: {line}\n", ""))
        self.assertEqual(asking.bmc.state.sessions, ())

    async def test_what_a_bmc_says_no_with(self) -> None:
        """Another key, another password, several systems, a BMC that hangs: each its code."""
        other = '"sha256//AHc5lRFxlPpFNrCv3+bxSk1qyMMNRcU2lVtPGn3nCJ0="'
        for switches, more, text in (
            ((), {"pinnedpubkey": other}, "pin-mismatch: the server's key is sha256/"),
            ((), {"user": '"nobody"'}, "auth-failed"),
            ((Switch.TWO_SYSTEMS,), {}, "invalid-config: several systems, name one of "),
            ((Switch.HANG,), {}, "timeout: no answer in time"),
        ):
            asking = self.asking(*switches)
            table = redfish(asking, **{each: more[each] for each in more if each != "user"})
            if "user" in more:
                table = table.replace('user = "admin"', f"user = {more['user']}")
            self.control(table)
            said = await self.run_command(StatusOptions(), MAC, reactor=asking.hurried)
            self.assertEqual((said.code, said.out), (1, ""))
            self.assertIn(f"error: {MAC}: {text}", said.err)
        self.assertIn("Check its address, its cable and the network between.", said.err)
        self.assertIn(f"# {MAC}: 10 s, still at it: https://127.0.0.1:", said.err)

    async def test_a_profile_for_programs(self) -> None:
        """Every field of it; without ``--json`` a line for each."""
        asking = self.asking(Switch.BOOT_SETTINGS)
        self.control(redfish(asking))
        said = await self.run_command(ProbeOptions(), MAC, "--json", reactor=asking.hurried)
        names = [each.name for each in fields(QuirkProfile)]
        self.assertEqual((said.code, list(said.told)), (0, names))
        self.assertTrue(said.told["boot_settings"])
        before = asking.bmc.state
        said = await self.run_command(ProbeOptions(), MAC, reactor=asking.hurried)
        self.assertEqual([line.split()[0] for line in said.out.splitlines()], names)
        self.assertEqual(asking.bmc.state.override, before.override)

    async def test_a_list_asks_nobody_unless_told(self) -> None:
        """Those behind one BMC come one after the other; one that is away costs its own line."""
        asking = self.asking(Switch.TWO_SYSTEMS)
        systems = [redfish(asking, f"blade-{n}", system=f'"{n}"') for n in (1, 2)]
        gone = (
            '[gone]\nkind="redfish"\nurl="https://127.0.0.1:1"\nuser="u"\npass="p"\nverify=false\n'
        )
        wake = f'["{MAC}"]\nkind = "wol"\n'
        self.control("".join([*systems, gone, wake]))
        said = await self.run_command(ListOptions(), reactor=asking.hurried)
        self.assertEqual((said.code, len(said.out.splitlines())), (0, 4))
        self.assertEqual(len(asking.bmc.heard), 0)
        said = await self.run_command(ListOptions(), "--state", "--json", reactor=asking.hurried)
        self.assertEqual(said.code, 1)
        states = [(each["machine"], each["state"], each.get("code")) for each in said.told]
        self.assertEqual(
            states,
            [
                ("blade-1", "off", None),
                ("blade-2", "off", None),
                ("gone", "unknown", "unreachable"),
                (MAC, "unknown", None),
            ],
        )
        self.assertEqual(asking.bmc.most_sessions, 1)


class EmulatorTests(PowerCase):
    async def test_a_bmc_that_others_wrote(self) -> None:
        """sushy-tools' emulator, over TLS, by its pin."""
        here = self.here / "peer"
        here.mkdir()
        peer = Emulator(here)
        self.addCleanup(peer.stop)
        pin = peer.pin.replace("sha256/", "sha256//")
        self.control(
            f'[box]\nkind = "redfish"\nurl = "{peer.url}"\nuser = "{USER}"\n'
            f'pass = "{PASSWORD}"\npinnedpubkey = "{pin}"\n'
        )
        for options, argv, line in (
            (StatusOptions(), (), "off"),
            (PxeOptions(), (), "boots from the network"),
            (OnOptions(), (), "on"),
            (OffOptions(), ("--hard",), "off"),
        ):
            said = await self.run_command(options, "box", *argv)
            self.assertEqual((said.code, said.err), (0, ""))
            self.assertTrue(said.out.startswith(f"box: {line}"), said.out)
        said = await self.run_command(ProbeOptions(), "box", "--json")
        self.assertEqual((said.code, said.told["sessions"]), (0, "basic"))
        self.assertNotIn(PASSWORD, "".join(each.out + each.err for each in self.said))


class IpmiTests(PowerCase):
    async def test_a_simulated_bmc(self) -> None:
        here = self.here / "peer"
        here.mkdir()
        peer = Simulator(here)
        self.addCleanup(peer.stop)
        self.control(
            f'[box]\nkind = "ipmi"\naddress = "{peer.address}"\nuser = "{USER}"\n'
            f'pass = "{PASSWORD}"\n'
        )
        for options, line in (
            (StatusOptions(), "off"),
            (PxeOptions(), "boots from the network once in UEFI mode"),
            (OnOptions(), "on"),
            (StatusOptions(), "on"),
        ):
            said = await self.run_command(options, "box")
            self.assertEqual((said.code, said.out, said.err), (0, f"box: {line}\n", ""))
        self.assertEqual(peer.told("power"), "1")
        self.assertNotIn(PASSWORD, "".join(each.out + each.err for each in self.said))
