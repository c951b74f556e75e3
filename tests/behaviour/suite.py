"""How an API server behaves to a list and watch client: the same cases for the simulator and for a real one.

A class that derives from these gives a fixture ``api``. Where the two differ, the simulator is mended.
"""

from typing import Any

from tests.behaviour.server import PARTIAL, PARTIAL_LIST, ApiServer, Object

__all__ = ["DiscoveryBehaviour", "ListBehaviour", "WatchBehaviour", "WriteBehaviour"]

_TOO_LARGE = 1_000_000


def names(listed: Object) -> list[str]:
    """Names of a list's items."""
    return [item["metadata"]["name"] for item in listed["items"]]


def lines(told: list[Object]) -> list[tuple[str, str]]:
    """Type and name of each line of a watch but bookmarks."""
    return [(line["type"], line["object"]["metadata"]["name"]) for line in told if line["type"] != "BOOKMARK"]


def numbers(told: list[Object]) -> list[int]:
    """The resourceVersion of each line."""
    return [int(line["object"]["metadata"]["resourceVersion"]) for line in told]


def status(answer: Any) -> tuple[int, str, str]:
    """Code, reason and message of an error answer."""
    body = answer.json()
    assert body["kind"] == "Status"
    assert body["status"] == "Failure"
    assert body["code"] == answer.status_code
    return answer.status_code, body.get("reason", ""), body["message"]


class DiscoveryBehaviour:
    """What there is."""

    async def test_the_group_tells_its_versions(self, api: ApiServer) -> None:
        """Kamaji's group has a preferred version, which is among its versions."""
        found = await api.get("/apis/kamaji.clastix.io")

        assert found["preferredVersion"] in found["versions"]
        assert found["versions"] == [{"groupVersion": "kamaji.clastix.io/v1alpha1", "version": "v1alpha1"}]

    async def test_the_version_tells_its_kinds(self, api: ApiServer) -> None:
        """Each kind says whether it is namespaced and what can be done with it; status is a part of its own."""
        found = await api.get("/apis/kamaji.clastix.io/v1alpha1")
        kinds = {kind["name"]: kind for kind in found["resources"]}

        assert {"tenantcontrolplanes", "tenantcontrolplanes/status", "datastores"} <= kinds.keys()
        assert kinds["tenantcontrolplanes"]["namespaced"] is True
        assert kinds["datastores"]["namespaced"] is False
        assert {"get", "list", "watch"} <= set(kinds["datastores"]["verbs"])

    async def test_groups_are_listed(self, api: ApiServer) -> None:
        """The list of groups names the groups of owned kinds too; the core group has its own place."""
        groups = {group["name"] for group in (await api.get("/apis"))["groups"]}

        assert {"kamaji.clastix.io", "apps", "batch", "networking.k8s.io"} <= groups
        assert (await api.get("/api"))["versions"] == ["v1"]
        assert (await api.get("/version"))["gitVersion"].startswith("v1.36")

    async def test_what_is_not_served(self, api: ApiServer) -> None:
        """An unknown group, version or kind is 404 in plain text."""
        for path in ("/apis/nope.io", "/apis/kamaji.clastix.io/v9", "/apis/kamaji.clastix.io/v1alpha1/nopes"):
            answer = await api.refused(path)
            assert answer.status_code == 404
            assert answer.text == "404 page not found\n"
            assert answer.headers["Content-Type"].startswith("text/plain")

    async def test_a_cluster_has_a_name_of_its_own(self, api: ApiServer) -> None:
        """The uid of kube-system tells a cluster from any other."""
        assert (await api.get("/api/v1/namespaces/kube-system"))["metadata"]["uid"]

    async def test_a_token_that_is_none(self, api: ApiServer) -> None:
        """An unknown bearer token is 401, with nothing said about what there is."""
        assert status(await api.stranger.get(api.path)) == (401, "Unauthorized", "Unauthorized")


