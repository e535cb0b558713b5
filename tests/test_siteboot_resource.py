"""Tests for ``rescriptum.siteboot.resource``: who is told what, and the fence at each answer."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.bootparams import BootParameters
from rescriptum.boot.entries import BootKind
from rescriptum.boot.resource import LoaderTree
from rescriptum.contract.joining import Assertion
from rescriptum.contract.jose import digest, opened
from rescriptum.contract.keys import pin, public_key, trusted
from rescriptum.contract.pins import Pin
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import parsed, structured
from rescriptum.errors import Unavailable
from rescriptum.siteboot import scripts
from rescriptum.siteboot.asking import Asking
from rescriptum.siteboot.client import KEPT, Asked
from rescriptum.siteboot.loaders import Listed, There
from rescriptum.siteboot.tokens import LASTING, request
from rescriptum.testing import MemoryLoaders
from rescriptum.values import Content, Generated
from rescriptum.web.reply import FileReply, Finished, Outcome, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import answer
from tests.sitebootcases import (
    DIGEST,
    ENCRYPTION,
    MACHINE,
    NODE,
    NOW,
    OTHER,
    Agent,
    Server,
    entry,
)
from tests.webclient import PEER, ask

PATH = f"/boot/ipxe?mac={MACHINE}&arch=x86_64-efi"
URL = "http://192.0.2.1:8080"


class ScriptCase(SynchronousTestCase):
    def setUp(self) -> None:
        here = Path(self.mktemp())
        here.mkdir()
        self.server = Server(here)

    def told(self, path: str = PATH) -> str:
        told = ask(self.server.tree, path)
        self.assertEqual(told.status, 200)
        self.assertEqual(told.header("Content-Type"), "text/plain; charset=us-ascii")
        self.assertEqual(told.header("Cache-Control"), "no-store")
        return told.body.decode("ascii")

    def waiting(self, path: str = PATH) -> "Deferred[Reply | FileReply]":
        """:returns: of an answer that waits for a secret."""
        asked = Request("GET", path, PEER)
        return Deferred.fromCoroutine(answer(self.server.tree, asked))  # type: ignore[arg-type]

    def text(self, reply: "Deferred[Reply | FileReply]") -> str:
        said = self.successResultOf(reply)
        assert isinstance(said, Reply)
        return said.body.decode("ascii")


class ScriptTests(ScriptCase):
    def test_standby(self) -> None:
        """First of all: not even a MAC that cannot be read, or a discovery, is answered."""
        self.server.lease.active = False
        self.server.kept.entries.put(entry())
        self.assertEqual(self.told(), scripts.standby(URL, MACHINE, 0))
        self.assertEqual(self.told(PATH + "&tries=3"), scripts.standby(URL, MACHINE, 3))
        self.assertEqual(self.told("/boot/ipxe?mac=x"), scripts.standby(URL, None, 0))
        self.assertEqual(len(self.server.kept.discovered), 0)
        self.assertEqual(self.server.agent.asked, [])

    def test_no_mac(self) -> None:
        for path in (
            "/boot/ipxe",
            "/boot/ipxe?mac=",
            "/boot/ipxe?mac=52:54:00:12:34",
            "/boot/ipxe?x",
        ):
            self.assertEqual(self.told(path), scripts.not_a_mac())

    def test_no_entry(self) -> None:
        """It is left alone and listed, once told as new."""
        path = f"/boot/ipxe?mac={OTHER.bare}&arch=x86_64-efi&ip=192.0.2.9"
        for _ in range(2):
            self.assertEqual(self.told(path), scripts.no_entry(OTHER))
        [found] = self.server.kept.discovered.machines(NOW)
        self.assertEqual(
            (found.mac, found.architecture, found.ip), (OTHER, "x86_64-efi", "192.0.2.9")
        )
        self.assertEqual(self.server.found, 1)

    def test_entries_that_are_none(self) -> None:
        """Of another epoch, or lapsed."""
        for dead in (entry(epoch=6), entry(epoch=8), entry(not_after=NOW)):
            self.server.kept.entries.put(dead)
            self.assertEqual(self.told(), scripts.no_entry(MACHINE))

    def test_local(self) -> None:
        self.server.kept.entries.put(entry(BootKind.LOCAL))
        self.assertEqual(self.told(), "#!ipxe\nexit\n")

    def test_sanboot(self) -> None:
        """It waits for its image; then it has a grant for as long as its entry lives."""
        assert self.server.images is not None
        self.server.kept.entries.put(entry(BootKind.SANBOOT))
        self.assertEqual(self.told(), scripts.not_cached(URL, MACHINE))
        self.assertEqual(self.server.images.granted, [])
        self.server.images.there.add(DIGEST)
        self.assertEqual(self.told(), scripts.sanboot(URL, "0123", DIGEST, bios=False))
        self.assertEqual(self.server.images.granted, [(MACHINE, 3600)])
        bios = PATH.replace("x86_64-efi", "i386-pcbios")
        self.assertIn(" --drive 0x80 ", self.told(bios))

    def test_ramdisk(self) -> None:
        """All that it has to know, in the order of the contract, after what others say."""
        self.server.kept.entries.put(entry(cmdline="debug"))
        [_, _, kernel, initrd, boot] = self.told(PATH + "&ip=192.0.2.9").splitlines()
        self.assertTrue(
            kernel.startswith(f"kernel {URL}/boot/kernel initrd=initrd console=ttyS0 debug bc.")
        )
        self.assertEqual((initrd, boot), (f"initrd --name initrd {URL}/boot/initrd", "boot"))
        names = [each.partition("=")[0] for each in kernel.split() if each.startswith("bc.")]
        self.assertEqual(
            names,
            ["bc.gateway", "bc.site", "bc.serving_ca_pin", "bc.jwk", "bc.token", "bc.assertion",
             "bc.mac", "bc.cache"],
        )  # fmt: skip
        given = BootParameters.parse(kernel)
        self.assertEqual((given.token, given.mac), ("rsjt_secret", str(MACHINE)))
        self.assertEqual(given.cache, f"{URL}/cache/t/0123")
        key = public_key(parsed(given.jwk), "X25519")
        self.assertEqual(key.thumbprint(), ENCRYPTION.thumbprint())
        said = opened("discovery", given.assertion, trusted(NODE)).claims
        self.assertEqual(
            structured(Assertion, said),
            Assertion(
                str(MACHINE), "192.0.2.9", "", "lyon", digest(b"rsjt_secret"), 7, NOW, NOW + LASTING
            ),
        )
        [asked] = self.server.agent.asked
        self.assertEqual(
            (asked.ref, asked.workflow, asked.step, asked.command_id, asked.epoch),
            ("join-w1", "w1", "boot.prepareRamdisk", "c1", 7),
        )

    def assertion(self, path: str) -> Assertion:
        given = BootParameters.parse(self.told(path))
        return structured(Assertion, opened("discovery", given.assertion, trusted(NODE)).claims)

    def test_what_the_assertion_says(self) -> None:
        """The query's, else the connection's and the entry's; never longer than the entry."""
        own, other = "8f9d6ae0-0000-4000-8000-000000000001", "8f9d6ae0-0000-4000-8000-000000000002"
        self.server.kept.entries.put(entry(uuid=own, not_after=NOW + 60))
        said = self.assertion(PATH + "&ip=nonsense&uuid=nonsense")
        self.assertEqual((said.ip, said.uuid, said.not_after), (PEER[0], own, NOW + 60))
        self.assertEqual(self.assertion(PATH + f"&uuid={other.upper()}").uuid, other)

    def test_another_architecture(self) -> None:
        """One without a ramdisk is told so."""
        self.server.kept.entries.put(entry())
        said = self.told(PATH.replace("x86_64", "arm64"))
        self.assertEqual(
            said, "#!ipxe\necho This boot server has no ramdisk for arm64-efi\nexit 1\n"
        )

    def test_no_ramdisk_for_who_does_not_say(self) -> None:
        """What they are taken for is named: a blank helps nobody."""
        self.server = Server(self.server.here, ramdisk=False)
        self.server.kept.entries.put(entry())
        said = self.told(f"/boot/ipxe?mac={MACHINE}")
        self.assertEqual(said, "#!ipxe\necho This boot server has no ramdisk for x86_64\nexit 1\n")

    def test_without_a_token(self) -> None:
        """An entry that has none asks nobody for anything."""
        self.server.kept.entries.put(entry(token_ref=""))
        said = self.told()
        self.assertNotIn("bc.token", said)
        self.assertNotIn("bc.assertion", said)
        self.assertEqual(self.server.agent.asked, [])

    def test_no_token_to_be_had(self) -> None:
        """It asks again, three times; the log says why."""
        self.server.kept.entries.put(entry())
        for error in (Unavailable("no session"), Rejected("secret-refused", "no"),
                      Rejected("stale-epoch")):  # fmt: skip
            self.server.agent.error = error
            with capturedLogs() as events:
                said = self.told(PATH + "&tries=2")
            self.assertIn(f"echo Its join token cannot be had: {error.code}\n", said)
            self.assertIn("&tries=3", said)
            self.assertNotIn("rsjt_", repr(events))

    def test_entries_that_no_command_made(self) -> None:
        self.server.kept.entries.put(entry(command=""))
        self.assertIn("cannot be had: secret-refused", self.told())
        self.assertEqual(self.server.agent.asked, [])

    def test_a_line_that_is_too_long(self) -> None:
        """Linux would cut it, and the token with it: it is refused instead."""
        self.server.kept.entries.put(entry(cmdline="x" * 1300))
        self.assertIn("a kernel command line of more than 2047", self.told())


