import pytest

from kyvsim.engine.match import match_facts
from kyvsim.model.request import UserInfo

ALICE = UserInfo("alice", groups=("dev", "ops"), roles=("shop:edit",), cluster_roles=("view",))


@pytest.fixture(scope="session")
def facts(thing, request_for):
    """The facts about an object, with fields of its request and the labels of its namespace."""

    def of(kind="Pod", name="web", namespace="shop", *, given=None, **fields):
        fields = dict(fields)
        object_fields = {
            field: fields.pop(field) for field in ("api_version", "labels") if field in fields
        }
        obj = thing(kind, name, namespace, **object_fields)
        obj["metadata"] |= fields.pop("metadata", {})
        return match_facts(request_for(obj, **fields), obj, given or {})

    return of


@pytest.fixture(scope="session")
def alice():
    return ALICE
