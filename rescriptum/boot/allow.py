"""Who the boot side answers: ``RESCRIPTUM_BOOT_ALLOW``, networks and addresses."""

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self

from attrs import frozen


@frozen
class AllowList:
    """
    :ivar networks: none of them means everybody; IPv4 and IPv6 never match each other.
    """

    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        :raises ValueError: unless ``text`` is networks or addresses with commas between.
        """
        parts = [part.strip() for part in text.split(",")]
        networks = []
        for part in parts:
            try:
                networks.append(ip_network(part))
            except ValueError as e:
                raise ValueError(f"not a network such as 10.0.0.0/8: {part!r} ({e})") from None
        return cls(tuple(networks))

    def admits(self, host: str) -> bool:
        """:param host: a peer's address; text that is none is not admitted by any network."""
        if not self.networks:
            return True
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self.networks)

    def __str__(self) -> str:
        return ",".join(str(each) for each in self.networks)
