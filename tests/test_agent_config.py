"""Tests for ``rescriptum.agent.config`` and ``rescriptum.agent.settings``."""

from ipaddress import IPv4Address, ip_network
from pathlib import Path

from hyperlink import DecodedURL
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.config import LONGEST, AgentConfig, BootConfig, Ramdisk, SiteConfig, read
from rescriptum.agent.settings import KEYS
from rescriptum.boot.loaders import SERVED
from rescriptum.boot.offers import Preferences
from rescriptum.contract.pins import Pin
from rescriptum.errors import ConfigError
from rescriptum.values import Listen

PIN = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
OTHER = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
LEAST = 'gateway_url = "https://gateway.example:8443"\nsite = "berlin"\n'
PAGE = Path(__file__).parent.parent / "docs" / "agent-configuration.md"


class ConfigCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir()
        self.path = self.here / "site.toml"

    def read(self, text: str, mode: int = 0o640, fake_hardware: bool = False) -> SiteConfig:
        self.path.write_bytes(text.encode("utf-8", "surrogateescape"))
        self.path.chmod(mode)
        return read(self.path, fake_hardware)

    def problems(self, text: str, mode: int = 0o640) -> list[str]:
        """:returns: what the operator is told, the path left out."""
        with self.assertRaises(ConfigError) as caught:
            self.read(text, mode)
        return [
            str(each).replace(str(self.path), "site.toml") for each in caught.exception.problems
        ]

    def problem(self, text: str, mode: int = 0o640) -> str:
        [found] = self.problems(text, mode)
        return found