class ListBehaviour:
    """LIST and GET."""

    async def test_an_empty_list(self, api: ApiServer) -> None:
        """A list has a version although nothing is in it."""
        listed = await api.get()

        assert listed["kind"] == "TenantControlPlaneList"
        assert listed["items"] == []
        assert int(listed["metadata"]["resourceVersion"]) > 0

    async def test_pages_are_of_one_moment(self, api: ApiServer) -> None:
        """Pages tell each object once, all as of the first page, whatever changes between them."""
        await api.create("a", "b", "c", "d", "e")
        first = await api.get(limit=2)
        await api.delete("c")
        await api.create("d-new")
        await api.touch("e", 2)
        second = await api.get(limit=2, **{"continue": first["metadata"]["continue"]})
        third = await api.get(limit=2, **{"continue": second["metadata"]["continue"]})

        assert [*names(first), *names(second), *names(third)] == ["a", "b", "c", "d", "e"]
        assert third["items"][0]["spec"]["wanted"] == 1
        assert len({page["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1
        assert (first["metadata"]["remainingItemCount"], second["metadata"]["remainingItemCount"]) == (3, 1)
        assert not third["metadata"].get("continue")

    async def test_a_token_that_is_too_old(self, api: ApiServer) -> None:
        """After compaction a token gives 410 and another token, by which the rest can be had as it is now."""
        await api.create("a", "b", "c")
        first = await api.get(limit=1)
        await api.delete("b")
        await api.compact()
        answer = await api.refused(limit=1, **{"continue": first["metadata"]["continue"]})
        code, reason, message = status(answer)

        assert (code, reason) == (410, "Expired")
        assert message.startswith("The provided continue parameter is too old to display a consistent list result.")
        rest = await api.get(**{"continue": answer.json()["metadata"]["continue"]})
        assert names(rest) == ["c"]

    async def test_selectors(self, api: ApiServer) -> None:
        """Labels and the name select; what is left is not counted then."""
        await api.create("a", "b", "c")

        assert names(await api.get(labelSelector="tier in (a,c)")) == ["a", "c"]
        assert names(await api.get(labelSelector="tier!=a,tier")) == ["b", "c"]
        assert names(await api.get(labelSelector="!tier")) == []
        assert names(await api.get(fieldSelector="metadata.name=b")) == ["b"]
        assert names(await api.get(api.everywhere, fieldSelector=f"metadata.namespace={api.namespace}")) == [
            "a",
            "b",
            "c",
        ]
        assert "remainingItemCount" not in (await api.get(labelSelector="tier", limit=1))["metadata"]

    async def test_selectors_that_are_none(self, api: ApiServer) -> None:
        """What cannot be read, or has no index, is refused."""
        assert status(await api.refused(labelSelector="a=(("))[:2] == (400, "BadRequest")
        message = "field label not supported: spec.wanted"
        assert status(await api.refused(fieldSelector="spec.wanted=1")) == (400, "BadRequest", message)

    async def test_a_version_that_was(self, api: ApiServer) -> None:
        """An exact older version is served as long as it is remembered, then 410."""
        await api.create("a", "b")
        version = await api.version()
        await api.delete("a")

        listed = await api.get(resourceVersion=version, resourceVersionMatch="Exact")
        assert names(listed) == ["a", "b"]
        assert listed["metadata"]["resourceVersion"] == version
        await api.create("c")
        await api.compact()
        answer = await api.refused(resourceVersion=version, resourceVersionMatch="Exact")
        assert status(answer)[:2] == (410, "Expired")

    async def test_versions_that_need_not_be_exact(self, api: ApiServer) -> None:
        """Version 0 and an older one mean: at least as new as that."""
        await api.create("a")
        version = await api.version()
        await api.create("b")

        assert "a" in names(await api.get(resourceVersion="0"))
        assert "a" in names(await api.get(resourceVersion=version))

    async def test_a_version_from_the_future(self, api: ApiServer) -> None:
        """A version that the server has not reached is 504 with a Retry-After, which tells a restored backup."""
        future = int(await api.version()) + _TOO_LARGE
        answer = await api.refused(resourceVersion=future)
        code, reason, message = status(answer)

        assert (code, reason) == (504, "Timeout")
        assert message.startswith(f"Timeout: Too large resource version: {future}, current: ")
        assert answer.headers["Retry-After"] == "1"
        assert answer.json()["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"

    async def test_questions_that_make_no_sense(self, api: ApiServer) -> None:
        """Options that contradict each other are refused, with the field that is wrong."""
        await api.create("a", "b")
        token = (await api.get(limit=1))["metadata"]["continue"]

        assert status(await api.refused(resourceVersion="new"))[0] == 400
        assert status(await api.refused(**{"continue": "nonsense"}))[0] == 400
        assert status(await api.refused(resourceVersion="5", **{"continue": token}))[0] == 400
        answer = await api.refused(resourceVersionMatch="NotOlderThan")
        assert status(answer)[0] == 422
        assert answer.json()["details"]["causes"][0]["field"] == "resourceVersionMatch"

    async def test_metadata_only(self, api: ApiServer) -> None:
        """As PartialObjectMetadata an object has nothing but metadata, alone or in a list, with all of it."""
        await api.create("a")
        whole = await api.get(f"{api.path}/a")
        one = await api.get(f"{api.path}/a", headers=PARTIAL)
        many = await api.get(headers=PARTIAL_LIST, limit=5)

        assert one == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": whole["metadata"]}
        assert (many["kind"], many["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
        assert many["items"] == [one]

    async def test_an_object_that_is_not_there(self, api: ApiServer) -> None:
        """An unknown name is 404 as a Status that names kind and object."""
        answer = await api.refused(f"{api.path}/nobody")

        assert status(answer) == (404, "NotFound", 'tenantcontrolplanes.kamaji.clastix.io "nobody" not found')
        details = {"name": "nobody", "group": "kamaji.clastix.io", "kind": "tenantcontrolplanes"}
        assert answer.json()["details"] == details

    async def test_a_namespace_holds_its_own(self, api: ApiServer) -> None:
        """A list in one namespace leaves others out, one of a namespace that is not there is empty."""
        await api.create("a")

        assert names(await api.get(api.path.replace(api.namespace, "nowhere"))) == []
        everywhere = await api.get(api.everywhere)
        assert (api.namespace, "a") in [
            (item["metadata"]["namespace"], item["metadata"]["name"]) for item in everywhere["items"]
        ]


class WatchBehaviour:
    """WATCH."""

    async def test_every_change_once(self, api: ApiServer) -> None:
        """From a version on every change is told in order, each with a newer version; a deletion has one too."""
        await api.create("a")
        version = await api.version()
        await api.create("b")
        await api.touch("a", 2)
        await api.delete("b")
        told = await api.told(resourceVersion=version)

        assert lines(told) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
        assert numbers(told) == sorted(set(numbers(told)))
        assert min(numbers(told)) > int(version)

    async def test_changes_while_watching(self, api: ApiServer) -> None:
        """What changes while a watch is open is told at once."""
        version = await api.version()
        watch = api.watch(resourceVersion=version, timeoutSeconds=30)
        await api.create("a")
        assert (await anext(watch))["type"] == "ADDED"
        await api.touch("a", 2)
        assert (await anext(watch))["object"]["spec"] == {"wanted": 2}
        await watch.aclose()

    async def test_without_a_version(self, api: ApiServer) -> None:
        """A watch that names no version, or 0, tells what is there as ADDED first."""
        await api.create("a", "b")

        assert lines(await api.told()) == [("ADDED", "a"), ("ADDED", "b")]
        assert lines(await api.told(resourceVersion="0")) == [("ADDED", "a"), ("ADDED", "b")]

    async def test_a_streaming_list(self, api: ApiServer) -> None:
        """Everything as ADDED, a bookmark that says that this was all, then changes in the same stream."""
        await api.create("a", "b")
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        watch = api.watch(timeoutSeconds=30, **query)  # type: ignore[arg-type] # headers is none of them
        first = [await anext(watch) for _ in range(3)]
        await api.create("c")
        later = await anext(watch)
        await watch.aclose()

        assert lines(first) == [("ADDED", "a"), ("ADDED", "b")]
        end = first[2]["object"]
        assert first[2]["type"] == "BOOKMARK"
        assert end["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(end["metadata"]["resourceVersion"]) >= max(numbers(first[:2]))
        assert "spec" not in end
        assert lines([later]) == [("ADDED", "c")]

    async def test_a_streaming_list_that_is_asked_for_wrongly(self, api: ApiServer) -> None:
        """Without its match it is refused, and the match without it."""
        for query in ({"sendInitialEvents": "true"}, {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"}):
            answer = await api.refused(watch=1, **query)
            assert status(answer)[:2] == (422, "Invalid")
            assert answer.json()["details"]["causes"][0]["field"] == "resourceVersionMatch"

    async def test_a_streaming_list_of_the_future(self, api: ApiServer) -> None:
        """It is a 200 stream whose only line is an ERROR of code 504."""
        future = int(await api.version()) + _TOO_LARGE
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        told = await api.told(resourceVersion=future, timeoutSeconds=10, **query)

        assert [(line["type"], line["object"]["code"]) for line in told] == [("ERROR", 504)]
        assert told[0]["object"]["details"]["retryAfterSeconds"] == 1

    async def test_a_watch_of_the_future(self, api: ApiServer) -> None:
        """A watch from a version that the server has not reached is accepted and silent, without a bookmark."""
        future = int(await api.version()) + _TOO_LARGE
        await api.create("a")

        assert await api.told(resourceVersion=future, allowWatchBookmarks="true", timeoutSeconds=4) == []

    async def test_a_bookmark_before_the_end(self, api: ApiServer) -> None:
        """A watch that asks for bookmarks gets one before its time is over, with a version that it may resume from."""
        version = await api.version()
        await api.create("a")
        watch = api.watch(resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds=5)
        assert (await anext(watch))["type"] == "ADDED"
        await api.create("b")
        told = [line async for line in watch]

        assert [line["type"] for line in told[:2]] == ["ADDED", "BOOKMARK"], told
        shown = told[1]["object"]
        assert (shown["kind"], shown["apiVersion"]) == ("TenantControlPlane", "kamaji.clastix.io/v1alpha1")
        assert set(shown["metadata"]) == {"resourceVersion"}
        assert numbers(told) == sorted(numbers(told))

    async def test_version_0_with_bookmarks(self, api: ApiServer) -> None:
        """A watch from 0 that asks for bookmarks is told where its first state ends, as a streaming list is."""
        await api.create("a")
        told = await api.told(resourceVersion="0", allowWatchBookmarks="true")

        assert [line["type"] for line in told[:2]] == ["ADDED", "BOOKMARK"]
        assert told[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    async def test_no_bookmark_unless_asked_for(self, api: ApiServer) -> None:
        """A watch that does not ask for bookmarks gets none."""
        assert await api.told(resourceVersion=await api.version(), timeoutSeconds=4) == []

    async def test_a_version_that_is_forgotten(self, api: ApiServer) -> None:
        """A watch from a version that was compacted is a 200 stream whose only line is an ERROR of code 410."""
        await api.create("a")
        version = await api.version()
        await api.touch("a", 2)
        await api.touch("a", 3)
        await api.compact()
        told = await api.told(resourceVersion=version, timeoutSeconds=10)

        assert [line["type"] for line in told] == ["ERROR"]
        error = told[0]["object"]
        assert (error["kind"], error["code"], error["reason"]) == ("Status", 410, "Expired")
        assert error["message"].startswith(f"too old resource version: {version} (")

    async def test_labels_that_come_and_go(self, api: ApiServer) -> None:
        """To a watch with a selector an object that leaves it is deleted, as it last was, at the new version."""
        await api.create("a", "b")
        version = await api.version()
        await api.patch("a", {"metadata": {"labels": {"tier": "other"}}})
        await api.patch("b", {"metadata": {"labels": {"tier": "a"}}})
        told = await api.told(resourceVersion=version, labelSelector="tier=a")

        assert lines(told) == [("DELETED", "a"), ("ADDED", "b")]
        assert told[0]["object"]["metadata"]["labels"] == {"tier": "a"}
        assert int(version) < numbers(told)[0] < numbers(told)[1]

    async def test_one_object(self, api: ApiServer) -> None:
        """A field selector watches one object."""
        await api.create("a", "b")
        version = await api.version()
        await api.touch("a", 2)
        await api.touch("b", 2)

        assert lines(await api.told(resourceVersion=version, fieldSelector="metadata.name=b")) == [("MODIFIED", "b")]

    async def test_metadata_only(self, api: ApiServer) -> None:
        """As PartialObjectMetadata lines hold nothing but metadata, bookmarks included."""
        await api.create("a")
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        told = await api.told(headers=PARTIAL, **query)

        assert [line["type"] for line in told[:2]] == ["ADDED", "BOOKMARK"]
        for line in told:
            assert line["object"]["kind"] == "PartialObjectMetadata"
            assert set(line["object"]) == {"kind", "apiVersion", "metadata"}

    async def test_a_namespace_that_is_not_there(self, api: ApiServer) -> None:
        """It can be watched, and nothing happens in it."""
        assert await api.told(api.path.replace(api.namespace, "nowhere"), resourceVersion="0") == []

    async def test_a_version_that_is_none(self, api: ApiServer) -> None:
        """A version that is no number is refused before the stream begins."""
        assert (await api.refused(watch=1, resourceVersion="new")).status_code == 500


class WriteBehaviour:
    """Writes, as far as watches show them."""

    async def test_what_the_server_adds(self, api: ApiServer) -> None:
        """A new object has a uid, a version, a creation time and generation 1; its status is not taken."""
        made = await api._ok(api.client.post(api.path, json=api.tcp("a") | {"status": {"ready": True}}))

        assert {"uid", "resourceVersion", "creationTimestamp", "managedFields"} <= made["metadata"].keys()
        assert made["metadata"]["generation"] == 1
        assert "status" not in made

    async def test_a_name_that_is_taken(self, api: ApiServer) -> None:
        """A second object of one name is 409."""
        await api.create("a")
        answer = await api.client.post(api.path, json=api.tcp("a"))

        assert status(answer) == (409, "AlreadyExists", 'tenantcontrolplanes.kamaji.clastix.io "a" already exists')

    async def test_names(self, api: ApiServer) -> None:
        """A name can be left to the server; none at all is 422, a namespace that is not there is 404."""
        body = api.tcp("x")
        body["metadata"] = {"generateName": "made-"}
        made = await api._ok(api.client.post(api.path, json=body))
        body["metadata"] = {}
        nameless = await api.client.post(api.path, json=body)
        body["metadata"] = {"name": "a"}
        nowhere = await api.client.post(api.path.replace(api.namespace, "nowhere"), json=body)

        assert made["metadata"]["name"].startswith("made-")
        assert status(nameless)[:2] == (422, "Invalid")
        assert status(nowhere) == (404, "NotFound", 'namespaces "nowhere" not found')

    async def test_spec_and_status_are_written_apart(self, api: ApiServer) -> None:
        """A changed spec counts the generation and leaves the status; a status leaves spec, labels and generation."""
        (made,) = await api.create("a")
        made["spec"], made["status"] = {"wanted": 2}, {"ready": True}
        second = await api._ok(api.client.put(f"{api.path}/a", json=made))
        second["spec"], second["metadata"]["labels"] = {"wanted": 3}, {"tier": "b"}
        second["status"] = {"ready": True}
        third = await api._ok(api.client.put(f"{api.path}/a/status", json=second))

        assert second["metadata"]["generation"] == 2
        assert third["metadata"]["generation"] == 2
        assert (third["spec"], third["status"]) == ({"wanted": 2}, {"ready": True})
        assert third["metadata"]["labels"] == {"tier": "a"}

    async def test_labels_count_no_generation(self, api: ApiServer) -> None:
        """Labels and finalizers change the version, not the generation."""
        await api.create("a")
        patched = await api.patch("a", {"metadata": {"labels": {"tier": "b"}, "finalizers": ["test/held"]}})
        await api.patch("a", {"metadata": {"finalizers": None}})

        assert patched["metadata"]["generation"] == 1

    async def test_a_write_on_an_old_version(self, api: ApiServer) -> None:
        """It is a conflict; without a version it is invalid."""
        (made,) = await api.create("a")
        await api.touch("a", 2)
        old = await api.client.put(f"{api.path}/a", json=made)
        unversioned = await api.client.put(f"{api.path}/a", json=api.tcp("a"))

        code, reason, message = status(old)
        assert (code, reason) == (409, "Conflict")
        assert message.endswith("please apply your changes to the latest version and try again")
        assert status(unversioned)[:2] == (422, "Invalid")

    async def test_a_write_that_changes_nothing(self, api: ApiServer) -> None:
        """It makes no version and no line."""
        (made,) = await api.create("a")
        again = await api._ok(api.client.put(f"{api.path}/a", json=made))

        assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        assert await api.told(resourceVersion=made["metadata"]["resourceVersion"]) == []

    async def test_a_plain_deletion(self, api: ApiServer) -> None:
        """An object without finalizers is gone at once; a second deletion is 404."""
        (made,) = await api.create("a")
        done = await api.delete("a")
        again = await api.client.delete(f"{api.path}/a")

        assert (done["kind"], done["status"]) == ("Status", "Success")
        assert done["details"]["uid"] == made["metadata"]["uid"]
        assert again.status_code == 404

    async def test_a_deletion_that_is_held_up(self, api: ApiServer) -> None:
        """An object with finalizers is marked, counts a generation, takes no new finalizer, and goes with the last."""
        await api.create("a")
        await api.patch("a", {"metadata": {"finalizers": ["test/one", "test/two"]}})
        version = await api.version()
        marked = await api.delete("a")
        again = await api.delete("a")
        more = {"metadata": {"finalizers": ["test/one", "test/two", "test/three"]}}
        headers = {"Content-Type": "application/merge-patch+json"}
        refused = await api.client.patch(f"{api.path}/a", json=more, headers=headers)
        await api.patch("a", {"metadata": {"finalizers": ["test/two"]}})
        await api.patch("a", {"metadata": {"finalizers": None}})
        told = await api.told(resourceVersion=version)

        assert marked["metadata"]["generation"] == 2
        assert marked["metadata"]["deletionTimestamp"]
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
        assert again == marked
        assert status(refused)[:2] == (422, "Invalid")
        assert lines(told) == [("MODIFIED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert told[2]["object"]["metadata"]["finalizers"] == ["test/two"]
        assert numbers(told) == sorted(set(numbers(told)))

    async def test_owned_kinds(self, api: ApiServer) -> None:
        """Owned kinds are listed as metadata by label; they have no generation where the real ones have none."""
        labels = {"kamaji.clastix.io/name": "acme"}
        body = {"metadata": {"name": "acme-config", "labels": labels}, "data": {"secret": "x"}}
        await api._ok(api.client.post(api.configmaps, json=body))
        selected = "kamaji.clastix.io/name=acme"
        listed = await api.get(api.configmaps, headers=PARTIAL_LIST, labelSelector=selected, limit=500)

        assert names(listed) == ["acme-config"]
        assert "data" not in listed["items"][0]
        assert "generation" not in listed["items"][0]["metadata"]
        assert (await api.get(api.configmaps))["kind"] == "ConfigMapList"

    async def test_a_namespace_that_is_going(self, api: ApiServer) -> None:
        """A deleted namespace stays as long as it is finalized, and nothing new comes into it."""
        gone = await api._ok(api.client.delete(f"/api/v1/namespaces/{api.namespace}"))
        answer = await api.client.post(api.path, json=api.tcp("late"))

        assert gone["status"]["phase"] == "Terminating"
        assert status(answer)[:2] == (403, "Forbidden")
        assert answer.json()["details"]["causes"][0]["reason"] == "NamespaceTerminating"
