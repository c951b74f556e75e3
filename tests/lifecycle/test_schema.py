"""Every event that is made is valid by its own schema, and every detail is described."""

import orjson
import pytest
from jsonschema import Draft202012Validator

from kamaji_events.catalogue import CATALOGUE, by_type
from kamaji_events.event import Event
from kamaji_events.payload import DETAILS
from kamaji_events.schema import all_schemas, schema_of
from publisher.derive import derive
from publisher.render import render
from tests.support.recordings import RECORDINGS, names
from tests.support.tcp import Store, Tcp, Watcher

_SCHEMAS = all_schemas()
_VALIDATORS = {kind: Draft202012Validator(schema) for kind, schema in _SCHEMAS.items()}


def _check(body: bytes) -> None:
    event = Event.from_bytes(body)
    _VALIDATORS[event.type].validate(dict(event.data))
    assert event.attributes["dataschema"] == _SCHEMAS[event.type]["$id"]


def test_every_detail_of_the_catalogue_is_described() -> None:
    """And nothing is described that no event has."""
    named = {name for event in CATALOGUE for name in event.details}
    assert named == set(DETAILS)


@pytest.mark.parametrize("kind", sorted(_VALIDATORS))
def test_a_schema_is_a_schema(kind: str) -> None:
    """Of the dialect that it names."""
    Draft202012Validator.check_schema(all_schemas()[kind])


@pytest.mark.parametrize("name", names())
def test_events_of_recordings_are_valid(name: str) -> None:
    """All of them."""
    for message in derive(RECORDINGS / f"{name}.jsonl.gz"):
        _check(message.body)


def _eventful() -> Watcher:
    """A life that says nearly everything that can be said."""
    tcp, store = Tcp(), Store(used_by=["tenants/acme"])
    watcher = Watcher(store)
    watcher.see(tcp, "ADDED")
    watcher.wait(700)
    watcher.see(tcp.running())
    watcher.see(tcp.wants(version="v1.35.0"))
    watcher.wait(1000)
    watcher.see(tcp.status("Ready", version="v1.35.0", rollout=2))
    watcher.see(tcp.edit("writePermissions/blockUpdate", value=True).status("WriteLimited"))
    watcher.see(tcp.edit("networkProfile/port", 7443))
    watcher.see(tcp.set("metadata/labels", {}))
    watcher.see(tcp.set("status/certificates/apiServer/checksum", "api-2"))
    watcher.see(tcp.set("status/certificates/ca/checksum", "ca-2"))
    watcher.see(tcp.status("NotReady", ready=0))
    watcher.wait(100)
    watcher.see(tcp.status("Ready", ready=2))
    for number in range(3, 12):
        watcher.see(tcp.status("Ready", ready=2, rollout=number))
    watcher.wait(200)
    watcher.see(tcp.set("status/addons", {"coreDNS": {"enabled": False}}))
    watcher.see(tcp.set("status/addons/coreDNS/enabled", value=True))
    points = [{"value": "a.example", "port": 443, "urls": ["https://a.example"]}]
    watcher.see(tcp.set("status/kubernetesResources/gateway/accessPoints", points))
    watcher.see(store.status(ready=False, used_by=["tenants/other"]))
    watcher.see(tcp.delete())
    watcher.see(tcp.touch(), "DELETED")
    (look,) = watcher.looks()
    watcher.answer(look, unverified=("Secret",))
    return watcher


def test_events_of_an_eventful_life_are_valid() -> None:
    """Looping, outages, stalls and cleanups included."""
    watcher = _eventful()
    assert len({decision.name for decision in watcher.said}) > 25
    for decision in watcher.said:
        _check(render(decision, cluster="eu-1", term=3).body)


def test_a_rendered_event_has_every_attribute_of_the_envelope() -> None:
    """Those of the contract's table, and no other."""
    decision = _eventful().find("upgrade.completed")
    message = render(decision, cluster="eu-1", term=3)
    attributes = orjson.loads(message.body)
    assert set(attributes) == {
        "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "sequence",
        "partitionkey", "operationid", "kamajicluster", "kamajinamespace", "kamajiname", "kamajiterm", "data",
    }  # fmt: skip
    assert attributes["source"] == "/kamaji/eu-1"
    assert attributes["id"] == f"{attributes['operationid']}.completed"
    assert message.routing_key == "tenantcontrolplane.upgrade.completed.eu-1.tenants.acme"
    assert message.correlation_id == attributes["operationid"]


def test_a_schema_refuses_what_is_missing() -> None:
    """A required detail that is not there is an error, an unknown member is none."""
    event = by_type("io.clastix.kamaji.tenantcontrolplane.upgrade.completed")
    assert event is not None
    validator = Draft202012Validator(schema_of(event))
    data = orjson.loads(render(_eventful().find("upgrade.completed"), cluster="eu-1", term=1).body)["data"]
    assert validator.is_valid(data | {"later": 1})
    del data["rolledOut"]
    assert not validator.is_valid(data)