class AgentTests(ConfigCase):
    def test_the_least(self) -> None:
        url = DecodedURL.from_text("https://gateway.example:8443")
        agent = AgentConfig(url, "gateway.example", "berlin", Path("/var/lib/rescriptum"))
        self.assertEqual(self.read(LEAST), SiteConfig(agent))

    def test_everything(self) -> None:
        made = self.read(
            LEAST.replace('site = "berlin"', "")
            + f"""
            gateway_server_name = "gw"
            data_dir = "/srv/agent"
            log_format = "json"
            serving_ca_spki_pin = ["{PIN}", "{OTHER}"]
            join_signing_key_pin = "{PIN}"
            join_encryption_key_pin = "{OTHER}"
            [site]
            name = "berlin"
            bmc_networks = ["10.0.0.0/8", "2001:db8::/32"]
            cache_max_bytes = 50_000_000_000
            drivers_dir = "{self.here}"
            """
        )
        self.assertEqual(
            made.agent,
            AgentConfig(
                DecodedURL.from_text("https://gateway.example:8443"),
                "gw",
                "berlin",
                Path("/srv/agent"),
                "json",
                (Pin(PIN), Pin(OTHER)),
                Pin(PIN),
                Pin(OTHER),
            ),
        )
        self.assertEqual(made.bmc_networks, (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")))
        self.assertEqual(made.cache_max_bytes, 50_000_000_000)
        self.assertEqual(made.drivers_dir, self.here)
        self.assertIsNone(made.boot)

    def test_one_pin_is_a_text(self) -> None:
        made = self.read(LEAST + f'serving_ca_spki_pin = "{PIN}"')
        self.assertEqual(made.agent.serving_ca_pins, (Pin(PIN),))

    def test_what_is_required_is_told(self) -> None:
        found = self.problems("")
        self.assertEqual([each.split(":")[1] for each in found], [" gateway_url", " site.name"])
        self.assertIn("missing", found[0])

    def test_a_site_without_a_name_is_told_by_its_line(self) -> None:
        found = self.problem('gateway_url = "https://g"\n[site]\nbmc_networks = []\n')
        self.assertTrue(found.startswith("site.toml:2: site.name: missing"), found)

    def test_an_unknown_key_names_the_nearest_one(self) -> None:
        self.assertEqual(
            self.problem(LEAST + 'datadir = "/a"'),
            "site.toml:3: datadir: no such key; did you mean data_dir?",
        )
        self.assertEqual(
            self.problem(LEAST + '[boot]\n\nlisen = "a"'),
            "site.toml:5: boot.lisen: no such key; did you mean boot.listen?",
        )
        self.assertEqual(
            self.problem(LEAST + "[boot]\nurl.a = 1"),
            "site.toml: boot.url: want a text, a number, true or false, or a list of texts",
        )
        self.assertEqual(
            self.problem(LEAST + "[xyzzy]"),
            "site.toml:3: xyzzy: no such key",
        )

    def test_a_mode_that_is_too_wide_is_told(self) -> None:
        for mode in (0o644, 0o660, 0o604, 0o750, 0o666):
            found = self.problem(LEAST, mode)
            self.assertIn(f"mode is {mode:04o}", found)
            self.assertIn("chmod 0640", found)
        for mode in (0o640, 0o600, 0o400, 0o440):
            self.read(LEAST, mode)

    def test_every_problem_is_told(self) -> None:
        found = self.problems(
            'gateway_url = "http://g"\nsite = "a b"\nlog_format = "xml"\n'
            'join_signing_key_pin = "sha1/x"\n',
            0o644,
        )
        self.assertEqual(
            [each.partition(" ")[0] for each in found],
            ["site.toml:", "site.toml:2:", "site.toml:3:", "site.toml:4:", "site.toml:1:"],
        )

    def test_a_gateway_speaks_tls(self) -> None:
        text = LEAST.replace("https", "http")
        self.assertIn("want https://", self.problem(text))
        self.assertEqual(self.read(text, fake_hardware=True).agent.gateway_url.scheme, "http")

    def test_a_url_is_a_url(self) -> None:
        for url in (
            "gateway.example",
            "ftp://gateway.example",
            "https://",
            "https://user:secret@gateway.example",
            "https://gateway.example?a=b",
            "https://gateway.example#a",
            "https://gateway.example:port",
            "/v1",
            "",
        ):
            text = f'gateway_url = "{url}"\nsite = "berlin"\n'
            found = self.problem(text)
            self.assertIn("site.toml:1: gateway_url: ", found)
            self.assertNotIn("secret", found)

    def test_a_url_may_end_in_a_slash(self) -> None:
        made = self.read(LEAST.replace(":8443", "/below/")).agent.gateway_url
        self.assertEqual(
            made.child("v1", "keys").to_text(), "https://gateway.example/below/v1/keys"
        )

    def test_pins_are_pins(self) -> None:
        for key in ("serving_ca_spki_pin", "join_signing_key_pin", "join_encryption_key_pin"):
            for pin in ("", "sha256/", PIN[:-1], PIN.replace("sha256", "sha1"), f"{PIN},x"):
                self.assertIn(f"site.toml:3: {key}: ", self.problem(LEAST + f'{key} = "{pin}"'))
        three = f'serving_ca_spki_pin = ["{PIN}", "{PIN}", "{PIN}"]'
        self.assertIn("2 pins at the most", self.problem(LEAST + three))

    def test_other_values_have_to_be_right(self) -> None:
        for line in (
            'gateway_server_name = "a:1"',
            "log_format = 1",
            'site.bmc_networks = ["10.0.0.1/8"]',
            "site.cache_max_bytes = -1",
            'site.drivers_dir = "/nowhere"',
        ):
            key = line.partition(" ")[0]
            text = f'gateway_url = "https://g"\nsite.name = "berlin"\n{line}\n'
            self.assertIn(f"site.toml:3: {key}: ", self.problem(text))

    def test_what_cannot_be_read_is_told(self) -> None:
        self.assertIn("not TOML", self.problem("gateway_url = "))
        self.assertIn("line 3", self.problem(LEAST + "a = = 1"))
        self.assertIn("cannot be read", self.problem("\udcff"))
        self.assertIn("larger than", self.problem("#" * (LONGEST + 1)))
        self.read(LEAST.ljust(LONGEST, "\n"))
        self.path.unlink()
        with self.assertRaises(ConfigError) as caught:
            read(self.path)
        self.assertIn("No such file", str(caught.exception))

    @given(st.text(max_size=200))
    def test_any_text_is_read_or_told(self, text: str) -> None:
        try:
            self.read(LEAST + text.replace("\ud800", ""))
        except ConfigError as e:
            self.assertTrue(e.problems)
        except UnicodeEncodeError:
            pass


class BootTests(ConfigCase):
    def setUp(self) -> None:
        super().setUp()
        for name in ("vmlinuz", "initrd.img", "own.efi"):
            (self.here / name).touch()

    def text(self, *lines: str) -> str:
        return "\n".join([LEAST + "[boot]", 'listen = "127.0.0.1:8080"', *lines])

    def test_everything(self) -> None:
        made = self.read(
            self.text(
                'url = "http://127.0.0.1:8080/"',
                'server_ip = "127.0.0.1"',
                "proxy_dhcp = true",
                'interface = "eth0"',
                'offers = ["52:54:00:12:34:56=bounce", "efi64=direct+prompt"]',
                "learn_offers = true",
                'tftp_listen = "127.0.0.1:6969"',
                f'tftp_root = "{self.here}"',
                f'kernel = "{self.here}/vmlinuz"',
                f'initrd = "{self.here}/initrd.img"',
                'cmdline = "console=ttyS0"',
                'loader_efi64 = "own.efi"',
            )
        )
        self.assertEqual(
            made.boot,
            BootConfig(
                Listen("127.0.0.1", 8080),
                DecodedURL.from_text("http://127.0.0.1:8080"),
                IPv4Address("127.0.0.1"),
                True,
                "eth0",
                Preferences.parse("52:54:00:12:34:56=bounce,efi64=direct+prompt"),
                True,
                Listen("127.0.0.1", 6969),
                self.here,
                Ramdisk(self.here / "vmlinuz", self.here / "initrd.img"),
                Ramdisk(None, None),
                "console=ttyS0",
                {"efi64": "own.efi"},
            ),
        )

    def test_the_least(self) -> None:
        boot = self.read(self.text()).boot
        assert boot is not None
        self.assertEqual((boot.proxy_dhcp, boot.tftp_root, boot.cmdline), (False, None, ""))
        self.assertEqual((boot.tftp_listen, dict(boot.loaders)), (Listen("0.0.0.0", 69), {}))

    def test_values_have_to_be_right(self) -> None:
        for line in (
            'url = "boot.example"',
            'server_ip = "::1"',
            'server_ip = "0.0.0.0"',
            'server_ip = "192.0.2.1"',
            "proxy_dhcp = 1",
            'offers = ["efi64=sideways"]',
            'offers = ["efi65=bounce"]',
            'interface = "a/b"',
            'interface = "sixteen-letters-"',
            'tftp_listen = "69"',
            'tftp_root = "/nowhere"',
            'kernel = "/nowhere"\ninitrd = "/etc/passwd"',
            'kernel = "/etc/passwd"',
            'initrd_arm64 = "/etc/passwd"',
            'cmdline = "a\\nb"',
            'loader_bios = "../up"',
            'loader_bios = "there.0"',
        ):
            key = line.partition(" ")[0]
            self.assertIn(f"site.toml:5: boot.{key}: ", self.problem(self.text(line)))

    def test_a_loader_has_to_be_there(self) -> None:
        found = self.problem(self.text(f'tftp_root = "{self.here}"', 'loader_bios = "a.0"'))
        self.assertEqual(found, f"site.toml:6: boot.loader_bios: no such file: {self.here}/a.0")

    def test_proxy_dhcp_needs_to_know_what_to_say(self) -> None:
        found = self.problems(LEAST + "[boot]\nproxy_dhcp = true")
        self.assertEqual(
            found,
            [
                f"site.toml:4: boot.proxy_dhcp: needs boot.{each} too"
                for each in ("listen", "url", "server_ip")
            ],
        )

    def test_what_is_wrong_is_not_missing_too(self) -> None:
        """Of a key that is there and wrong it is said what would be right, and nothing else."""
        text = self.text("proxy_dhcp = true", 'server_ip = "127.0.0.1"', 'url = "boot.example"')
        found = self.problem(text)
        self.assertEqual(found, "site.toml:7: boot.url: want http://HOST or http://HOST:PORT")


class PageTests(SynchronousTestCase):
    def test_paths_are_unique(self) -> None:
        self.assertEqual(len({each.path for each in KEYS}), len(KEYS))

    def test_defaults_are_right(self) -> None:
        for each in KEYS:
            if each.default is not None:
                each.parse(each.default)

    def test_every_loader_can_be_another(self) -> None:
        tags = {row.tag for row in SERVED}
        loaders = {each.path for each in KEYS if each.path.startswith("boot.loader_")}
        self.assertEqual(loaders, {f"boot.loader_{tag}" for tag in tags})

    def test_the_page_has_the_table_of_the_code(self) -> None:
        rows = ["| Key | Default | What it is |", "| --- | --- | --- |"]
        for each in KEYS:
            shown = f"`{each.default}`" if each.default else each.otherwise
            if each.required:
                shown = "required"
            rows.append(f"| `{each.path}` | {shown} | {each.help} |")
        self.assertIn("\n".join(rows) + "\n", PAGE.read_text())
