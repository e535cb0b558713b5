"""
``python -m bench.dhcp_server ADDRESS MACHINES``: our proxy DHCP alone, for :mod:`bench.dhcp`.

It is the real server over real sockets, with the boot lease held and with entries for the machines
that the load generator asks for; the gateway that would say so is not there.
"""

import sys
import time
from ipaddress import IPv4Address

from twisted.internet.epollreactor import EPollReactor
from twisted.internet.main import installReactor
from twisted.logger import globalLogBeginner

from rescriptum import logs
from rescriptum.boot.discovery import Discoveries
from rescriptum.boot.entries import BootEntries, BootEntry, BootKind
from rescriptum.boot.lease import AgentLease, LeaseFence
from rescriptum.net.udp import UDP
from rescriptum.proxydhcp.answer import BootFiles
from rescriptum.proxydhcp.policy import Policy
from rescriptum.proxydhcp.protocol import ProxyDHCP
from rescriptum.proxydhcp.service import ProxyDHCPService
from rescriptum.proxydhcp.strategies import Strategies
from rescriptum.values import MAC

#: As dhcpblast counts them.
FIRST_MAC = 0x0252_0000_0000
EPOCH = 7


def main() -> None:
    address, machines = IPv4Address(sys.argv[1]), int(sys.argv[2])
    reactor = EPollReactor()
    installReactor(reactor)
    globalLogBeginner.beginLoggingTo([logs.observer("all", "stderr")], redirectStandardIO=False)
    lease = AgentLease(1)
    lease.section(True, EPOCH, 60_000)
    fence = LeaseFence(lease, time.monotonic)

    def prove() -> None:
        lease.acknowledged(*lease.heartbeat(time.monotonic()))
        reactor.callLater(5, prove)

    prove()
    entries = BootEntries(
        BootEntry(MAC(f"{FIRST_MAC + each:012x}"), BootKind.RAMDISK, epoch=EPOCH)
        for each in range(machines)
    )
    files = BootFiles(address, f"http://{address}:8080")
    server = ProxyDHCP(
        UDP(reactor, time.monotonic),
        Policy(files, fence, entries, Strategies(), time.time),
        fence=fence,
        discovered=Discoveries(by_dhcp=True),
        server=address.packed,
        monotonic=time.monotonic,
        now=time.time,
        found=lambda: None,
    )
    service = ProxyDHCPService(server)
    service.privilegedStartService()
    reactor.addSystemEventTrigger("before", "shutdown", service.stopService)
    reactor.run()


if __name__ == "__main__":
    main()