class FenceTests(ScriptCase):
    def test_while_a_token_is_fetched(self) -> None:
        """The fence closes, the epoch goes on, or the entry is another one: no token leaves."""
        tree = self.server

        def close() -> None:
            tree.lease.active = False

        def hand_over() -> None:
            tree.lease.epoch = 8

        def replace() -> None:
            tree.kept.entries.put(entry(cmdline="another"))

        def clear() -> None:
            tree.kept.entries.remove(MACHINE)

        def come_back() -> None:
            """An entry that is bound to no epoch lives on, its token does not."""
            tree.kept.entries.put(entry(epoch=0))

        for happens, said in (
            (close, "not active"),
            (hand_over, "Nothing is prepared"),
            (replace, "has just changed"),
            (clear, "Nothing is prepared"),
            (come_back, "has just changed"),
        ):
            tree.lease.active, tree.lease.epoch = True, 7
            tree.kept.entries.put(entry())
            tree.agent.held = Deferred()
            reply = self.waiting()
            self.assertNoResult(reply)
            happens()
            tree.agent.held.callback(None)
            text = self.text(reply)
            self.assertIn(said, text)
            self.assertNotIn("rsjt_", text)

    def test_the_epoch_alone(self) -> None:
        """An entry that outlives the epoch is asked for a token again."""
        self.server.kept.entries.put(entry(epoch=0))
        self.server.agent.held = Deferred()
        reply = self.waiting()
        self.server.lease.epoch = 8
        self.server.agent.held.callback(None)
        self.assertIn("has just changed", self.text(reply))

    def test_files(self) -> None:
        """503, with a time to wait, and asked again when the file is open."""
        paths = ("/boot/kernel", "/boot/initrd", "/boot/loaders/ipxe-x86_64.efi")
        self.server.lease.active = False
        for path in (*paths, "/boot/kernel-arm64", "/boot/initrd-arm64"):
            told = ask(self.server.tree, path)
            self.assertEqual((told.status, told.header("Retry-After")), (503, "5"), path)
        self.server.lease.active = True
        reply = self.successResultOf(self.waiting("/boot/kernel"))
        assert isinstance(reply, FileReply)
        self.assertIs(reply.fence, self.server.lease)
        self.assertEqual(ask(self.server.tree, "/boot/kernel").body, b"kernel")
        self.assertEqual(ask(self.server.tree, "/boot/initrd").body, b"initrd")
        for path in ("/boot/kernel-arm64", "/boot/initrd-arm64", "/boot/other"):
            self.assertEqual(ask(self.server.tree, path).status, 404)

    def test_answers_are_counted(self) -> None:
        """What was handed over while the fence had to be open, and nothing else."""
        for active, answers in ((True, 1), (False, 1)):
            self.server.lease.active = active
            reply = self.successResultOf(self.waiting())
            assert isinstance(reply, Reply)
            asked = Request("GET", PATH, PEER)
            done = Finished(asked, PEER, 200, 9, 9, 0.1, Outcome.SENT, reply.about)
            with capturedLogs() as events:
                self.server.tree.finished(done)
            self.assertEqual(self.server.lease.answers, answers)
            self.assertEqual(events[-1]["event"], "script.sent")

    def test_health(self) -> None:
        self.assertEqual(ask(self.server.tree, "/healthz").body, b"active\n")
        self.server.lease.active = False
        told = ask(self.server.tree, "/healthz")
        self.assertEqual((told.status, told.body), (200, b"standby\n"))

    def test_methods(self) -> None:
        """GET and HEAD, and no other one."""
        for path in (PATH, "/boot/kernel", "/healthz"):
            self.assertEqual(ask(self.server.tree, path, method="HEAD").status, 200)
            told = ask(self.server.tree, path, method="POST")
            self.assertEqual((told.status, told.header("Allow")), (405, "GET, HEAD"))


