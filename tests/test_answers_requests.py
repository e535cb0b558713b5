"""What real installers send, through the answer listener without its socket."""

from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.resource import About, Answers, Disarmed
from rescriptum.answers.store import AnswerStore
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.values import MAC, Secret
from rescriptum.web.incoming import Incoming
from rescriptum.web.reply import Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import answer

from .fixtures import Recorded, recorded
from .webclient import PEER, InlineWorkers

#: As /installed wants it: in the body's ``token``, or as a bearer token.
TOKEN = "nas:NotASecret0123456"
#: A machine of every family, a rack of Proxmox, and defaults for whoever says nothing.
ANSWERS = {
    "bc-24-11-00-00-01/proxmox.toml": 'extends = "proxmox"\n[global]\nfqdn = "pve1.example.com"\n',
    "bc-24-11-00-00-01/boot.ipxe": "#!ipxe\n",
    "groups/proxmox/pve.toml": '[global]\nkeyboard = "de"\nmailto = "{{ serial }}@example.com"\n',
    "52-54-00-00-00-01/debian.preseed": "# {{ machine }}\n",
    "52-54-00-00-00-01/rhel.ks": "# {{ machine }}\n",
    "52-54-00-00-00-01/ubuntu.yaml": "#cloud-config\nautoinstall: {version: 1}\n",
    "52-54-00-00-00-01/flatcar.ign": '{"ignition": {"version": "3.5.0"}}\n',
    "52-54-00-00-00-01/answer.json": '{"product": {"id": "Leap_16.0"}}\n',
    "52-54-00-00-00-01/suse.autoyast": '<profile xmlns="http://www.suse.com/1.0/yast2ns"/>\n',
    "52-54-00-00-00-01/windows.unattend": "<unattend/>\n",
    "52-54-00-00-00-01/boot.ipxe": "#!ipxe\n",
    "52-54-00-00-00-02/rhel.ks": "# whom only headers name\n",
    "4c4c4544-0058-4b10-8031-b7c04f503933/ubuntu.yaml": "#cloud-config\n",
    "default/debian.preseed": "# nobody\n",
    "default/rhel.ks": "# nobody\n",
}


class RecordedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A set that nothing was asked of yet."""
        self.path = Path(self.mktemp())
        for name, text in ANSWERS.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        clock = Clock()
        store = AnswerStore(AnswerDirectory(self.path, clock.seconds), InlineWorkers(), clock)
        self.answers = Answers(store, InlineWorkers(), installed=Secret(TOKEN))

    def ask(self, raw: bytes) -> Reply:
        """:param raw: as it came over the wire, and as the listener would read it."""
        incoming = Incoming(1 << 20)
        incoming.feed(raw)
        found = incoming.next()
        assert found is not None
        head, body = found
        self.assertEqual(incoming.held, b"")
        request = Request(head.method, head.target, PEER, head.headers, body)
        reply = self.successResultOf(Deferred.fromCoroutine(answer(self.answers, request)))
        assert isinstance(reply, Reply)
        return reply

    def holds(self, each: Recorded) -> Reply:
        """Status, type, machine and group are what the file says of them."""
        reply = self.ask(each.raw)
        said = f"{reply.status} {reply.media_type}"
        self.assertEqual(said, each.said["answer"], f"{each.name}: {reply.reason}")
        if isinstance(reply.about, About):
            found = (reply.about.machine, reply.about.group)
            expected = (each.said.get("machine", ""), each.said.get("group", ""))
            self.assertEqual(found, expected, each.name)
        if isinstance(reply.about, About | Disarmed):
            mac = MAC.parse(each.said["mac"]) if "mac" in each.said else None
            self.assertEqual(reply.about.mac, mac, each.name)
        if "disarms" in each.said:
            name = each.said["disarms"]
            self.assertFalse((self.path / name / "boot.ipxe").exists(), each.name)
            self.assertTrue((self.path / f"installed-{name}" / "boot.ipxe").exists(), each.name)
        return reply

    def test_every_request(self) -> None:
        """Each file of the directory has the answer that it names."""
        requests = recorded()
        self.assertGreater(len(requests), 20)
        for each in requests:
            self.assertIn("answer", each.said, each.name)
            self.holds(each)
            self.setUp()

    def test_what_proxmox_installs(self) -> None:
        """
        All releases get the machine's document over its group's, filled with the system's
        serial number: not the board's, which comes with it.
        """
        bodies = {
            self.holds(Recorded.read(f"proxmox-ve-{release}")).body
            for release in ("8.2", "8.4", "9.2")
        }
        [body] = bodies
        self.assertIn(b'fqdn = "pve1.example.com"', body)
        self.assertIn(b'keyboard = "de"', body)
        self.assertIn(b'mailto = "7XK1P93@example.com"', body)

    def test_what_cloud_init_is_told_beside_its_user_data(self) -> None:
        """Which instance it is, and two empty files; the document itself, its first line first."""
        bodies = {
            part: self.holds(Recorded.read(f"cloud-init-{part}")).body
            for part in ("network-config", "meta-data", "user-data", "vendor-data")
        }
        self.assertEqual(bodies.pop("meta-data"), b'instance-id: "52-54-00-00-00-01"\n')
        self.assertTrue(bodies.pop("user-data").startswith(b"#cloud-config\nautoinstall:"))
        self.assertEqual(set(bodies.values()), {b""})

    def test_a_report_with_another_token(self) -> None:
        """Nothing is moved, and the machine is told so; with a scalar for a body as well."""
        for name in ("proxmox-ve-9.2-installed", "shell-installed"):
            each = Recorded.read(name)
            reply = self.ask(each.raw.replace(TOKEN.encode(), b"nas:NotASecret0123457"))
            self.assertEqual(reply.status, 401, name)
            self.assertTrue((self.path / each.said["disarms"] / "boot.ipxe").exists(), name)
