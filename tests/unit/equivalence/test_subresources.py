"""What is sent to subresources: each request is one that an API server hands to policies."""

import pytest

from kyvsim.equivalence.cases import parts_meant, smallest_requests, with_option_types
from kyvsim.equivalence.field_rules import is_accepted
from kyvsim.equivalence.objects import KindName
from kyvsim.model.request import Operation
from kyvsim.patch.merge_types import find_type


@pytest.mark.parametrize(
    ("written", "operation", "kind"),
    [
        ("*/*/Pod/exec", Operation.CONNECT, "PodExecOptions"),
        ("*/*/Pod/attach", Operation.CONNECT, "PodAttachOptions"),
        ("*/*/Pod/portforward", Operation.CONNECT, "PodPortForwardOptions"),
        ("*/*/Node/proxy", Operation.CONNECT, "NodeProxyOptions"),
        ("*/*/Pod/eviction", Operation.CREATE, "Eviction"),
        ("*/*/Pod/binding", Operation.CREATE, "Binding"),
        ("*/*/ServiceAccount/token", Operation.CREATE, "TokenRequest"),
        ("apps/*/Deployment/scale", Operation.UPDATE, "Scale"),
        ("*/*/Pod/ephemeralcontainers", Operation.UPDATE, "Pod"),
        ("*/*/Node/status", Operation.UPDATE, "Node"),
    ],
)
def test_what_is_sent_is_taken_by_an_api_server(written, operation, kind):
    (part,) = parts_meant(written, {})
    cases = list(smallest_requests(part, {}))
    assert [(one.operation, one.object["kind"]) for one in cases] == [(operation, kind)]
    find = with_option_types(find_type)
    assert all(is_accepted(one.object, find) for one in cases)
    assert all(one.part == written.rpartition("/")[2] for one in cases)


def test_what_nobody_sends_is_none():
    assert list(parts_meant("*/v1/Pod/log", {})) == []
    assert list(parts_meant("*/v1/Pod", {})) == []


def test_wildcards_stand_for_what_people_connect_to():
    found = list(parts_meant("*/*/*/*", {}))
    assert (KindName("", "v1", "Pod"), "exec") in found
