"""The consumers: take events from a subscription's queue and deliver them, once decided, to its sink."""