class LoaderTests(ScriptCase):
    def test_those_of_the_table(self) -> None:
        """And what an operator put in their place; nothing else of the directory."""
        files = {b"ipxe-x86_64.efi": b"x64", b"mine.efi": b"mine", b"secret": b"no"}
        listed = Listed(MemoryLoaders(files), {"efiarm64": "mine.efi"})
        self.server.tree._loaders = LoaderTree(listed)
        for name, status in (("ipxe-x86_64.efi", 200), ("mine.efi", 200), ("secret", 404),
                             ("ipxe-arm64.efi", 404), ("x/ipxe-x86_64.efi", 404)):  # fmt: skip
            self.assertEqual(ask(self.server.tree, f"/boot/loaders/{name}").status, status, name)
        there = There(listed)
        self.assertEqual(len(there), 3)
        self.assertEqual(dict(there), {"efi64": "ipxe-x86_64.efi", "http64": "ipxe-x86_64.efi",
                                 "efiarm64": "mine.efi"})  # fmt: skip
        self.assertIsNone(listed.native())

    def test_one_that_is_brought_later(self) -> None:
        """Is offered from then on; one that is taken away is not."""
        files: dict[bytes, Content | Generated | bytes] = {}
        listed = Listed(MemoryLoaders(files), {})
        there = There(listed)
        self.assertEqual((there.get("bios"), listed.native()), (None, None))
        files[b"ipxe-undionly.kpxe"] = files[b"ipxe-bios.pxe"] = b"x"
        self.assertEqual(there.get("bios"), "ipxe-undionly.kpxe")
        self.assertEqual(listed.native(), "ipxe-bios.pxe")
        del files[b"ipxe-undionly.kpxe"]
        self.assertIsNone(there.get("bios"))
        self.assertIsNone(there.get("no such tag"))

    def test_what_an_ipxe_asks_for_beside_itself(self) -> None:
        """In the root and beside each loader, and nowhere else; an answer like any other."""
        lead = {b"autoexec.ipxe": b"#!ipxe", b"x/autoexec.ipxe": b"#!ipxe", b"x/mine.efi": b"m"}
        listed = Listed(MemoryLoaders(lead), {"efiarm64": "x/mine.efi"})
        self.server.tree._loaders = LoaderTree(listed)
        for name, status in (("autoexec.ipxe", 200), ("x/autoexec.ipxe", 200),
                             ("y/autoexec.ipxe", 404), ("x/y/autoexec.ipxe", 404)):  # fmt: skip
            self.assertEqual(ask(self.server.tree, f"/boot/loaders/{name}").status, status, name)
        path = "/boot/loaders/autoexec.ipxe"
        reply = self.successResultOf(self.waiting(path))
        assert isinstance(reply, Reply)
        done = Finished(Request("GET", path, PEER), PEER, 200, 6, 6, 0.1, Outcome.SENT, reply.about)
        answers = self.server.lease.answers
        with capturedLogs() as events:
            self.server.tree.finished(done)
        self.assertEqual(self.server.lease.answers, answers + 1)
        self.assertEqual((events[-1]["event"], events[-1]["script"]), ("script.sent", "autoexec"))
        self.server.lease.active = False
        self.assertEqual(ask(self.server.tree, path).status, 503)


