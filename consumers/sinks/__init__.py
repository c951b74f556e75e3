"""The sinks: one module each, all of them one method and ``aclose``; no sink imports another."""
