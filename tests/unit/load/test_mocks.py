import pytest

from kyvsim.load.values import load_values
from kyvsim.model.request import CallAnswer, GlobalData, Mocks
from kyvsim.model.source import Document, Location

HEAD = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values"}


def load(file="v.yaml", **data):
    document = Document({**HEAD, **data}, file, 0, lambda _: Location(file, 1, 1))
    return load_values(document)


def mocks(**data):
    found, remarks = load(**data)
    assert remarks == ()
    return found.mocks


def test_answers_to_calls():
    found = mocks(
        apiCallResponses=[
            {"url": " https://x.io/y ", "method": " post ", "response": {"body": {"a": 1.0}}},
            {"url": "https://x.io/y", "response": {"statusCode": 404.0, "body": {}}},
            {"urlPath": "/api/v1/pods", "response": {"body": {"b": 2.0}}},
        ]
    )
    assert found.answer("POST", "https://x.io/y") == CallAnswer(200, {"a": 1.0})
    assert found.answer("GET", "https://x.io/y") == CallAnswer(404, {})
    assert not found.answer("GET", "https://x.io/y").good
    assert found.answer("GET", "/api/v1/pods").body == {"b": 2.0}
    assert found.answer("GET", "/api/v1/nodes") is None


def test_global_data():
    found = mocks(
        globalContextEntries=[
            {"name": "d", "data": {"x": 1.0}, "fieldPath": "x"},
            {"name": "r", "resources": [{"k": "v"}], "projections": [{"name": "n", "path": "[0]"}]},
        ]
    )
    assert found == Mocks(
        {}, {"d": GlobalData({"x": 1.0}, "x"), "r": GlobalData([{"k": "v"}], "", (("n", "[0]"),))}
    )


def test_resource_files_stand_beside_the_document(tmp_path):
    text = "kind: A\nsize: 1\n---\n---\nkind: B\n"
    (tmp_path / "objects.yaml").write_text(text, encoding="utf-8")
    entry = {"name": "f", "resourceFiles": ["objects.yaml"]}
    found, remarks = load(str(tmp_path / "v.yaml"), globalContextEntries=[entry])
    assert remarks == ()
    (data,) = (one.data for one in found.mocks.global_data.values())
    assert data == [{"kind": "A", "size": 1.0}, {"kind": "B"}]
    assert data[0]["size"].__class__ is float
    entry["resourceFiles"] = ["no.yaml"]
    found, remarks = load(str(tmp_path / "v.yaml"), globalContextEntries=[entry])
    assert found is None
    assert remarks


GOOD = {"response": {"body": {}}}


@pytest.mark.parametrize(
    ("code", "data"),
    [
        ("KV017", {"apiCallResponses": [GOOD]}),
        ("KV017", {"apiCallResponses": [{**GOOD, "url": "https://x.io", "urlPath": "/x"}]}),
        ("KV016", {"apiCallResponses": [{**GOOD, "url": "ftp://x.io"}]}),
        ("KV016", {"apiCallResponses": [{**GOOD, "urlPath": "api"}]}),
        ("KV015", {"apiCallResponses": [{"urlPath": "/x", "response": {}}]}),
        ("KV033", {"apiCallResponses": [{**GOOD, "urlPath": "/x", "method": "PUT"}]}),
        (
            "KV033",
            {"apiCallResponses": [{"urlPath": "/x", "response": {"body": {}, "statusCode": 7}}]},
        ),
        ("KV034", {"apiCallResponses": [{**GOOD, "urlPath": "/x"}, {**GOOD, "urlPath": "/x"}]}),
        ("KV017", {"globalContextEntries": [{"name": "d"}]}),
        ("KV017", {"globalContextEntries": [{"name": "d", "data": {}, "resources": []}]}),
        ("KV034", {"globalContextEntries": [{"name": "d", "data": {}}, {"name": "d", "data": {}}]}),
    ],
)
def test_entries_that_cannot_be_used(code, data):
    found, remarks = load(**data)
    assert found is None
    assert [one.code for one in remarks] == [code]
