"""Tests for ``rescriptum.power.reading`` and its table: the controllers file."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.pins import Pin
from rescriptum.errors import ConfigError, NotFound
from rescriptum.power.controllers import Commands, Controllers, Ipmi, Redfish, Wake
from rescriptum.power.fields import KINDS, LONGEST, MOST
from rescriptum.power.reading import MOST as MACHINES
from rescriptum.power.reading import lines_of, read
from rescriptum.values import MAC

BASE64 = "AHc5lRFxlPpFNrCv3+bxSk1qyMMNRcU2lVtPGn3nCJ0="
SECRET = "hunter2-of-the-BMC"
REDFISH = f"""
["52:54:00:12:34:56"]
kind = "redfish"
url = "https://192.0.2.5"
user = "root"
pass = "{SECRET}"
"""


def plain(text: str) -> str:
    """A normalisation of its own: which one it is, its caller says."""
    return "".join(each for each in text.lower() if each.isalnum() and each.isascii())


def taken(text: str) -> Controllers:
    return read(text, "c.toml", plain)


class ReadingTests(SynchronousTestCase):
    def problems(self, text: str) -> list[str]:
        error = self.assertRaises(ConfigError, taken, text)
        told = [str(each) for each in error.problems]
        self.assertNotIn(SECRET, str(told) + repr(error))
        return told

    def test_redfish(self) -> None:
        """What is usual, and everything that can be said."""
        [machine] = taken(f'{REDFISH}pinnedpubkey = "sha256//{BASE64}"\n')
        self.assertEqual(machine.name, "52:54:00:12:34:56")
        found = machine.controller
        assert isinstance(found, Redfish)
        self.assertEqual(found.url.to_text(), "https://192.0.2.5/redfish/v1")
        self.assertEqual((found.username, found.password.reveal()), ("root", SECRET))
        self.assertEqual((found.pin, found.authority), (Pin(f"sha256/{BASE64}"), None))
        self.assertEqual((found.system, found.legacy_tls, found.timeout), ("", False, 120))
        self.assertEqual(found.address, "192.0.2.5:443")
        self.assertNotIn(SECRET, f"{found!r} {found}")
        [machine] = taken(
            f'{REDFISH}cacert = "/etc/ca.pem"\nbase = "/api/redfish/v1"\nsystem = "2"\n'
            "legacy_tls = true\ntimeout = 3600\n"
        )
        found = machine.controller
        assert isinstance(found, Redfish)
        self.assertEqual(found.url.to_text(), "https://192.0.2.5/api/redfish/v1")
        self.assertEqual((found.pin, found.authority), (None, Path("/etc/ca.pem")))
        self.assertEqual((found.system, found.legacy_tls, found.timeout), ("2", True, 3600))

    def test_pins_in_both_spellings(self) -> None:
        for spelt in (f"sha256//{BASE64}", f"sha256/{BASE64}", BASE64):
            text = f'{REDFISH}pinnedpubkey = "{spelt}"\n'
            if spelt == BASE64:
                [told] = self.problems(text)
                self.assertIn("c.toml:7: 52:54:00:12:34:56: pinnedpubkey: want 'sha256//'", told)
            else:
                [machine] = taken(text)
                assert isinstance(machine.controller, Redfish)
                self.assertEqual(machine.controller.pin, Pin(f"sha256/{BASE64}"))

    def test_exactly_one_vouches(self) -> None:
        """None, two and three are refused; so is http:// with anything but ``verify = false``."""
        [told] = self.problems(REDFISH)
        self.assertEqual(
            told,
            "c.toml:2: 52:54:00:12:34:56: want exactly one of pinnedpubkey, cacert, verify: who"
            " vouches for the BMC",
        )
        [told] = self.problems(f'{REDFISH}verify = false\ncacert = "/ca"\n')
        self.assertIn("c.toml:7: 52:54:00:12:34:56: verify: want exactly one", told)
        [told] = self.problems(f"{REDFISH}verify = true\n")
        self.assertIn("verify: want false; for verifying, say pinnedpubkey or cacert", told)
        insecure = REDFISH.replace("https", "http")
        taken(f"{insecure}verify = false\n")
        [told] = self.problems(f'{insecure}cacert = "/ca"\n')
        self.assertIn("c.toml:4: 52:54:00:12:34:56: url: want https://", told)

    def test_what_is_no_place(self) -> None:
        """A name that no resolver takes; a user, who may have a password beside it."""
        rest = 'user = "u"\npass = "p"\n'
        for address in ("root:hunter2@192.0.2.6", "https://bmc", "a..b", "x" * 64, "h:0", "a b"):
            with self.assertRaises(ConfigError) as caught:
                read(f'[a]\nkind = "ipmi"\naddress = "{address}"\n{rest}', "c.toml", str.lower)
            [problem] = caught.exception.problems
            self.assertTrue(str(problem).startswith("c.toml:3: a: address: want HOST"), problem)
            self.assertNotIn("hunter2", str(problem))
        for address in ("bmc-1.example.", "192.0.2.6:623", "[fd00::1]:623", "fd00::1", "_b"):
            read(f'[a]\nkind = "ipmi"\naddress = "{address}"\n{rest}', "c.toml", str.lower)
        for url in ("https://a..b", "https://" + "x" * 64, "https://büro"):
            text = f'[a]\nkind = "redfish"\nurl = "{url}"\nverify = false\n{rest}'
            self.assertRaises(ConfigError, read, text, "c.toml", str.lower)
        text = f'[a]\nkind = "redfish"\nurl = "https://[fd00::1]:8443"\nverify = false\n{rest}'
        read(text, "c.toml", str.lower)

    def test_the_other_kinds(self) -> None:
        text = (
            '[a]\nkind="ipmi"\naddress="192.0.2.6:623"\nuser="u"\npass="p"\ncipher=3\n'
            'privilege="OPERATOR"\n[b]\nkind="command"\non=["/bin/on", ""]\npxe=[]\ntimeout=5\n'
            '[c]\nkind="wol"\nmac="52-54-00-AB-CD-EF"\nbroadcast="192.0.2.255"\nport=7\n'
            'interface="eth1"\n[525400abcdee]\nkind="wol"\n'
        )
        found = [each.controller for each in taken(text)]
        ipmi, command, wake, own = found
        assert isinstance(ipmi, Ipmi)
        self.assertEqual(ipmi.address, "192.0.2.6:623")
        self.assertEqual(ipmi.options, {"cipher_suites": [3], "privilege": "OPERATOR"})
        self.assertEqual(command, Commands({"on": ("/bin/on", ""), "pxe": ()}, 5))
        self.assertEqual(wake, Wake(MAC.parse("525400abcdef"), "192.0.2.255", 7, "eth1"))
        self.assertEqual(own, Wake(MAC.parse("525400abcdee")))
        self.assertEqual([each.can for each in found[1:3]], [("on", "pxe"), ("on",)])
        self.assertEqual([str(each) for each in found[1:2]], ["/bin/on"])

    def test_a_text_is_no_command(self) -> None:
        """No shell reads it: it would do something else than it says."""
        [told] = self.problems('[a]\nkind = "command"\non = "reboot; ls"\n')
        self.assertIn("c.toml:3: a: on: want a list, the program and each argument", told)
        self.assertNotIn("reboot", told)
        for wrong in ('[""]', "[1]", '["a\\u0000"]', "5", str(["x"] * (MOST + 1))):
            [told] = self.problems(f'[a]\nkind = "command"\non = {wrong}\n')
            self.assertIn("c.toml:3: a: on: want", told)
        taken(f'[a]\nkind = "command"\non = {["x"] * MOST}\n')

    def test_every_problem_with_its_line_and_what_would_be_right(self) -> None:
        text = (
            '["00:00:00:00:00:01"]\nkind = "redfsh"\n'
            f'["m.2"]\nkind = "ipmi"\nadress = "x"\nuser = "u"\n"pass" = ["{SECRET}"]\n'
            '[b.c]\nkind = "wol"\n[d]\n[e]\nkind = "wol"\nmac = "1"\n'
            'f = "g"\n["E"]\nkind = "wol"\n["--"]\nkind = "wol"\n'
            'x = 1\n[h]\nkind = "command"\n'
        )
        kinds = "redfish, ipmi, command, wol"
        self.assertEqual(
            self.problems(text),
            [
                f"c.toml:2: 00:00:00:00:00:01: kind: want one of {kinds}; did you mean redfish?",
                "c.toml:5: m.2: adress: ipmi has no such key; did you mean address?",
                "c.toml:7: m.2: pass: want a text of one line, in quotes",
                "c.toml:3: m.2: ipmi needs address: `HOST` or `HOST:PORT`.",
                f"c.toml:8: b: want kind = one of {kinds}; an id with dots stands in quotes",
                f"c.toml:10: d: want kind = one of {kinds}",
                "c.toml:13: e: mac: want a MAC address, such as 52:54:00:12:34:56",
                "c.toml:14: e: f: wol has no such key; there is mac, broadcast, port, interface",
                "c.toml:15: E: wol needs mac: its id is not one",
                "c.toml:17: --: want an id with letters or digits",
                "c.toml:20: h: want at least one of status, on, off, pxe",
            ],
        )

    def test_one_machine_twice(self) -> None:
        [told] = self.problems('[aa-1]\nkind="command"\non=[]\n["AA:1"]\nkind="command"\non=[]\n')
        self.assertEqual(told, "c.toml:4: AA:1: is the same machine as aa-1")

    def test_values_out_of_bounds(self) -> None:
        """Each says what would be right, and nothing of what was there."""
        good = f"{REDFISH}verify = false\n"
        for key, value in (
            ("url", '"ftp://x"'),
            ("url", f'"https://u:{SECRET}@x"'),
            ("url", '"https://x/redfish/v1"'),
            ("url", '"https://x?a=b"'),
            ("url", '"https://ü.example"'),
            ("url", '"https://["'),
            ("url", '""'),
            ("user", f'"{"x" * (LONGEST + 1)}"'),
            ("user", '"a\\nb"'),
            ("timeout", "0"),
            ("timeout", "3601"),
            ("timeout", "true"),
            ("timeout", '"5"'),
            ("legacy_tls", '"yes"'),
            ("base", '"redfish"'),
            ("base", '"/a/../b"'),
            ("base", '"/a?b"'),
            ("cacert", '"ca.pem"'),
        ):
            kept = [each for each in good.splitlines() if not each.startswith(f"{key} =")]
            [told] = self.problems("\n".join([*kept, f"{key} = {value}"]))
            self.assertRegex(told, rf"^c\.toml:\d+: 52:54:00:12:34:56: {key}: want ")
        taken(good.replace('"root"', f'"{"x" * LONGEST}"'))
        for kind, key, value in (
            ("wol", "broadcast", '"::1"'),
            ("wol", "port", "65536"),
            ("wol", "port", "0"),
            ("wol", "interface", '"a/b"'),
            ("ipmi", "cipher", "0"),
            ("ipmi", "cipher", "true"),
            ("ipmi", "privilege", '"root"'),
        ):
            rest = 'address="x"\nuser="u"\npass="p"' if kind == "ipmi" else 'mac="525400000001"'
            [told] = self.problems(f'[a]\nkind="{kind}"\n{rest}\n{key} = {value}\n')
            self.assertIn(f"a: {key}: want ", told)

    def test_what_is_no_toml(self) -> None:
        """Its line, and the likeliest reason."""
        [told] = self.problems("\n[52:54:00:12:34:56]\n")
        self.assertTrue(told.startswith("c.toml:2: not TOML; an id with colons stands"), told)
        [told] = self.problems("a = 1")
        self.assertIn("c.toml:1: a: want a table for each machine", told)
        [told] = self.problems("a = " + "[" * 5000 + "]" * 5000)
        self.assertIn("c.toml", told)

    def test_inline_tables(self) -> None:
        [told] = self.problems('\n"a-b" = {kind = "wol"}\n')
        self.assertEqual(told, "c.toml:2: a-b: wol needs mac: its id is not one")

    def test_as_many_as_there_may_be(self) -> None:
        """All of them wrong: each has its line."""
        tables = [f'[m{number}]\nkind = "wol"\n' for number in range(MACHINES)]
        self.assertEqual(len(self.problems("".join(tables))), MACHINES)
        [told] = self.problems("".join([*tables, "[x]\n"]))
        self.assertEqual(told, f"c.toml: {MACHINES + 1} machines; want {MACHINES} at the most")

    def test_finding_a_machine(self) -> None:
        found = taken('["52:54:00:12:34:56"]\nkind="wol"\n["rack-7"]\nkind="command"\non=[]\n')
        self.assertEqual(found.find("RACK7", "rack7").name, "rack-7")
        error = self.assertRaises(NotFound, found.find, "525400123457", "525400123457")
        self.assertIn("power of 525400123457, there is 52:54:00:12:34:56", str(error))
        error = self.assertRaises(NotFound, found.find, "q", "q")
        self.assertIn("nor anything like it", str(error))

    def test_keys_are_told_once(self) -> None:
        """The table: no key twice in a kind, each with a sentence."""
        for rows in KINDS.values():
            names = [each.name for each in rows]
            self.assertEqual(len(names), len(set(names)))
            self.assertTrue(all(each.help.endswith(".") for each in rows))

    @given(st.text(max_size=200))
    def test_any_text(self, text: str) -> None:
        """Controllers, or problems; nothing else is ever raised."""
        try:
            taken(text)
        except ConfigError as e:
            self.assertTrue(e.problems)

    @given(
        st.sampled_from(sorted(KINDS)),
        st.dictionaries(
            st.sampled_from([each.name for rows in KINDS.values() for each in rows]),
            st.one_of(
                st.integers(), st.booleans(), st.text(max_size=20), st.lists(st.text(max_size=5))
            ),
        ),
    )
    def test_any_values(self, kind: str, values: dict[str, object]) -> None:
        rows = KINDS[kind]
        for row in rows:
            if row.name in values:
                try:
                    row.parse(values[row.name])
                except ValueError as e:
                    self.assertTrue(str(e).startswith("want "), str(e))


class LineTests(SynchronousTestCase):
    def test_tables_and_keys(self) -> None:
        """Quoted or bare; the first of each; keys of no table are machines."""
        text = '# [a]\n"b" = {}\n["a"]\n  b = 1\n[ \'c\' ] # x\n"b" = 2\nd.e = 3\n[x\n["a"]\n'
        self.assertEqual(
            lines_of(text),
            {
                ("b", ""): 2,
                ("a", ""): 3,
                ("a", "b"): 4,
                ("c", ""): 5,
                ("c", "b"): 6,
                ("", ""): 8,
            },
        )
