"""Helper processes of the bench, each told by JSON lines on its standard input what to do; see ``bench.child``."""
