"""Tests for ``examples/answers``: operators begin with these, so machines have to like them."""

import json
import re
import tomllib
from pathlib import Path

from attrs import evolve
from lxml import etree
from ruamel.yaml import YAML
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.checks import survey
from rescriptum.answers.checks.finding import Severity
from rescriptum.answers.checks.result import Result
from rescriptum.answers.checks.trials import trials
from rescriptum.answers.checks.walk import Walk
from rescriptum.answers.documents import Kind, Place
from rescriptum.answers.facts import Facts
from rescriptum.answers.formats.table import FORMATS
from rescriptum.answers.resolution import Answer, resolve
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.errors import NotFound

from .fixtures import Recorded

EXAMPLES = Path(__file__).parent.parent / "examples" / "answers"
YAST = "{http://www.suse.com/1.0/yast2ns}"
MICROSOFT = "{urn:schemas-microsoft-com:unattend}"


def answer_set() -> AnswerSet:
    return AnswerSet.of(AnswerDirectory(EXAMPLES, lambda: 0.0).listing())


class SetTests(SynchronousTestCase):
    def test_nothing_is_wrong(self) -> None:
        """
        Each document is rendered for whoever it is for, and looked at as its installer would;
        groups that claim by facts are reached by their examples.
        """
        answers = answer_set()
        walk = Walk(answers)
        found: list[Result] = [*survey.loaded(answers), *survey.identities(answers)]
        rendered = set()
        for trial in trials(answers, ()):
            tried = walk.attempt(trial)
            found += tried.results
            if tried.rendered is not None:
                rendered.add(tried.rendered.format)
        found += survey.groups(answers, walk.reached)
        self.assertEqual([each for each in found if each.severity is not Severity.NOTE], [])
        self.assertEqual(
            sorted(each.source for each in found),
            ["groups/proxmox/proxmox.toml", "groups/rack-d/boot.ipxe"],
            "reached by extends",
        )
        documents = {
            document
            for folder in answers.listing.folders.values()
            for document in folder.documents.values()
        }
        self.assertEqual(walk.reached, documents)
        self.assertLessEqual({row.extension for row in FORMATS}, rendered)

    def test_nobody_can_log_in_with_what_stands_in_them(self) -> None:
        """Each hash fits no password, and each key is nobody's; both say what to do."""
        for path in EXAMPLES.rglob("*.*"):
            text = path.read_text("utf-8")
            for each in re.findall(r"\$6\$\S+", text):
                self.assertIn("REPLACE", each, path)
            for each in re.findall(r"ssh-(?:rsa|ed25519) \S+", text):
                self.assertIn("REPLACE", each, path)

    def test_the_page_names_every_directory(self) -> None:
        page = (EXAMPLES / "README.md").read_text("utf-8")
        for path in EXAMPLES.glob("**/"):
            name = path.relative_to(EXAMPLES).as_posix()
            last = f"`…-{name[-2:]}`"
            if name not in (".", "groups"):
                self.assertTrue(f"`{name}" in page or (last in page and name[:-2] in page), name)


