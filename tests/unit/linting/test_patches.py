import pytest

from kyvsim.linting.patches import (
    added_maps,
    ascending_removals,
    indexes_of_other_lists,
    misread_paths,
    mistyped_patches,
    moved_objects,
    names_without_anchor,
    unknown_directives,
    unreadable_json,
)


def typed(policy):
    return mistyped_patches([policy], {})


def test_an_operation_that_is_no_text_has_no_type(remarks):
    text = "[{op: [add], path: /spec/hostNetwork, value: a}]"
    assert remarks(typed, {"mutate": {"patchesJson6902": text}}) == []


def patches(*paths):
    text = "".join(f"- {{op: add, path: '{path}', value: a}}\n" for path in paths)
    return {"mutate": {"patchesJson6902": text}}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/spec/containers/*/image", "JSON patches have no wildcards"),
        ("/spec/containers/[*]/image", "JSON patches have no wildcards"),
        ("/spec/containers[0]/image", "write `/spec/containers/0/image`"),
        ("/metadata/labels/example.com/team", "write `/metadata/labels/example.com~1team`"),
        (
            "/spec/template/metadata/annotations/a/b",
            "write `/spec/template/metadata/annotations/a~",
        ),
        ("/metadata/labels/example.com~0tier", "write `/metadata/labels/example.com~1tier`"),
        ("/spec/selector/matchLabels/a~2b", "no API server accepts the key `a~2b`"),
        ("/metadata/labels/the team", "no API server accepts the key `the team`"),
        ("/metadata/labels/Example.com~1tier", "no API server accepts the key `Example.com/tier`"),
        ("/spec/nodeSelector/a~1b~1c", "no API server accepts the key `a/b/c`"),
    ],
)
def test_a_path_that_is_not_found(remarks, path, text):
    ((code, _, message),) = remarks(misread_paths, patches("/spec/a", path))
    assert code == "KV330"
    assert text in message


@pytest.mark.parametrize(
    "path",
    [
        "/metadata/labels/example.com~1team",
        "/metadata/labels/{{ element.key }}/x",
        "/metadata/labels",
        "/spec/containers/-/image",
        "/spec/containers/{{ elementIndex }}/image",
        "/spec/data/a*b",
        "/metadata/annotations/Example.com~1tier",  # read in lower case
        "/metadata/labels/{{ element.key }}~0",
        "/spec/labels/the team",  # maybe of a custom resource
    ],
)
def test_a_path_that_may_be_found(remarks, path):
    assert remarks(misread_paths, patches(path)) == []


def merges(**container):
    return {"mutate": {"patchStrategicMerge": {"spec": {"containers": [container]}}}}


def test_a_wildcard_without_parentheses(remarks):
    ((code, path, _),) = remarks(names_without_anchor, merges(name="web-*", image="a"))
    assert (code, path) == (
        "KV331",
        "spec/rules/0/mutate/patchStrategicMerge/spec/containers/0/name",
    )


@pytest.mark.parametrize("container", [{"(name)": "*"}, {"name": "web"}, {"name": 1}, {"a": "*"}])
def test_names_that_are_meant(remarks, container):
    assert remarks(names_without_anchor, merges(**container)) == []


def removes(*paths, op="remove"):
    text = "".join(f"- {{op: {op}, path: '{path}'}}\n" for path in paths)
    return {"mutate": {"patchesJson6902": text}}


def test_a_removal_after_one_before_it(remarks):
    rule = removes("/spec/a/0", "/spec/b/3", "/spec/a/2", "/spec/b/1")
    ((code, _, text),) = remarks(ascending_removals, rule)
    assert code == "KV319"
    assert text.startswith("`/spec/a/2` is another element")


@pytest.mark.parametrize(
    "rule",
    [
        removes("/spec/a/2", "/spec/a/0"),
        removes("/spec/a/0", "/spec/a/0"),
        removes("/spec/a/0", "/spec/b/1"),
        removes("/spec/a/0", "/spec/a/1/name"),
        removes("/spec/a/{{ elementIndex }}", "/spec/a/1"),
        removes("/spec/a/0", "/spec/a/1", op="test"),
    ],
)
def test_removals_that_keep_their_element(remarks, rule):
    assert remarks(ascending_removals, rule) == []


def sets(path, value, kind="Pod"):
    text = f"- {{op: add, path: '{path}', value: {value}}}\n"
    match = {"any": [{"resources": {"kinds": [kind]}}]}
    return {"match": match, "mutate": {"patchesJson6902": text}}


@pytest.mark.parametrize(
    ("kind", "path", "value", "found"),
    [
        ("Pod", "/metadata/labels/version", "1.10", ["KV327"]),
        ("Deployment", "/spec/template/metadata/annotations/a~1b", "yes", ["KV327"]),
        ("example.com/v1/Cart", "/metadata/labels/version", "1.10", ["KV327"]),
        ("Pod", "/metadata/labels/version", "'1.10'", []),
        ("Pod", "/metadata/labels/version", "'{{ element }}'", []),
        ("Pod", "/metadata/generation", "1", []),
        ("example.com/v1/Cart", "/spec/labels/version", "1", []),
        ("Pod", "/spec/labels/version", "1", ["KV225"]),
        ("Pod", "/spec/containers/{{elementIndex}}/image", "a", []),
        ("Pod", "/spec/containers/0/imag", "a", ["KV225"]),
        ("Pod", "/spec/hostNetwork", "'true'", ["KV327"]),
        ("Pod", "/spec/tolerations/-", "{key: a}", []),
        ("Pod", "/spec/tolerations/-", "[{key: a}]", ["KV350"]),
        ("Pod", "/spec/tolerations/-1", "{key: a}", []),
        ("Pod", "/spec/tolerations", "{key: a}", ["KV350"]),
        ("Pod", "/spec/tolerations/-", "{ky: a}", ["KV225"]),
        ("Pod", "/spec/containers/0/resources/limits/memory", "1Gi", []),
        ("Pod", "/spec/nodeSelector/a~1b", "c", []),
        ("Secret", "/data/password", "cGFzcw==", []),
        ("Secret", "/data/password", "my_password", ["KV327"]),
        ("Service", "/spec/ports/0/targetPort", "http", []),
    ],
)
def test_fields_and_values_of_json_patches(remarks, kind, path, value, found):
    rule = sets(path, value, kind)
    assert [code for code, _, _ in remarks(typed, rule)] == found


@pytest.mark.parametrize(
    ("patch", "found"),
    [
        ("[{op: remove, path: /data/a}]", ["KV348"]),
        ("['a']", ["KV348"]),
        ('[{"op": "remove", "path": "/data/a"}]', []),
        ('[{"op": "add", "path": "/data/{{ a }}", "value": {{ length(a) }}}]', []),
        ("- {op: remove, path: /data/a}", []),
        (" [{op: remove, path: /data/a}]", []),
    ],
)
def test_a_patch_in_brackets_is_json(remarks, patch, found):
    rule = {"mutate": {"patchesJson6902": patch}}
    assert [code for code, *_ in remarks(unreadable_json, rule)] == found


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("remove", "write `delete`"),
        ("deleted", "did you mean `delete`?"),
        ("delete", ""),
        ("replace", ""),
        ("{{ a }}", ""),
    ],
)
def test_directives_of_strategic_merges(remarks, directive, text):
    patch = {"spec": {"volumes": [{"name": "a", "$patch": directive}]}}
    found = remarks(unknown_directives, {"mutate": {"patchStrategicMerge": patch}})
    assert [code for code, *_ in found] == (["KV326"] if text else [])
    assert all(text in message for *_, message in found)


@pytest.mark.parametrize(
    ("over", "path", "found"),
    [
        ("request.object.spec.initContainers", "/spec/containers/{{elementIndex}}/image", True),
        ("request.object.spec.containers[?a == 'b']", "/spec/containers/{{elementIndex}}/a", True),
        (
            "request.object.spec.[initContainers, containers][]",
            "/spec/containers/{{ elementIndex }}/a",
            True,
        ),
        ("request.object.spec.containers", "/spec/containers/{{elementIndex}}/image", False),
        ("request.object.spec.containers[]", "/spec/containers/{{elementIndex0}}/image", False),
        ("request.object.spec.containers || `[]`", "/spec/containers/{{elementIndex}}/a", False),
        ("items(request.object.data, 'k', 'v')", "/spec/containers/{{elementIndex}}/a", False),
        ("request.object.spec.initContainers", "/spec/containers/0/image", False),
        ("all_containers", "/spec/containers/{{elementIndex}}/image", False),
    ],
)
def test_the_index_of_another_list(remarks, over, path, found):
    patch = f"- {{op: add, path: '{path}', value: a}}\n"
    rule = {"mutate": {"foreach": [{"list": over, "patchesJson6902": patch}]}}
    assert [code for code, *_ in remarks(indexes_of_other_lists, rule)] == ["KV357"] * found


def test_the_index_of_the_inner_loop_for_the_outer_one(remarks):
    def found(path):
        patch = f"- {{op: replace, path: '{path}', value: a}}\n"
        inner = {"list": "element.env || `[]`", "patchesJson6902": patch}
        outer = {"list": "request.object.spec.containers", "foreach": [inner]}
        return remarks(indexes_of_other_lists, {"mutate": {"foreach": [outer]}})

    index = "{{elementIndex}}"
    ((code, _, text),) = found(f"/spec/containers/{index}/env/{index}/value")
    assert code == "KV357"
    assert "write `{{elementIndex0}}`" in text
    ((*_, text),) = found(f"/spec/containers/{{{{elementIndex0}}}}/volumeMounts/{index}/name")
    assert "write" not in text
    assert not found(f"/spec/containers/{{{{elementIndex0}}}}/env/{index}/value")
    assert not found(f"/spec/containers/{{{{elementIndex2}}}}/env/{index}/value")


@pytest.mark.parametrize(
    ("path", "value", "more", "found"),
    [
        ("/spec/tolerations", "[{key: a}]", {}, ["KV382"]),
        ("/spec/nodeSelector", "{a: b}", {}, ["KV382"]),
        ("/metadata/labels", "{}", {}, ["KV382"]),
        ("/spec/containers/0/env", "[{name: a}]", {}, ["KV382"]),
        ("/spec/containers/0/env/-", "{name: a}", {}, []),
        ("/spec/containers/0", "{name: a}", {}, []),
        ("/spec/containers/0/command", "[a]", {}, []),
        ("/spec/securityContext", "{runAsNonRoot: true}", {}, []),
        (
            "/spec/tolerations",
            "[{key: a}]",
            {
                "preconditions": {
                    "all": [
                        {
                            "key": "{{ request.object.spec.tolerations[] || `[]` | length(@) }}",
                            "operator": "Equals",
                            "value": 0,
                        }
                    ]
                }
            },
            [],
        ),
    ],
)
def test_a_list_or_map_that_is_replaced(remarks, path, value, more, found):
    assert [code for code, _, _ in remarks(typed, {**sets(path, value), **more})] == found


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("/metadata/labels/team", "the team", ["KV327"]),
        ("/spec/template/metadata/labels/team", "a/b", ["KV327"]),
        ("/metadata/labels/team", "a.b", []),
        ("/metadata/labels/team", "{{ request.name }} b", []),
        ("/metadata/annotations/team", "the team", []),
        ("/spec/labels/team", "the team", []),
    ],
)
def test_label_values_in_json_patches(remarks, path, value, found):
    rule = {"mutate": {"patchesJson6902": f"- {{op: add, path: '{path}', value: '{value}'}}"}}
    reported = remarks(typed, rule)
    assert [code for code, _, _ in reported if code != "KV225"] == found


@pytest.mark.parametrize(
    ("operation", "found"), [("remove", 1), ("replace", 1), ("test", 1), ("add", 0)]
)
def test_the_place_after_the_last_element(remarks, operation, found):
    rule = {"mutate": {"patchesJson6902": f"- {{op: {operation}, path: /spec/a/-, value: b}}"}}
    assert len(remarks(misread_paths, rule)) == found


def moving(kind="Pod", targets=None, namespaces=(), **metadata):
    mutate = {"patchStrategicMerge": {"metadata": metadata}}
    match = {"any": [{"resources": {"kinds": [kind], "namespaces": [*namespaces]}}]}
    return {"match": match, "mutate": mutate if targets is None else {**mutate, "targets": targets}}


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (moving(namespace="apps"), True),
        (
            {
                **moving(),
                "mutate": {
                    "patchesJson6902": "- {op: add, path: /metadata/namespace, value: apps}"
                },
            },
            True,
        ),
        (moving(labels={"namespace": "apps"}), False),
        (moving(**{"+(namespace)": "apps"}), False),
        (moving(**{"(namespace)": "apps"}), False),
        (moving(namespace="{{ request.namespace }}"), False),
        (moving(namespace="apps", namespaces=["apps"]), False),
        (moving("Namespace", namespace="apps"), False),
        (moving(namespace="apps", targets=[{"apiVersion": "v1", "kind": "Pod"}]), False),
    ],
)
def test_the_namespace_of_a_request_stays(remarks, rule, found):
    assert [code for code, *_ in remarks(moved_objects, rule)] == ["KV327"] * found


@pytest.mark.parametrize(
    ("metadata", "more", "found"),
    [
        ({"+(labels)": {"team": "a"}}, {}, ["KV367"]),
        ({"+(annotations)": {"+(a)": "b", "c": "d"}, "+(labels)": {"e": "f"}}, {}, ["KV367"] * 2),
        ({"labels": {"+(team)": "a"}}, {}, []),
        ({"+(labels)": {}}, {}, []),
        ({"+(finalizers)": ["a"]}, {}, []),
        (
            {"+(labels)": {"team": "a"}},
            {
                "preconditions": {
                    "all": [
                        {
                            "key": "{{ request.object.metadata.labels || `{}` }}",
                            "operator": "Equals",
                            "value": {},
                        }
                    ]
                }
            },
            [],
        ),
    ],
)
def test_labels_that_are_added_to_objects_without_any(remarks, metadata, more, found):
    for patch in (
        {"metadata": metadata},
        {"spec": {"template": {"metadata": metadata}}},
    ):
        rule = {"mutate": {"patchStrategicMerge": patch}, **more}
        assert [code for code, *_ in remarks(added_maps, rule)] == found
    rule = {"mutate": {"patchStrategicMerge": {"spec": {"selector": {"+(labels)": {"a": "b"}}}}}}
    assert remarks(added_maps, rule) == []
