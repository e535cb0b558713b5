"""Firmware of every kind gets what the architecture table says, from servers that are not ours."""

from unittest import TestSuite

from rescriptum.boot.loaders import FALLBACK, ONE_LOADER, SERVED, Architecture, Transport

from . import peers
from .asking import Offered, Question, ask
from .case import ASKED, LabTestCase
from .network import SERVER

if not ASKED:
    testSuite = TestSuite

SCRIPT = f"http://{SERVER}:{peers.MEDIA_PORT}/ipxe/bootstrap"


def question(row: Architecture) -> Question:
    """What firmware of this row sends: EDK2's vendor class has its code in five digits."""
    return Question(row.code, f"{row.vendor_class}:UNDI:003000")


def expected(row: Architecture) -> Offered:
    if row.transport is Transport.HTTP:
        url = f"http://{SERVER}:{peers.MEDIA_PORT}/boot/{row.loader}"
        return Offered(url, url, SERVER, "HTTPClient")
    assert row.loader is not None
    return Offered(row.loader, row.loader, SERVER, "")


class ArchitectureTests(LabTestCase):
    """Every row of the table, asked by a client of bytes; no firmware is needed for that."""

    def table(self) -> None:
        asked = [*SERVED, None, None]
        questions = [question(row) for row in SERVED]
        questions += [Question(None), Question(0, "PXEClient:Arch:00000:UNDI:002001", "iPXE")]
        wanted = [expected(row) for row in SERVED]
        wanted += [
            Offered(FALLBACK, FALLBACK, SERVER, ""),
            Offered(SCRIPT, SCRIPT, SERVER, ""),
        ]
        offers = ask(self.network, questions)
        for row, offer, want in zip(asked, offers, wanted, strict=True):
            with self.shown():
                self.assertEqual(offer, want, row)

    def test_dnsmasq(self) -> None:
        peers.dnsmasq(self.network, self.server.command("boot", "dhcp-snippet"))
        self.table()

    def test_isc(self) -> None:
        peers.isc(self.network, self.server.command("boot", "dhcp-snippet", "--format", "isc"))
        self.table()

    def test_kea(self) -> None:
        peers.kea(self.network, self.server.command("boot", "dhcp-snippet", "--format", "kea"))
        self.table()

    def test_one_loader_for_all(self) -> None:
        """The form for a fleet of BIOS machines names pxelinux, to iPXE too."""
        snippet = self.server.command("boot", "dhcp-snippet", "--one-loader")
        peers.dnsmasq(self.network, snippet)
        questions = [Question(0, "PXEClient:Arch:00000"), Question(0, "PXEClient", "iPXE")]
        with self.shown():
            self.assertEqual(
                ask(self.network, questions), [Offered(ONE_LOADER, ONE_LOADER, SERVER, "")] * 2
            )
