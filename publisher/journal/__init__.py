"""The publisher's memory in the broker: a journal in one quorum queue, held unacknowledged by the leader.

That the leader holds it is leadership and memory in one: the queue has a single active consumer, and whoever
becomes it is given everything that was written. ``codec`` is what a record looks like, ``reading`` what a heap of
records means (both pure), ``token`` holds the queue, ``journal`` leads, ``tools`` is for people.
"""
