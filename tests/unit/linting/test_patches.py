import pytest

from kyvsim.linting.patches import (
    ascending_removals,
    misread_paths,
    names_without_anchor,
    unreadable_json,
    values_of_texts,
)


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


def sets(path, value):
    text = f"- {{op: add, path: '{path}', value: {value}}}\n"
    return {"mutate": {"patchesJson6902": text}}


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("/metadata/labels/version", "1.10", ["KV327"]),
        ("/spec/template/metadata/annotations/a~1b", "yes", ["KV327"]),
        ("/metadata/labels/version", "'1.10'", []),
        ("/metadata/labels/version", "'{{ element }}'", []),
        ("/metadata/generation", "1", []),
        ("/spec/labels/version", "1", []),
    ],
)
def test_labels_of_json_patches(remarks, path, value, found):
    assert [code for code, _, _ in remarks(values_of_texts, sets(path, value))] == found


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
