"""The egress guard: which addresses a sink may connect to, judged on the resolved address.

A subscription's URL is often written by somebody else than the worker's operator, and a name can resolve to anything,
another thing each time. So the address of each single connection is judged, at the moment of connecting.

By default private networks are open, since receivers inside a cluster live there, and these are refused: loopback
(the worker's own pod), link-local, the clouds' metadata services, multicast, broadcast and reserved. ``public-only``
refuses private networks too. IPv4 inside IPv6 (mapped, NAT64, 6to4) is judged as the IPv4 that it is.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal

from pydantic import field_validator

from consumers.sinks.settings import SinkSettings

__all__ = ["EgressGuard", "EgressRefused", "EgressSettings"]

_Address = IPv4Address | IPv6Address

_METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Google, Azure, OpenStack, DigitalOcean
        "169.254.170.2",  # AWS ECS task credentials
        "169.254.170.23",  # AWS EKS pod identity
        "fd00:ec2::254",  # AWS over IPv6
        "fd00:ec2::23",
        "fd20:ce::254",  # Google over IPv6
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure's host agent
        "192.0.0.192",  # Oracle
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_WORDS = ("loopback", "link-local", "metadata", "multicast", "private", "reserved")


class EgressRefused(OSError):  # noqa: N818 - says what happened, as kamaji_events.errors
    """A connection that the guard did not let happen."""


class EgressSettings(SinkSettings):
    """Where this sink may connect to."""

    mode: Literal["default", "public-only"] = "default"
    """``public-only`` also refuses private networks."""
    allow: tuple[str, ...] = ()
    """Exceptions: networks (``10.1.0.0/16``), addresses, or the words loopback, link-local, metadata, multicast,
    private, reserved. A metadata address is let through only by its word or by itself, never by a network."""

    @field_validator("allow")
    @classmethod
    def _known(cls, allow: tuple[str, ...]) -> tuple[str, ...]:
        _check(allow)
        return allow


def _check(entries: Iterable[str]) -> None:
    for entry in entries:
        if entry not in _WORDS:
            _network(entry)


def _network(entry: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(entry)
    except ValueError:
        words = ", ".join(_WORDS)
        raise ValueError(f"{entry!r} is no network such as 10.1.0.0/16, no address and none of {words}") from None


def _unwrapped(address: _Address) -> _Address:
    """The IPv4 address that an IPv6 one stands for, else itself."""
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address in _NAT64:
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
    return inner or address


def _kind(address: _Address) -> str | None:
    """The word for an address that is not simply public; None when it is."""
    if address in _METADATA:
        return "metadata"
    if address.is_loopback or address.is_unspecified:  # the unspecified one connects to oneself
        return "loopback"
    if address.is_link_local:
        return "link-local"
    if address.is_multicast:
        return "multicast"
    if address.is_reserved or (isinstance(address, IPv4Address) and address == IPv4Address("255.255.255.255")):
        return "reserved"
    return None if address.is_global else "private"


class EgressGuard:
    """Judges addresses.

    Args:
        settings: the sink's own.
        allow: what the worker's operator allows to every sink.

    Raises:
        ValueError: an entry of ``allow`` is none.
    """

    def __init__(self, settings: EgressSettings | None = None, allow: tuple[str, ...] = ()) -> None:
        settings = settings or EgressSettings()
        _check(allow)
        entries = (*settings.allow, *allow)
        self._words = frozenset(entry for entry in entries if entry in _WORDS)
        self._networks = tuple(_network(entry) for entry in entries if entry not in _WORDS)
        self._public_only = settings.mode == "public-only"
        self._judge = lru_cache(maxsize=1024)(self._judged)

    def refusal(self, address: str) -> str | None:
        """Why an address is refused; None when it may be connected to.

        Args:
            address: a literal IPv4 or IPv6 address, with or without a zone.
        """
        return self._judge(address)

    def _judged(self, text: str) -> str | None:
        address = _unwrapped(ip_address(text.partition("%")[0]))
        kind = _kind(address)
        if kind is None or kind in self._words or (kind == "private" and not self._public_only):
            return None
        if self._excepted(address, whole=kind == "metadata"):
            return None
        mode = " in public-only mode" if kind == "private" else ""
        shown = text if str(address) == text else f"{text} ({address})"
        word = kind if kind != "private" else address
        return f"refused by the egress guard: {shown} is {kind}{mode}; to allow it: egress.allow: [{word}]"

    def _excepted(self, address: _Address, *, whole: bool) -> bool:
        networks = (net for net in self._networks if net.version == address.version)
        return any(address in net and (not whole or net.num_addresses == 1) for net in networks)

    def check(self, address: str) -> None:
        """Refuse by exception.

        Raises:
            EgressRefused: the text says why, and what would allow it.
        """
        reason = self.refusal(address)
        if reason is not None:
            raise EgressRefused(reason)

    def check_host(self, host: str) -> None:
        """Refuse a URL's host that is an address already; names are judged when they are resolved.

        Raises:
            EgressRefused: as ``check``.
        """
        try:
            ip_address(host)
        except ValueError:
            return
        self.check(host)
