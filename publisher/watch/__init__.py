"""Reads Kamaji's objects from a Kubernetes API server, read-only, and never tires of it.

::

    find_credentials ─> Api (aiohttp) ─> WatchStream (lines, garbage, silence) ─> Reflector (list, watch, resume)

``credentials`` and ``api`` are the only modules that know aiohttp and ``kubernetes.aio``; everything above them works
on bytes from a ``Source``, so that tests give it any behaviour in virtual time.
"""
