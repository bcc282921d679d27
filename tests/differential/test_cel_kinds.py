"""Policies of Kyverno's CEL kinds over a pack of objects, against Kyverno 1.19.0's answers.

`record_cel_kinds.py` asks again.
"""

import json
from pathlib import Path

import pytest
import record_cel_kinds as recorder
from recorded import recorded

from kyvsim.api import ApplyInputs, open_application
from kyvsim.model.release import V_1_19_0
from kyvsim.model.result import report_message, report_properties

pytestmark = pytest.mark.slow

ENTRIES = recorded("cel_kinds.jsonl")
WITHOUT_NAMESPACE = frozenset({23, 28, 79, 80, 84, 88, 95})
"""Entries that generate ConfigMaps without a namespace, which the reference's stand-in for a
cluster takes and no cluster does: see "Every difference" in docs/coming-from-kyverno.md."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return rows, generated objects and whether it is refused, for the name of each policy."""
    place = tmp_path_factory.mktemp("kinds")
    written = {
        "policies": [recorder.policy(entry, f"p{index}") for index, entry in enumerate(ENTRIES)],
        "objects": recorder.PACK["objects"],
        "context": [recorder.PACK["context"]],
        "definition": [recorder.PACK["definition"]],
    }
    paths = {name: str(place / f"{name}.json") for name in written}
    for name, documents in written.items():
        Path(paths[name]).write_text("\n---\n".join(map(json.dumps, documents)))
    application = open_application(
        ApplyInputs(
            policies=(paths["policies"],),
            resources=(paths["objects"],),
            context_file=paths["context"],
            crd_paths=(paths["definition"],),
            release=V_1_19_0,
        )
    )
    found = {f"p{index}": {"rows": [], "generated": []} for index in range(len(ENTRIES))}
    for response in application.responses:
        for one in response.responses:
            own = found[one.policy.name]
            for result in one.results:
                name, status = result.rule.name, result.status.value
                own["rows"].append(
                    recorder.row(
                        "p" if name == one.policy.name else name,
                        status,
                        unread(report_message(result, status)),
                        recorder.named(response.trigger),
                        report_properties(one.policy, result),
                    )
                )
                own["generated"] += result.generated
    told = " ".join(one.message for one in application.diagnostics)
    for name, own in found.items():
        own["refused"] = f"`{name}`:" in told
    return found


def unread(message):
    """Return a message; that of an image nobody can read is that of no registry."""
    known, asked, _ = message.partition("failed to get imagedata: there is no data of")
    return f"{known}{recorder.UNREAD}" if asked else message


@pytest.mark.parametrize("index", range(len(ENTRIES)), ids=lambda index: f"p{index}")
def test_what_is_said_of_the_pack(answers, index):
    entry, found = ENTRIES[index], answers[f"p{index}"]
    if entry.get("refused"):
        assert found["refused"]
        return
    if index in WITHOUT_NAMESPACE:
        refused = [
            row
            for row in found["rows"]
            if "ConfigMap" in row[2] and "but no namespace is given" in row[2]
        ]
        passed = [row[3] for row in entry["rows"] if row[1] == "pass"]
        assert {row[3] for row in refused} <= {*passed}
        assert refused
        assert [
            row for row in found["rows"] if row not in refused and row not in entry["rows"]
        ] == []
        return
    errors = {resource for _, result, _, resource, *_ in found["rows"] if result == "error"}
    whole = entry["kind"] != "DeletingPolicy"
    rows = [row for row in found["rows"] if whole or row[1] != "error"]
    assert sorted(rows, key=json.dumps) == entry["rows"]
    said = {row[3]: row[2] for row in found["rows"]}
    for resource, message in entry.get("errors", ()):
        assert said[resource] == message
        assert resource in errors
    made = sorted(found["generated"], key=sorted_text)
    assert made == sorted(entry.get("generated", ()), key=sorted_text)


def sorted_text(obj):
    """Return a text that is the same for the same object, however its numbers are written."""
    return json.dumps(obj, sort_keys=True).replace(".0", "")
