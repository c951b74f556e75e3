"""A simulated Kubernetes API with a Kamaji fleet in it: replayed from recordings, or invented.

It speaks what a list and watch client uses, as a kube-apiserver v1.36.3 does: the same behaviour suite runs on both.
"""

from kamaji_events.recording import read_recording
from kamaji_events.simulator.faults import Faults
from kamaji_events.simulator.filling import fill
from kamaji_events.simulator.invented import InventedFleet
from kamaji_events.simulator.multiply import multiply
from kamaji_events.simulator.recorded import write_recording
from kamaji_events.simulator.replay import Replay
from kamaji_events.simulator.serve import ServePlan, serve
from kamaji_events.simulator.server import Simulator
from kamaji_events.simulator.store import Store

__all__ = [
    "Faults",
    "InventedFleet",
    "Replay",
    "ServePlan",
    "Simulator",
    "Store",
    "fill",
    "multiply",
    "read_recording",
    "serve",
    "write_recording",
]
