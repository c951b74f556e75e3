"""The egress guard: which addresses may be connected to, and that it is the address that counts, not the name."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.sinks.base import Delivered, Failed, Sink
from consumers.sinks.web.egress import EgressGuard, EgressRefused, EgressSettings
from tests.support.receiver import receiver
from tests.support.samples import sample_delivery

Make = Callable[..., Sink]


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.8.8", "loopback"),
        ("0.0.0.0", "loopback"),
        ("::1", "loopback"),
        ("::", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("169.254.169.254", "metadata"),
        ("::ffff:169.254.169.254", "metadata"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("169.254.7.7", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("240.0.0.1", "reserved"),
    ],
)
def test_what_is_refused_by_default(address: str, kind: str) -> None:
    """Each kind is refused by its name, and let through by its word."""
    reason = EgressGuard().refusal(address)
    assert reason is not None
    assert f"is {kind}" in reason
    assert EgressGuard(EgressSettings(allow=(kind,))).refusal(address) is None


@pytest.mark.parametrize("address", ["10.0.0.7", "192.168.1.1", "172.20.0.3", "100.64.0.9", "fd12::7"])
def test_private_networks_are_open_unless_public_only(address: str) -> None:
    """Receivers inside the cluster are reached by default, and not in public-only mode."""
    assert EgressGuard().refusal(address) is None
    guard = EgressGuard(EgressSettings(mode="public-only"))
    assert "public-only" in (guard.refusal(address) or "")
    assert EgressGuard(EgressSettings(mode="public-only", allow=("private",))).refusal(address) is None
    assert EgressGuard(EgressSettings(mode="public-only"), allow=(address,)).refusal(address) is None


def test_public_addresses_are_open() -> None:
    """The internet is there for everybody."""
    for address in ("93.184.216.34", "2606:4700::1111"):
        assert EgressGuard(EgressSettings(mode="public-only")).refusal(address) is None


def test_a_network_does_not_open_the_metadata_service() -> None:
    """Only its word or its own address does."""
    assert EgressGuard(EgressSettings(allow=("169.254.0.0/16",))).refusal("169.254.169.254") is not None
    assert EgressGuard(EgressSettings(allow=("169.254.0.0/16",))).refusal("169.254.1.1") is None
    assert EgressGuard(EgressSettings(allow=("169.254.169.254",))).refusal("169.254.169.254") is None
    assert EgressGuard(EgressSettings(allow=("link-local",))).refusal("169.254.169.254") is not None


@given(st.ip_addresses())
def test_every_address_is_judged_and_loopback_never_passes(address: Any) -> None:
    """No address makes the guard fail; in public-only mode what passes is global and no multicast."""
    guard = EgressGuard(EgressSettings(mode="public-only"))
    if guard.refusal(str(address)) is None:
        assert address.is_global
        assert not address.is_loopback
        assert not address.is_multicast


@pytest.mark.parametrize(
    "host", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::ffff:7f00:1]", "[::]", "0"]
)
@pytest.mark.parametrize("http2", [False, True])
async def test_other_spellings_of_loopback(make: Make, host: str, http2: bool) -> None:  # noqa: FBT001
    """However the address is written, the one that is connected to is judged; nothing arrives."""
    async with receiver() as there:
        settings = {"url": f"http://{host}:{there.port}/", "http2": http2}
        try:
            outcome = await make("webhook", settings, allow=()).deliver(sample_delivery())
        except Exception as error:  # noqa: BLE001 - a literal address is refused when the sink is built
            assert any(told in str(error) for told in ("egress guard", "odd form", "is no URL"))  # noqa: PT017
        else:
            assert isinstance(outcome, Failed)
            assert "egress guard" in outcome.error
    assert there.connections == 0


@pytest.mark.parametrize("http2", [False, True])
async def test_dns_rebinding(make: Make, monkeypatch: pytest.MonkeyPatch, http2: bool) -> None:  # noqa: FBT001
    """A name that is public when it is looked at and loopback when it is connected to gets nowhere."""
    answers = iter(["93.184.216.34", "127.0.0.1", "127.0.0.1", "127.0.0.1"])
    asked = []

    async def getaddrinfo(_: object, host: str, port: int, **__: Any) -> list[Any]:
        address = next(answers)
        asked.append(address)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    async with receiver() as there:
        checked = await asyncio.get_running_loop().getaddrinfo("rebind.example", there.port)
        EgressGuard().check(str(checked[0][4][0]))
        settings = {"url": f"http://rebind.example:{there.port}/", "http2": http2}
        outcome = await make("webhook", settings, allow=()).deliver(sample_delivery())
    assert isinstance(outcome, Failed)
    assert "127.0.0.1 is loopback" in outcome.error
    assert there.connections == 0
    assert asked[:2] == ["93.184.216.34", "127.0.0.1"]


async def test_of_several_addresses_the_allowed_one_is_used(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with a refused and an allowed address is reached at the allowed one."""

    async def getaddrinfo(_: object, host: str, port: int, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    async with receiver() as there:
        settings = {"url": f"http://two.example:{there.port}/", "egress": {"allow": ["127.0.0.1"]}}
        assert await make("webhook", settings, allow=()).deliver(sample_delivery()) == Delivered("204")


def test_check_raises_with_the_reason() -> None:
    """The exception is an OSError, so that connecting code treats it like a refused connection."""
    with pytest.raises(EgressRefused, match=r"to allow it: egress\.allow"):
        EgressGuard().check("127.0.0.1")
    EgressGuard().check_host("a.name")
    with pytest.raises(ValueError, match="'home' is no network"):
        EgressGuard(allow=("home",))
