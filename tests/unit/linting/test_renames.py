"""References to names that a kustomization changes."""

import pytest
import yaml

from kyvsim.api.lint import lint

KYVERNO = "kyverno.io/v1"
POLICY = {
    "apiVersion": KYVERNO,
    "kind": "ClusterPolicy",
    "metadata": {"name": "p"},
    "spec": {
        "background": False,
        "rules": [
            {
                "name": "r",
                "match": {"any": [{"resources": {"kinds": ["Service"]}}]},
                "context": [
                    {"name": "teams", "configMap": {"name": "teams", "namespace": "platform"}}
                ],
                "validate": {
                    "message": "No.",
                    "deny": {
                        "conditions": {
                            "any": [
                                {
                                    "key": "{{ request.object.metadata.name }}",
                                    "operator": "AnyIn",
                                    "value": "{{ parse_json(teams.data.names) }}",
                                }
                            ]
                        }
                    },
                },
            }
        ],
    },
}
HEAD = {"metadata": {"name": "e", "namespace": "platform"}}
MATCH = {"any": [{"resources": {"kinds": ["Service"]}}]}


def exception(name):
    spec = {"exceptions": [{"policyName": name, "ruleNames": ["r"]}], "match": MATCH}
    return {"apiVersion": "kyverno.io/v2", "kind": "PolicyException", **HEAD, "spec": spec}


TEAMS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "teams", "namespace": "platform"},
    "data": {"names": "[]"},
}
GENERATED = [{"name": "teams", "literals": ["names=[]"]}]


@pytest.mark.parametrize(
    ("fields", "name", "found"),
    [
        ({"namePrefix": "prod-"}, "p", ["`prod-p` of `p`", "`prod-teams` of `teams`"]),
        ({"nameSuffix": "-2"}, "p", ["`p-2` of `p`", "`teams-2` of `teams`"]),
        ({"configMapGenerator": GENERATED}, "p", ["`teams-HASH` of `teams`"]),
        (
            {
                "configMapGenerator": GENERATED,
                "generatorOptions": {"disableNameSuffixHash": True},
            },
            "p",
            [],
        ),
        ({"namePrefix": "prod-", "configurations": ["names.yaml"]}, "p", []),
        ({"namePrefix": "prod-", "resources": ["policy.yaml", "teams.yaml"]}, "p", ["`teams`"]),
        ({"namePrefix": "prod-"}, "prod-p", ["`teams`"]),
        ({"commonLabels": {"a": "b"}}, "p", []),
        ({"namePrefix": "prod-", "configMapGenerator": 5}, "p", ["`prod-p`", "`prod-teams`"]),
    ],
)
@pytest.mark.parametrize("is_base", [False, True])
def test_references_to_changed_names(tmp_path, fields, name, found, is_base):
    folder = tmp_path / "base" if is_base else tmp_path
    folder.mkdir(exist_ok=True)
    files = {"policy.yaml": POLICY, "exception.yaml": exception(name), "teams.yaml": TEAMS}
    for file, data in files.items():
        (folder / file).write_text(yaml.safe_dump(data))
    kustomization = {"resources": [*files], **fields}
    if is_base:
        base = {"resources": kustomization["resources"]}
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(base))
        kustomization["resources"] = ["base"]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    reported = lint([str(tmp_path)]).diagnostics
    texts = [one.message for one in reported if one.code == "KV369"]
    assert len(texts) == len(found)
    assert all(any(part in text for text in texts) for part in found)
    assert "KV071" not in [one.code for one in reported]
