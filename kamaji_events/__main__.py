"""``python -m kamaji_events`` is ``kamaji-events``."""

from kamaji_events.cli import main

main()
