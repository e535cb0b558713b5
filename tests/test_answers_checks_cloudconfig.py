"""Tests for ``rescriptum.answers.checks.cloudconfig`` and ``autoinstall``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.cloudconfig import (
    check,
    check_meta_data,
    check_network_config,
    check_vendor_data,
)
from rescriptum.answers.checks.finding import Check

AUTOINSTALL = """#cloud-config
autoinstall:
  version: 1
  locale: en_US.UTF-8
  keyboard: {layout: us, variant: "", toggle: null}
  network: {version: 2, ethernets: {id0: {match: {macaddress: "52:54:00:00:00:01"}, dhcp4: yes}}}
  proxy: null
  storage: {layout: {name: lvm, match: {size: largest}}}
  identity: {hostname: node, username: ops, password: "$6$x"}
  ssh: {install-server: yes, authorized-keys: [ssh-ed25519 A], allow-pw: no}
  packages: [git]
  snaps: [{name: etcd, channel: edge, classic: false}]
  updates: all
  late-commands:
    - curl -fsS -X POST http://192.0.2.10:8000/installed
    - [sh, -c, "true"]
  reporting: {hook: {type: webhook, endpoint: "http://192.0.2.10/"}}
  user-data: {users: [{name: x}]}
"""
CLOUD_CONFIG = """#cloud-config
hostname: node
package_update: true
packages: [git, [nginx, 1.0]]
users: [default, {name: x}]
runcmd: [ls, [ls, -l, 1]]
write_files: [{path: /etc/motd, content: hi, permissions: "0644"}]
"""


def found(text: str, by: Check = check) -> list[str]:
    """:returns: each finding with its severity in front."""
    return [f"{each.severity.value} {each}" for each in by(text.encode()).findings]


class AutoinstallTests(SynchronousTestCase):
    def test_a_good_one(self) -> None:
        self.assertEqual(found(AUTOINSTALL), [])
        self.assertEqual(check(AUTOINSTALL.encode()).kind, "Ubuntu autoinstall")

    def test_mistakes(self) -> None:
        at = "autoinstall"
        for written, instead, said in (
            (
                "#cloud-config",
                "# cloud-config",
                "problem line 1: want #cloud-config for the first line: cloud-init ignores it "
                "without",
            ),
            ("version: 1\n", 'version: "1"\n', f"problem {at}.version: want 1, not '1'"),
            ("version: 1\n", "version: 2\n", f"problem {at}.version: want 1, not 2"),
            ("  version: 1\n", "", f"problem {at}: version is missing"),
            ("layout: us", "model: us", f"problem {at}.keyboard: layout is missing"),
            ("version: 2,", "", f"problem {at}.network: version: 2 is missing"),
            (
                "name: lvm",
                "name: lmv",
                "warning autoinstall.storage.layout.name: want lvm, direct ",
            ),
            ("hostname: node, ", "", f"problem {at}.identity: hostname is missing"),
            ('"$6$x"', "12", f"problem {at}.identity.password: want text, not a whole number"),
            ('"$6$x"', "pw", f"warning {at}.identity.password: want a hash, as mkpasswd prints it"),
            ("authorized-keys", "authorized_key", "did you mean authorized-keys?"),
            ("[git]", "git", f"problem {at}.packages: want a list, not text"),
            ("classic: false", "classic: 0", "want true or false, not a whole number"),
            ("updates: all", "updates: none", "want security or all, not 'none'"),
            ('"true"]', "1]", f"problem {at}.late-commands[1][2]: want text, not a whole number"),
            ("type: webhook, ", "", f"problem {at}.reporting.hook: type is missing"),
            ("late-commands", "late-command", "unknown key; did you mean late-commands?"),
            ("{users: [{name: x}]}", "[]", f"problem {at}.user-data: want a table, not a list"),
        ):
            self.assertIn(written, AUTOINSTALL)
            text = AUTOINSTALL.replace(written, instead)
            self.assertTrue(any(said in each for each in found(text)), (said, found(text)))

    def test_somebody_has_to_log_in(self) -> None:
        """By an identity, by user-data, or because the installer asks; early commands may say."""
        base = "#cloud-config\nautoinstall:\n  version: 1\n"
        said = "autoinstall: identity or user-data is missing: nobody could log in, and the "
        said += "installer refuses it"
        self.assertEqual(found(base), [f"problem {said}"])
        self.assertEqual(found(base + "  early-commands: [x]\n"), [f"warning {said}"])
        for more in ("user-data: {}", "interactive-sections: ['*']"):
            self.assertEqual(found(f"{base}  {more}\n"), [])

    def test_a_network_may_be_nested(self) -> None:
        for network, problems in (
            ("{network: {version: 2}}", []),
            (
                "{network: {version: 1}}",
                ["problem autoinstall.network.network: version: 2 is missing"],
            ),
            ("null", []),
            ("[]", ["problem autoinstall.network: want a table, not a list"]),
        ):
            text = (
                f"#cloud-config\nautoinstall: {{version: 1, user-data: {{}}, network: {network}}}\n"
            )
            self.assertEqual(found(text), problems)

    def test_it_is_a_table(self) -> None:
        self.assertEqual(
            found("#cloud-config\nautoinstall:\n"),
            ["problem autoinstall: want a table, not nothing"],
        )


class UserDataTests(SynchronousTestCase):
    def test_a_plain_cloud_config(self) -> None:
        self.assertEqual(found(CLOUD_CONFIG), [])
        self.assertEqual(check(CLOUD_CONFIG.encode()).kind, "cloud-config")

    def test_mistakes(self) -> None:
        for written, instead, said in (
            ("hostname: node", "hostname: 5", "problem hostname: want text, not a whole number"),
            ("runcmd: [ls, [ls, -l, 1]]", "runcmd: ls", "problem runcmd: want a list, not text"),
            ("path: /etc/motd, ", "", "problem write_files[0]: path is missing"),
            ("runcmd", "run_cmd", "warning run_cmd: unknown key; did you mean runcmd?"),
            ("#cloud-config\n", "", "warning line 1: want #cloud-config for the first line"),
        ):
            text = CLOUD_CONFIG.replace(written, instead)
            self.assertTrue(any(said in each for each in found(text)), (said, found(text)))

    def test_what_a_file_holds(self) -> None:
        files = "[{path: /x, content: !!binary aGk=}, {path: /y, content: 5}]"
        self.assertEqual(
            found(f"#cloud-config\nwrite_files: {files}\n"),
            ["problem write_files[1].content: want text or binary data, not a whole number"],
        )

    def test_keys_of_others_are_theirs(self) -> None:
        """Only what looks like a known key is warned about."""
        self.assertEqual(found("#cloud-config\nk3s: {enabled: true}\nstages: {}\n1: x\n")[1:], [])

    def test_autoinstall_without_its_key(self) -> None:
        said = "problem version: these are keys of an autoinstall: put them below autoinstall:"
        self.assertIn(said, found("#cloud-config\nversion: 1\nidentity: {}\n"))

    def test_what_else_user_data_may_be(self) -> None:
        """It is for cloud-init to read, or is for somebody else altogether: Talos, say."""
        for text in (
            "#!/bin/sh\n",
            "#include\nhttp://x/\n",
            "#cloud-config-archive\n- type: text/cloud-config\n",
            "version: v1alpha1\nmachine: {}\n",
            "[]",
        ):
            self.assertEqual((check(text.encode()).kind, found(text)), ("", []))
        for text in ("", "#cloud-config\n", "#Cloud-Config\n# nothing\n"):
            self.assertEqual((check(text.encode()).kind, found(text)), ("cloud-config, empty", []))
        self.assertEqual(found("## template: jinja\n#cloud-config\nhostname: x\n"), [])
        self.assertEqual(found("#cloud-config\n- x\n"), ["problem want a table of keys, not ['x']"])

    def test_what_is_no_yaml(self) -> None:
        [said] = found("#cloud-config\na: [\n")
        self.assertTrue(said.startswith("problem not YAML: "), said)

    def test_yaml_is_read_as_cloud_init_does(self) -> None:
        """Its YAML is 1.1, and a number has a point."""
        self.assertEqual(found("#cloud-config\npackage_update: yes\n"), [])
        self.assertEqual(found("#cloud-config\nhostname: 7e1234\n"), [])
        self.assertEqual(
            found("#cloud-config\nhostname: 7.5e+1\n"),
            ["problem hostname: want text, not a number"],
        )

    @settings(max_examples=200, deadline=None)
    @given(
        st.sampled_from(["", "#cloud-config\n", "autoinstall:\n ", "#cloud-config\nautoinstall: "]),
        st.text(alphabet="{}[]:,&*!-? \nabversion1'\"\x00é", max_size=40).map(str.encode)
        | st.binary(max_size=40),
    )
    def test_anything_is_checked(self, before: str, data: bytes) -> None:
        """Whatever it is: findings, and no exception."""
        for by in check, check_meta_data, check_vendor_data, check_network_config:
            self.assertIsInstance(by(before.encode() + data).findings, tuple)


class PartTests(SynchronousTestCase):
    def test_meta_data(self) -> None:
        for text in ("", "instance-id: a\nlocal-hostname: b\nrack: r1\n", "instance-id: 7\n"):
            self.assertEqual(found(text, check_meta_data), [])
        self.assertEqual(
            found("instanceid: x\nlocal-hostname: [a]\n", check_meta_data),
            [
                "warning instanceid: unknown key; did you mean instance-id?",
                "problem local-hostname: want text, not a list",
            ],
        )
        self.assertEqual(found("x", check_meta_data), ["problem want a table, not text"])

    def test_vendor_data(self) -> None:
        self.assertEqual(check_vendor_data(b" \n").kind, "NoCloud vendor-data, empty")
        self.assertEqual(check_vendor_data(b"#cloud-config\nhostname: x\n").kind, "cloud-config")

    def test_network_config(self) -> None:
        for text in ("", "version: 2\nethernets: {}\n", "network: {version: 1, config: []}\n"):
            self.assertEqual(found(text, check_network_config), [])
        for text, said in (
            ("[]", "want a table, not a list"),
            ("ethernets: {}", "version is missing: 1 or 2"),
            ("network: {version: 3}", "network: want version 1 or 2, not 3"),
            ("version: 1", "version 1 wants a list, config"),
            ("a: [", "not YAML: "),
        ):
            [one] = found(text, check_network_config)
            self.assertTrue(one.startswith(f"problem {said}"), one)
