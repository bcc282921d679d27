"""JSON Schemas of files: they are valid, and say of the fixtures what loading says."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from kyvsim.api.schemas import UnknownKindError, known_schemas, schema_of

ROOT = Path(__file__).parents[3]
FILES = [
    *sorted((ROOT / "policies").glob("*/*.yaml")),
    *sorted((ROOT / "fixtures/tests").glob("*/kyverno-test.yaml")),
    *sorted((ROOT / "fixtures/scenarios").glob("*.yaml")),
]


@pytest.mark.parametrize("name", sorted(known_schemas()))
def test_every_schema_is_one(name):
    jsonschema.Draft7Validator.check_schema(schema_of(name))


def documents():
    known = known_schemas()
    for path in FILES:
        for number, one in enumerate(yaml.safe_load_all(path.read_text(encoding="utf-8"))):
            name = f"{one['apiVersion']}/{one['kind']}" if one else ""
            if name in known:
                yield pytest.param(name, one, id=f"{path.relative_to(ROOT)}-{number}")


@pytest.mark.parametrize(("name", "data"), [*documents()])
def test_files_of_ours_fit(name, data):
    jsonschema.Draft7Validator(schema_of(name)).validate(data)


POLICY = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "p"},
    "spec": {"rules": [{"name": "r", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}]},
}


def test_a_misspelt_field_does_not_fit():
    validator = jsonschema.Draft7Validator(schema_of("ClusterPolicy"))
    assert validator.is_valid(POLICY)
    rule = {**POLICY["spec"]["rules"][0], "validat": {}}
    (error,) = validator.iter_errors({**POLICY, "spec": {"rules": [rule]}})
    assert (error.validator, list(error.absolute_path)) == (
        "additionalProperties",
        ["spec", "rules", 0],
    )


def test_a_kind_alone_means_its_usual_version():
    assert schema_of("ClusterPolicy")["properties"]["apiVersion"] == {"const": "kyverno.io/v1"}
    policy = schema_of("ValidatingAdmissionPolicy")["properties"]["apiVersion"]
    assert policy == {"const": "admissionregistration.k8s.io/v1"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ClusterPolcy", "unknown kind `ClusterPolcy`: did you mean `ClusterPolicy`?"),
        (
            "PolicyException",
            "is a kind in several groups: `kyverno.io/v2/PolicyException`, `policies",
        ),
        ("Deployment", "unknown kind `Deployment`"),
    ],
)
def test_what_kind_is_meant_has_to_be_clear(name, told):
    with pytest.raises(UnknownKindError, match=re.escape(told)):
        schema_of(name)