class AskedTests(SynchronousTestCase):
    def test_a_token_is_asked_for_once(self) -> None:
        """However many wait for it; those of another epoch ask for their own."""
        agent = Agent(held=Deferred())
        asked = Asked(agent, None, lambda: 0)
        waiting = [
            Deferred.fromCoroutine(asked.token(request(entry(), epoch))) for epoch in (7, 7, 7, 8)
        ]
        self.assertEqual([each.epoch for each in agent.asked], [7, 8])
        waiting[0].cancel()
        self.failureResultOf(waiting[0])
        assert agent.held is not None
        agent.held.callback(None)
        for each in waiting[1:]:
            self.assertEqual(self.successResultOf(each).reveal(), "rsjt_secret")

    def test_the_join_key(self) -> None:
        """Asked for again after a minute; one that is not the pinned one is told to nobody."""
        agent, time = Agent(), [0.0]
        asked = Asked(agent, Pin.parse(pin(ENCRYPTION)), lambda: time[0])
        for now, times in ((0.0, 1), (KEPT - 1, 1), (KEPT, 2)):
            time[0] = now
            self.successResultOf(Deferred.fromCoroutine(asked.join_key()))
            self.assertEqual(agent.keys_asked, times)
        asked = Asked(agent, Pin.parse(pin(NODE)), lambda: 0)
        failure = self.failureResultOf(Deferred.fromCoroutine(asked.join_key()), Rejected)
        self.assertEqual(failure.value.code, "pin-mismatch")


class AskingTests(SynchronousTestCase):
    @given(st.lists(st.tuples(st.sampled_from(["mac", "ip", "uuid", "arch", "tries"]), st.text())))
    def test_whatever_is_said(self, query: list[tuple[str, str]]) -> None:
        """Nothing of it raises, and no script of it is anything but iPXE can read."""
        asking = Asking.of(tuple(query), "192.0.2.7")
        text = scripts.standby(URL, asking.mac, asking.tries)
        self.assertTrue(text.isascii() and text.startswith("#!ipxe\n"))
        self.assertIn(asking.tries, range(scripts.RETRIES + 1))

    def test_tries(self) -> None:
        """What is no small number ends the asking."""
        for text, tries in (("", 0), ("0", 0), ("2", 2), ("3", 3), ("-1", 3), ("99", 3), ("٢", 3)):
            self.assertEqual(Asking.of((("tries", text),), "").tries, tries, text)
        self.assertEqual(Asking.of((), "").tries, 0)
