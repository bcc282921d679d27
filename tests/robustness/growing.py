"""Inputs that can be made as large as one likes, and the commands that are run on them."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

Json = Any
Files = Mapping[str, list[Json] | str]
"""Documents, or the text of a file."""


class Growing(NamedTuple):
    """A way in which inputs grow."""

    name: str
    make: Callable[[int], Files]
    commands: tuple[tuple[str, ...], ...]
    size: int = 4


_APPLY = ("apply", "policy.yaml", "-r", "resource.yaml")
_EXPLAIN = ("explain", "policy.yaml", "-r", "resource.yaml")
_SIMULATE = ("simulate", "policy.yaml", "-r", "resource.yaml")
_CREATE = ("test", "--create", "policy.yaml", "-r", "resource.yaml", "-o", "new")
_TESTS = (("test", "kyverno-test.yaml"), ("test", "kyverno-test.yaml", "--coverage"))
_EVERY = (_APPLY, (*_APPLY, "--output-format", "json"), _EXPLAIN, _SIMULATE)


def _policy(name: str, *rules: Json) -> Json:
    spec = {"validationFailureAction": "Enforce", "rules": [*rules]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def _rule(name: str, **body: Json) -> Json:
    return {"name": name, "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, **body}


def _labelled(name: str = "labelled") -> Json:
    pattern = {"metadata": {"labels": {"team": "?*"}}}
    return _rule(name, validate={"message": "m", "pattern": pattern})


def _marked(name: str = "marked") -> Json:
    return _rule(name, mutate={"patchStrategicMerge": {"metadata": {"labels": {"+(a)": "b"}}}})


def _generating(name: str = "generating") -> Json:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default"}
    named = {**made, "name": f"{name}-{{{{ request.object.metadata.name }}}}"}
    return _rule(name, generate={**named, "data": {"data": {"a": "b"}}})


def _native(name: str) -> Json:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE"]}]},
            "validations": [{"expression": "has(object.metadata.labels)", "message": "m"}],
        },
    }


def _pod(number: int = 0, containers: int = 1, **spec: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"web-{number}", "namespace": "default"},
        "spec": {
            "containers": [{"name": f"c{n}", "image": f"i{n}:1"} for n in range(containers)],
            **spec,
        },
    }


def _celled_exception(number: int) -> Json:
    condition = {"name": "c", "expression": f"object.metadata.name == 'other-{number}'"}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "PolicyException",
        "metadata": {"name": f"e{number}", "namespace": "default"},
        "spec": {
            "policyRefs": [{"name": "n", "kind": "ValidatingPolicy"}],
            "matchConditions": [condition],
        },
    }


def _exception(number: int) -> Json:
    resources = {"kinds": ["Pod"], "names": [f"web-{number}"]}
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": f"e{number}", "namespace": "default"},
        "spec": {
            "exceptions": [{"policyName": "p", "ruleNames": ["labelled"]}],
            "match": {"any": [{"resources": resources}]},
        },
    }


def _test(rows: Iterable[tuple[str, str]]) -> Json:
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "policies": ["policy.yaml"],
        "resources": ["resource.yaml"],
        "results": [
            {
                "policy": policy,
                "rule": "labelled",
                "kind": "Pod",
                "resources": [f"default/{resource}"],
                "result": "fail",
            }
            for policy, resource in rows
        ],
    }


def _nested(depth: int) -> Json:
    value: Json = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


def _resources(count: int) -> Files:
    policies = [_policy("p", _labelled(), _marked(), _generating()), _native("n")]
    return {"policy.yaml": policies, "resource.yaml": [_pod(n) for n in range(count)]}


def _policies(count: int) -> Files:
    made = [_policy(f"p{n}", _labelled(), _marked(), _generating(f"g{n}")) for n in range(count)]
    return {"policy.yaml": made, "resource.yaml": [_pod()]}


def _native_policies(count: int) -> Files:
    return {"policy.yaml": [_native(f"p{n}") for n in range(count)], "resource.yaml": [_pod()]}


def _rules(count: int) -> Files:
    rules = [rule for n in range(count) for rule in (_labelled(f"v{n}"), _marked(f"m{n}"))]
    return {"policy.yaml": [_policy("p", *rules)], "resource.yaml": [_pod()]}


def _exceptions(count: int) -> Files:
    files = {"policy.yaml": [_policy("p", _labelled())], "resource.yaml": [_pod()]}
    return {**files, "exception.yaml": [_exception(n) for n in range(count)]}


def _loops(count: int) -> Files:
    conditions = {"any": [{"key": "{{ element.image }}", "operator": "Equals", "value": "x"}]}
    listed = {"list": "request.object.spec.containers"}
    loops = [
        {**listed, "deny": {"conditions": conditions}},
        {**listed, "pattern": {"image": "*:*"}},
    ]
    rule = _rule("r", validate={"message": "m", "foreach": loops})
    return {"policy.yaml": [_policy("p", rule)], "resource.yaml": [_pod(0, count)]}


def _merging_loops(count: int) -> Files:
    listed = {"list": "request.object.spec.containers"}
    name, image = "{{ element.name }}", "a.io/{{ element.image }}"
    found = {"(name)": name, "image": image}
    named = {"name": name, "securityContext": {"runAsUser": 1000}}
    loops = [
        {**listed, "patchStrategicMerge": {"spec": {"containers": [one]}}} for one in (found, named)
    ]
    rule = _rule("r", mutate={"foreach": loops})
    return {"policy.yaml": [_policy("p", rule)], "resource.yaml": [_pod(0, count)]}


def _wild_keys(count: int) -> Files:
    labels = {f"k{n}-*": "?*" for n in range(count)}
    rule = _rule("r", validate={"message": "m", "pattern": {"metadata": {"labels": labels}}})
    pod = _pod()
    pod["metadata"]["labels"] = {f"k{n}-a": "b" for n in range(count)}
    return {"policy.yaml": [_policy("p", rule)], "resource.yaml": [pod]}


def _depth(count: int) -> Files:
    policies = [_policy("p", _labelled(), _marked()), _native("n")]
    return {"policy.yaml": policies, "resource.yaml": [_pod(0, 1, x=_nested(count))]}


def _rows_on_resources(count: int) -> Files:
    return {
        "policy.yaml": [_policy("p", _labelled())],
        "resource.yaml": [_pod(n) for n in range(count)],
        "kyverno-test.yaml": [_test(("p", f"web-{n}") for n in range(count))],
    }


def _rows_on_policies(count: int) -> Files:
    return {
        "policy.yaml": [_policy(f"p{n}", _labelled()) for n in range(count)],
        "resource.yaml": [_pod()],
        "kyverno-test.yaml": [_test((f"p{n}", "web-0") for n in range(count))],
    }


def _exceptions_in_cel(count: int) -> Files:
    files = {"policy.yaml": [_native("n")], "resource.yaml": [_pod()]}
    return {**files, "exception.yaml": [_celled_exception(n) for n in range(count)]}


def _loops_in_cel(count: int) -> Files:
    policy = _native("n")
    loop = "object.spec.containers.all(c, c.image != 'x' && c.name.startsWith('c'))"
    policy["spec"]["validations"] = [{"expression": loop, "message": "m"}]
    return {"policy.yaml": [policy], "resource.yaml": [_pod(0, count)]}


def _conditions(count: int) -> Files:
    name = "{{ request.object.metadata.name }}"
    found = [{"key": name, "operator": "NotEquals", "value": f"w{n}"} for n in range(count)]
    rule = _rule("r", validate={"message": "m", "deny": {"conditions": {"all": found}}})
    return {"policy.yaml": [_policy("p", rule)], "resource.yaml": [_pod()]}


def _namespaces(count: int) -> Files:
    selected = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    rule = {**_labelled(), "match": {"any": [{"resources": {"kinds": ["Pod"], **selected}}]}}
    native = _native("n")
    native["spec"]["matchConstraints"] |= selected
    resources: list[Json] = []
    for n in range(count):
        meta = {"name": f"n{n}", "labels": {"a": "b"}}
        resources.append({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        pod = _pod(n)
        resources.append({**pod, "metadata": {**pod["metadata"], "namespace": f"n{n}"}})
    return {"policy.yaml": [_policy("p", rule), native], "resource.yaml": resources}


def _values(count: int) -> Files:
    given = [{"name": f"web-{n}", "values": {"x": "y"}} for n in range(count)]
    values = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Values",
        "policies": [{"name": "p", "resources": given}],
        "namespaceSelector": [{"name": f"n{n}", "labels": {"a": "b"}} for n in range(count)],
    }
    return {**_resources(count), "values.yaml": [values]}


def _chainsaw(count: int) -> Files:
    asked = [{"resource": _pod(n)} for n in range(count)]
    steps = [{"try": [{"apply": one}, {"assert": one}]} for one in asked]
    meta = {"apiVersion": "chainsaw.kyverno.io/v1alpha1", "kind": "Test", "metadata": {"name": "x"}}
    return {"chainsaw-test.yaml": [{**meta, "spec": {"steps": steps}}]}


def _to_fix(count: int) -> Files:
    policies = [_policy(f"p{n}", _labelled()) for n in range(count)]
    for one in policies:
        one["spec"]["validationFailureAction"] = "enforce"
    return {"policy.yaml": policies}


def _targets(count: int) -> Files:
    target = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default"}
    patch = {"metadata": {"labels": {"a": "b"}}}
    rule = _rule("r", mutate={"targets": [target], "patchStrategicMerge": patch})
    meta = [{"name": f"c{n}", "namespace": "default"} for n in range(count)]
    maps = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": one} for one in meta]
    return {"policy.yaml": [_policy("p", rule)], "resource.yaml": [_pod(), *maps]}


def _on_one_line(items: list[Json]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def _pods_on_one_line(count: int) -> Files:
    return {
        "policy.yaml": [_policy("p", _labelled(), _marked())],
        "resource.yaml": _on_one_line([_pod(n) for n in range(count)]),
    }


def _pods_in_flow(count: int) -> Files:
    pods = ", ".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: w{n}}}, spec: {{}}}}" for n in range(count)
    )
    text = f"apiVersion: v1\nkind: List\nitems: [{pods}]\n"
    return {"policy.yaml": [_policy("p", _labelled())], "resource.yaml": text}


def _policies_on_one_line(count: int) -> Files:
    policies = [_policy(f"p{n}", _labelled()) for n in range(count)]
    return {"policy.yaml": _on_one_line(policies), "resource.yaml": [_pod()]}


def _selected_labels(count: int) -> Files:
    names = [f"l{n}" for n in range(count)]
    selected = {"selector": {"matchLabels": dict.fromkeys(names, "*")}}
    rule = {**_labelled(), "match": {"any": [{"resources": {"kinds": ["Pod"], **selected}}]}}
    pod = _pod()
    pod["metadata"]["labels"] = dict.fromkeys(names, "x")
    return {"policy.yaml": [_policy("p", rule)], "resource.yaml": [pod]}


def _unknown_kinds(count: int) -> Files:
    kinds = ["Pod", *(f"g{n}/v1/Kind{n}" for n in range(count))]
    rule = {**_labelled(), "match": {"any": [{"resources": {"kinds": kinds}}]}}
    return {"policy.yaml": [_policy("p", rule)], "resource.yaml": [_pod()]}


def _long_expression(count: int) -> Files:
    fields = " || ".join(f"request.object.metadata.x{n}" for n in range(count))
    condition = {"key": f"{{{{ {fields} || 'a' }}}}", "operator": "Equals", "value": "b"}
    rule = _rule("r", validate={"message": "m", "deny": {"conditions": {"any": [condition]}}})
    return {"policy.yaml": [_policy("p", rule)], "resource.yaml": [_pod()]}


def _empty_documents(count: int) -> Files:
    policies, resources = _policy("p", _labelled()), _pod()
    lead = "---\n" * count
    return {
        "policy.yaml": f"{lead}{json.dumps(policies)}\n{lead}",
        "resource.yaml": f"{lead}{json.dumps(resources)}\n{lead}",
    }


_LINT = ("lint", "policy.yaml")
_MIGRATE = ("migrate", "policy.yaml", "--jobs", "1")
_WITH_EXCEPTIONS = ("-e", "exception.yaml")
GROWING = (
    Growing("resources", _resources, (*_EVERY, _CREATE), 8),
    Growing("policies", _policies, (*_EVERY, ("lint", "policy.yaml"), _MIGRATE)),
    Growing("policies in CEL", _native_policies, (*_EVERY, ("lint", "policy.yaml"))),
    Growing("rules", _rules, (*_EVERY, ("lint", "policy.yaml"), _MIGRATE)),
    Growing("exceptions", _exceptions, tuple((*one, *_WITH_EXCEPTIONS) for one in _EVERY), 16),
    Growing(
        "exceptions in CEL",
        _exceptions_in_cel,
        tuple((*one, *_WITH_EXCEPTIONS) for one in (_APPLY, _EXPLAIN, _SIMULATE)),
        16,
    ),
    Growing("elements that a loop merges", _merging_loops, (_APPLY,), 64),
    Growing("elements of a loop in CEL", _loops_in_cel, (_APPLY, _EXPLAIN), 64),
    Growing("conditions", _conditions, (_APPLY, ("lint", "policy.yaml"), _MIGRATE), 16),
    Growing("namespaces that are selected", _namespaces, (_APPLY, _SIMULATE), 8),
    Growing("values", _values, ((*_APPLY, "-f", "values.yaml"),), 16),
    Growing("steps of chainsaw", _chainsaw, (("chainsaw", "."),), 8),
    Growing("what lint fixes", _to_fix, (("lint", "policy.yaml", "--fix"),), 8),
    Growing("targets", _targets, (_APPLY, _SIMULATE), 8),
    Growing("policies to try", _policies, (("examples", "policy.yaml"),), 2),
    Growing("elements of a loop", _loops, (_APPLY, _EXPLAIN), 32),
    Growing("nesting", _depth, _EVERY, 20),
    Growing("rows on resources", _rows_on_resources, _TESTS, 16),
    Growing("rows on policies", _rows_on_policies, _TESTS, 8),
    Growing("Pods on one line", _pods_on_one_line, _EVERY, 8),
    Growing("Pods in a flow list", _pods_in_flow, (_APPLY, _EXPLAIN), 8),
    Growing("policies on one line", _policies_on_one_line, (_APPLY, _LINT, _MIGRATE), 8),
    Growing("labels selected by wildcards", _selected_labels, (_APPLY, _LINT), 64),
    Growing("wildcards in keys of labels", _wild_keys, (_APPLY,), 64),
    Growing("unknown kinds", _unknown_kinds, (_APPLY, _LINT), 256),
    Growing("a long expression", _long_expression, (_APPLY, _EXPLAIN, _LINT), 80),
    Growing("empty documents", _empty_documents, (_APPLY, _LINT), 64),
)
