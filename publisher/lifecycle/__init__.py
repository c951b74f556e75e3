"""The lifecycle diff: states in, conclusions out; no clock, no I/O, no logger.

::

    fleet.py      the whole: observations, ticks and answers in, decisions out
    tcp.py        one TenantControlPlane: baseline, first sight, change, deletion
    operations.py the operations of the contract, each opened once and ended once
    states.py     the states of the contract, in the order of their table
    looping.py    changes that nobody asked for, again and again
    stalled.py    what can be read about an operation that takes too long
    farewell.py   from the object's end to the end of what it owned
    store.py      one DataStore
    facts.py      what is compared, merged of what is seen and what was known
    memory.py     what is remembered of each object
    teller.py     numbers and names decisions
"""
