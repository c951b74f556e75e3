"""The consumers' stage, for commands that look at what they left."""

from tests.consumers.conftest import house, scene

__all__ = ["house", "scene"]
