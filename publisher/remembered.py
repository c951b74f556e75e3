"""The judge as it is remembered: what a memory stores, as a fleet again."""

from typing import Final

import msgspec

from kamaji_events.errors import JournalDamaged
from publisher.lifecycle.fleet import Fleet
from publisher.lifecycle.memory import ObjectMemory
from publisher.lifecycle.policy import Policy
from publisher.memory import Recovered

__all__ = ["EPOCH", "encode", "fleet_from"]

EPOCH: Final = "epoch"
"""The fact under which the epoch is remembered."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ObjectMemory)

encode = _encoder.encode
"""One object's memory as bytes."""


def fleet_from(recovered: Recovered, policy: Policy) -> Fleet:
    """Restore a fleet, in a new epoch when the memory was lost.

    Raises:
        JournalDamaged: an object's memory cannot be read.
    """
    epoch = int(recovered.facts.get(EPOCH, "1"))
    if recovered.lost is not None:
        epoch += 1
    try:
        memories = {key: _decoder.decode(raw) for key, raw in recovered.objects.items()}
    except msgspec.MsgspecError as error:
        raise JournalDamaged(
            f"the memory of an object cannot be read ({error}); 'kamaji-events journal export' saves what there is, "
            "'journal reset' begins anew"
        ) from error
    recalled_until = None if recovered.lost is None else recovered.unwatched_since
    return Fleet.restore(policy, memories, epoch=epoch, synced=recovered.versions, recalled_until=recalled_until)