class MachineTests(SynchronousTestCase):
    def answer(self, path: str, body: bytes = b"", **query: str) -> Answer:
        segments = tuple(path.strip("/").split("/"))
        return resolve(answer_set(), Facts.of(segments, tuple(query.items()), body))

    def test_a_chain_of_four(self) -> None:
        """Its own name, the disks of the second layer, the time zone of the lowest."""
        answer = self.answer("/proxmox/answer", mac="52:54:00:a0:00:11")
        document = tomllib.loads(answer.body.decode())
        self.assertEqual((answer.machine, answer.group), ("52-54-00-a0-00-11", "rack-a-storage"))
        self.assertEqual(document["global"]["fqdn"], "pve-a11.example.internal")
        self.assertEqual(document["global"]["timezone"], "Etc/UTC")
        self.assertEqual(
            document["disk-setup"],
            {"filesystem": "zfs", "disk-list": ["sda", "sdb"], "zfs": {"raid": "raid1"}},
        )
        self.assertEqual(document["network"], {"source": "from-dhcp"})
        self.assertNotIn("extends", document)

    def test_a_line_a_machine(self) -> None:
        """A rack, of which one has a name, one more than that, and two nothing of their own."""
        names = {}
        for last in ("01", "02", "03", "04"):
            answer = self.answer("/proxmox/answer", mac=f"52:54:00:A0:00:{last}")
            self.assertEqual(answer.group, "rack-a")
            document = tomllib.loads(answer.body.decode())
            names[last] = document["global"]["fqdn"].removesuffix(".example.internal")
            self.assertEqual(document["disk-setup"], {"filesystem": "ext4", "disk-list": ["sda"]})
            self.assertEqual("cidr" in document["network"], last == "02")
        self.assertEqual(
            names,
            {"01": "pve-a1", "02": "pve-a2", "03": "pve-525400a00003", "04": "pve-525400a00004"},
        )

    def test_a_rack_that_disarms_itself(self) -> None:
        """A machine of it that is put away is claimed for its preseed alone, and boots its disk."""
        mac = "52:54:00:da:00:02"
        script = self.answer("/ipxe/boot", mac=mac).body.decode()
        self.assertIn("/debian/52-54-00-da-00-02/preseed.cfg\n", script)
        self.assertNotIn("# answer:", script)
        preseed = self.answer("/debian/52-54-00-da-00-02/preseed.cfg").body.decode()
        self.assertIn("deb-525400da0002\n", preseed)
        self.assertIn("'http://192.0.2.10:8000/installed?mac=52-54-00-da-00-02'", preseed)
        listing = AnswerDirectory(EXAMPLES, lambda: 0.0).listing()
        machine = Place(Kind.MACHINE, "52-54-00-da-00-02")
        folders = {at: each for at, each in listing.folders.items() if at != machine}
        disarmed = AnswerSet.of(evolve(listing, folders=folders))
        with self.assertRaises(NotFound):
            resolve(disarmed, Facts.of(("ipxe", "boot"), (("mac", mac),)))

    def test_a_model_of_machines(self) -> None:
        """What Proxmox's installer really posts from one of them, and from no other."""
        body = Recorded.read("proxmox-ve-9.2").raw.partition(b"\r\n\r\n")[2]
        answer = self.answer("/proxmox/answer", body)
        self.assertEqual((answer.machine, answer.group), ("", "dell-r6xx"))
        document = tomllib.loads(answer.body.decode())
        self.assertEqual(document["global"]["fqdn"], "pve-7xk1p93.example.internal")
        self.assertEqual(document["disk-setup"]["filter"], {"ID_MODEL": "DELLBOSS*"})
        named = body.replace(b"bc:24:11:00:00:01", b"52:54:00:a0:00:03")
        self.assertEqual(self.answer("/proxmox/answer", named).group, "rack-a")

    def test_lines_over_lines(self) -> None:
        answer = self.answer("/rhel/52:54:00:b0:00:02/ks.cfg")
        lines = answer.body.decode().splitlines()
        self.assertEqual(answer.group, "rack-b")
        self.assertEqual(lines[-1], "firewall --enabled --service=http,https")
        self.assertIn("echo 'Installed with rack-b.' > /etc/motd", lines)
        self.assertNotIn("answer: members", answer.body.decode())
        third = self.answer("/rhel/52:54:00:b0:00:03/ks.cfg")
        self.assertEqual((third.machine, third.group), ("", "rack-b"))

    def test_a_seed(self) -> None:
        """All four parts, of which three are written down."""
        parts = {}
        for name in ("user-data", "meta-data", "network-config", "vendor-data"):
            answer = self.answer(f"/ubuntu/52-54-00-c0-00-01/{name}")
            parts[name] = YAML(typ="safe").load(answer.body.decode())
            if name == "user-data":
                self.assertTrue(answer.body.startswith(b"#cloud-config\n"))
        self.assertEqual(parts["user-data"]["autoinstall"]["identity"]["hostname"], "node-c1")
        self.assertIn("52-54-00-c0-00-01", parts["user-data"]["autoinstall"]["late-commands"][0])
        self.assertEqual(parts["meta-data"]["local-hostname"], "node-c1")
        self.assertEqual(parts["network-config"]["version"], 2)
        self.assertIsNone(parts["vendor-data"])

    def test_a_cloud_image(self) -> None:
        """Its meta-data is made up."""
        path = "/cloudinit/52-54-00-c0-00-02"
        answer = self.answer(f"{path}/user-data")
        self.assertTrue(answer.body.startswith(b"#cloud-config\n"))
        document = YAML(typ="safe").load(answer.body.decode())
        self.assertEqual(document["hostname"], "node-525400c00002")
        self.assertEqual(
            self.answer(f"{path}/meta-data").body, b'instance-id: "52-54-00-c0-00-02"\n'
        )

    def test_json(self) -> None:
        ignition = json.loads(self.answer("/flatcar/52-54-00-d0-00-01").body)
        [file] = ignition["storage"]["files"]
        self.assertEqual(file["contents"]["source"], "data:,flatcar-525400d00001")
        agama = json.loads(self.answer("/json/52-54-00-e0-00-02/profile.json").body)
        self.assertEqual(agama["hostname"], {"static": "leap-525400e00002"})

    def test_xml(self) -> None:
        yast = etree.fromstring(self.answer("/suse/52-54-00-e0-00-01").body)
        name = yast.findtext(f"{YAST}networking/{YAST}dns/{YAST}hostname")
        self.assertEqual(name, "leap-525400e00001")
        windows = etree.fromstring(self.answer("/windows/52-54-00-f0-00-01").body)
        computer = windows.findtext(f".//{MICROSOFT}ComputerName")
        assert computer is not None
        self.assertEqual(computer, "W525400F00001")
        self.assertLessEqual(len(computer), 15)
        xen = etree.fromstring(self.answer("/xml/52-54-00-f0-00-03/answers.xml").body)
        self.assertEqual(xen.findtext("hostname"), "xcp-525400f00003")

    def test_other_lines(self) -> None:
        esxi = self.answer("/cfg/52-54-00-f0-00-02/ks.cfg").body
        self.assertIn(b"--host=esxi-525400f00002\n", esxi)
        kali = self.answer("/debian/52-54-00-f0-00-04/preseed.cfg").body
        self.assertIn(b"d-i netcfg/get_hostname string kali-525400f00004\n", kali)
