"""Benchmarks: each case against its limit in the same run, as ratios. ``python -m bench --help``."""
