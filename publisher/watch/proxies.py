"""Which proxy the environment wants, by the rules that kubectl follows.

The standard library knows no networks in NO_PROXY, and clusters are usually excepted by one (``10.0.0.0/8``).
"""

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

__all__ = ["environment_proxy"]


def environment_proxy(url: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The proxy for a URL from HTTPS_PROXY, HTTP_PROXY and NO_PROXY (or in lower case), None for none.

    Args:
        url: where a request goes.
        environ: the environment.
    """
    parts = urlsplit(url)
    proxy = _variable(environ, f"{parts.scheme}_proxy")
    host = (parts.hostname or "").lower()
    if not proxy or _is_local(host):
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    rules = [rule.strip().lower() for rule in _variable(environ, "no_proxy").split(",")]
    if any(rule and _excepts(rule, host, port) for rule in rules):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _excepts(rule: str, host: str, port: int) -> bool:
    if rule == "*":
        return True
    address = _address(host)
    if address is not None and "/" in rule:
        return _holds(rule, address)
    name, colon, wanted = rule.rpartition(":")
    if colon and wanted.isdigit() and _address(rule) is None:
        if int(wanted) != port:
            return False
        rule = name
    rule = rule.removeprefix("*")
    return host == rule.strip("[]") or (rule.startswith(".") and host.endswith(rule)) or host.endswith(f".{rule}")


def _holds(network: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
