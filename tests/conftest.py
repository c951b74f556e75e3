"""Fixtures that every room's tests may ask for."""

from tests.support.rabbit import layout, private_node, rabbit

__all__ = ["layout", "private_node", "rabbit"]
