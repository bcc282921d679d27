"""Policies of our own and what becomes of them against the recorded answers of Kyverno 1.19.0.

`record_migrated.py` asks again: also where a policy becomes another text than it did.
"""

import pytest
import record_migrated as recorder
from recorded import recorded

from kyvsim.api import ApplyInputs, open_application
from kyvsim.model.release import V_1_19_0

pytestmark = pytest.mark.slow

ENTRIES = recorded("migrated.jsonl")


def answer(policies, objects, folder):
    """Return the names of objects that are denied, and what is changed and generated."""
    files = [
        str(recorder.written(documents, folder / name))
        for documents, name in ((policies, "p.yaml"), (objects, "o.yaml"))
    ]
    application = open_application(
        ApplyInputs(policies=(files[0],), resources=(files[1],), release=V_1_19_0)
    )
    denied, made = set(), []
    for response in application.responses:
        for one in response.responses:
            made += [one.object] if one.changed else []
            for result in one.results:
                made += result.generated
                if result.status.value in {"fail", "error"}:
                    denied.add(response.trigger["metadata"]["name"])
    return sorted(denied), recorder.left(made, objects)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: one["policy"]["metadata"]["name"])
def test_a_converted_policy_does_what_the_reference_does_before(entry, tmp_path):
    denied, left = entry["denied"], entry["left"]
    assert (denied["new"], left["new"]) == (denied["old"], left["old"])
    assert denied["old"] or left["old"]
    assert recorder.converted(entry["policy"]) == entry["becomes"]
    for side, policies in (("old", [entry["policy"]]), ("new", entry["becomes"])):
        assert answer(policies, entry["objects"], tmp_path) == (denied[side], left[side])


def test_there_are_sixty_manifests_that_deny_and_some_of_each_other_kind():
    kinds = [{one["kind"] for one in entry["becomes"]} for entry in ENTRIES]
    denying = sum(bool(entry["denied"]["old"]) for entry in ENTRIES)
    assert denying >= 60
    assert {"MutatingPolicy", "GeneratingPolicy"} <= set().union(*kinds)
