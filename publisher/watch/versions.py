"""resourceVersions, compared as numbers where both are: what the API guarantees for its own kinds and CRDs."""

__all__ = ["is_behind"]


def is_behind(server: str, remembered: str) -> bool:
    """Tell whether a server's newest version lies before one that it once gave out; False when they say nothing."""
    if not (server.isascii() and server.isdigit() and remembered.isascii() and remembered.isdigit()):
        return False
    return int(server) < int(remembered)
