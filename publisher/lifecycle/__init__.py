"""The lifecycle diff: states in, conclusions out; no clock, no I/O, no logger.

::

    fleet.py       the whole: observations, ticks and answers in, decisions out
    tenants.py     every TenantControlPlane that is known; stores.py every DataStore
    tcp.py         one TenantControlPlane: baseline, first sight, change and end; store.py one DataStore
    merge.py       a snapshot over what was known: facts.py
    judging.py     open operations, opening.py new ones; operations.py what they share
    states.py      the states, in the order of their table, with readiness.py, looping.py and bootstrap.py
    deletion.py    to the end of the object; farewell.py to the end of what it owned
    clockwork.py   what time alone decides; stalled.py what can be read about what takes too long; agenda.py when
    surroundings.py namesakes, neighbours and DataStores of an object
    looks.py       questions that only the API server can answer
    memory.py      what is remembered of each object; recall.py the same made anew of the history
    teller.py      numbers, names and dresses each decision: decision.py
"""
