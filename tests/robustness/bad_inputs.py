"""Bad inputs by hand: what each is, its files, and the command that reads them.

Each is a file as a stranger could send it; what the fuzzer found stands in `tests/fuzz/found/`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Json = Any
Text = str | bytes | Callable[[], str | bytes]


class BadInput(NamedTuple):
    """One bad input."""

    name: str
    """What is bad in it, for people."""
    files: Mapping[str, Any]
    """A Text, or what `bad_paths.py` makes in its place, by path."""
    command: str
    """Words after `kyvsim`; the files are in the working folder."""
    stdin: Text = ""
    marks: tuple[str, ...] = ()
    """What standard error or output has to say of it."""
    meanwhile: tuple[str, int, str] | None = None
    """A file, and a program that runs when it is about to be opened for the n-th time."""


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "registry.example.com/web:1.0"}]},
}
MILLION = "split('" + "x," * 20 + "', ',')" + (" | [" + ",".join("@" * 10) + "][]") * 5
"""An expression whose value has a million elements, or would have."""
APPLY = "apply policy.yaml good.yaml -r pod.yaml --detailed-results"


def rule_of(name: str, **fields: Json) -> Json:
    """Return a rule for Pods."""
    return {"name": name, "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, **fields}


def policy_of(*rules: Json, name: str = "hostile", **meta: Json) -> Json:
    """Return a ClusterPolicy of some rules."""
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name, **meta},
        "spec": {"rules": list(rules)},
    }


def cel_policy_of(expression: str, **spec: Json) -> Json:
    """Return a ValidatingPolicy with one expression."""
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "hostile"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "validations": [{"expression": expression, "message": "refused"}],
            **spec,
        },
    }


GOOD = policy_of(
    rule_of(
        "has-app",
        validate={
            "message": "an app is asked for",
            "pattern": {"metadata": {"labels": {"app": "?*"}}},
        },
    ),
    name="good",
)


def _text(made: Json) -> str:
    found = made() if callable(made) else made
    return found if isinstance(found, str) else json.dumps(found)


def applied(
    name: str, policy: Json | Callable[[], Json], pod: Json = POD, marks: tuple[str, ...] = ()
) -> BadInput:
    """Return a policy that is applied to a Pod beside a good policy, which must be told."""

    files = {
        "policy.yaml": lambda: _text(policy),
        "good.yaml": json.dumps(GOOD),
        "pod.yaml": lambda: _text(pod),
    }
    return BadInput(name, files, APPLY, marks=("good / has-app", *marks))


def refused(name: str, pod: Callable[[], str]) -> BadInput:
    """Return a Pod that is not read, beside a good one."""
    files = {"policy.yaml": json.dumps(GOOD), "bad.yaml": pod, "pod.yaml": json.dumps(POD)}
    return BadInput(
        name,
        files,
        "apply policy.yaml -r bad.yaml -r pod.yaml --detailed-results",
        marks=("good / has-app", "deep"),
    )


def mutating(mutate: Json, **fields: Json) -> Json:
    """Return a policy with one mutate rule."""
    return policy_of(rule_of("hostile", mutate=mutate, **fields))


def denying(key: str, **fields: Json) -> Json:
    """Return a policy whose deny condition has an expression."""
    conditions = {"any": [{"key": key, "operator": "Equals", "value": "x"}]}
    return policy_of(
        rule_of("hostile", validate={"message": "no", "deny": {"conditions": conditions}}, **fields)
    )


def variable(name: str, value: Json = None, **fields: Json) -> Json:
    """Return a context entry."""
    found = {**fields} if value is None else {"value": value, **fields}
    return {"name": name, "variable": found}


def nested(depth: int, core: Json = "x", key: str = "a") -> Json:
    """Return maps in maps."""
    found = core
    for _ in range(depth):
        found = {key: found}
    return found


def nested_text(depth: int, core: str = '"x"', key: str = "a") -> str:
    """Return maps in maps as JSON text: json.dumps has a bound of its own."""
    return f'{{"{key}":' * depth + core + "}" * depth


def pod_with(text: str) -> str:
    """Return a Pod with a further field as JSON text."""
    return json.dumps(POD)[:-1] + f', "extra": {text}' + "}"


def simulated(name: str, resource: Json | str, marks: tuple[str, ...] = ()) -> BadInput:
    """Return an object that is created on a simulated cluster, and a good Pod after it."""
    text = resource if isinstance(resource, str) else json.dumps(resource)
    files = {"policy.yaml": json.dumps(GOOD), "object.yaml": text, "pod.yaml": json.dumps(POD)}
    return BadInput(
        name,
        files,
        "simulate policy.yaml -r object.yaml -r pod.yaml",
        marks=(*(("Pod shop/web",) if found_good(resource) else ()), *marks),
    )


def found_good(resource: Json | str) -> bool:
    """Return whether an object can be read at all: else nothing is simulated."""
    return isinstance(resource, dict) and {
        resource[name].__class__ for name in ("kind", "apiVersion")
    } == {str}


def workload(kind: str, **spec: Json) -> Json:
    """Return a Deployment or the like."""
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": {"app": "w"}},
            "template": {"metadata": {"labels": {"app": "w"}}, "spec": POD["spec"]},
            **spec,
        },
    }


def pod_spec(**fields: Json) -> Json:
    """Return another Pod whose specification has odd fields."""
    return {
        **POD,
        "metadata": {"name": "odd", "namespace": "shop"},
        "spec": {**POD["spec"], **fields},
    }


def thing(kind: str, api: str = "v1", **fields: Json) -> Json:
    """Return an object of a kind."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "odd", "namespace": "shop"},
        **fields,
    }


def jp(name: str, expression: str | Callable[[], str], data: str = "{}") -> BadInput:
    """Return an expression that `jp` evaluates."""
    return BadInput(
        name, {"query.txt": expression, "data.json": data}, "jp query -i data.json -q query.txt"
    )


def cel(name: str, expression: str) -> BadInput:
    """Return a policy in CEL with an expression, beside a good one."""
    return applied(name, lambda: cel_policy_of(expression))


def contexts_doubling(times: int) -> list[Json]:
    entries = [variable("v0", "x" * 100)]
    entries += [variable(f"v{n + 1}", f"{{{{ v{n} }}}}{{{{ v{n} }}}}") for n in range(times)]
    return entries


RULES = (
    *(
        applied(f"`patchStrategicMerge` that is {kind}", mutating({"patchStrategicMerge": value}))
        for kind, value in (
            ("a string", "x"),
            ("a list", [1]),
            ("a number", 5),
            ("a bool", True),
            ("a string from a variable", "{{ request.object.metadata.name }}"),
            ("a bool from a variable", "{{ `true` }}"),
            ("a list from a variable", "{{ `[1]` }}"),
            ("a number from a variable", "{{ `5` }}"),
        )
    ),
    applied(
        "`mutate.targets` without a patch",
        mutating(
            {"targets": [{"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "shop"}]}
        ),
    ),
    applied(
        "a target whose `apiVersion` gives a number",
        mutating(
            {
                "targets": [{"apiVersion": "{{ `5` }}", "kind": "Pod", "name": "web"}],
                "patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}},
            }
        ),
    ),
    applied(
        "`mutate.foreach` without `list`",
        mutating({"foreach": [{"patchStrategicMerge": {"spec": {"x": 1}}}]}),
    ),
    applied(
        "`mutate.foreach` with entries that are not maps", mutating({"foreach": ["x", 5, None]})
    ),
    applied("`mutate.foreach` that is a string", mutating({"foreach": "x"})),
    applied(
        "`validate.foreach` without `list`",
        policy_of(
            rule_of("hostile", validate={"message": "m", "foreach": [{"pattern": {"a": 1}}]})
        ),
    ),
    applied(
        "`validate.foreach` with entries that are not maps",
        policy_of(rule_of("hostile", validate={"message": "m", "foreach": ["x"]})),
    ),
    applied(
        "`patchesJson6902` from a variable that gives a bool",
        mutating({"patchesJson6902": "{{ `true` }}"}),
    ),
    applied(
        "a JSON patch of the whole object",
        mutating({"patchesJson6902": '[{"op": "replace", "path": "", "value": 5}]'}),
    ),
    applied(
        "`validate.pattern` that is a string",
        policy_of(rule_of("hostile", validate={"message": "m", "pattern": "x"})),
    ),
    applied(
        "`anyPattern` with numbers",
        policy_of(rule_of("hostile", validate={"message": "m", "anyPattern": [5, None]})),
    ),
    applied(
        "a pattern nested 180 deep",
        lambda: policy_of(
            rule_of("hostile", validate={"message": "m", "pattern": {"spec": nested(180)}})
        ),
        {**POD, "spec": nested(180)},
    ),
    applied(
        "a pattern nested 180 deep, and lists in it",
        lambda: policy_of(
            rule_of("hostile", validate={"message": "m", "pattern": {"spec": [nested(180)]}})
        ),
    ),
    applied(
        "`generate.data` nested 180 deep",
        lambda: policy_of(
            rule_of(
                "hostile",
                generate={
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "x",
                    "namespace": "shop",
                    "data": nested(180),
                },
            )
        ),
    ),
    applied(
        "a rule whose `match` is a number",
        policy_of({"name": "hostile", "match": 5, "validate": {"pattern": {}}}),
    ),
    applied("a policy whose `rules` are a map", {**policy_of(), "spec": {"rules": {"a": 1}}}),
    applied("a policy whose `spec` is a list", {**policy_of(), "spec": [1]}),
    applied("a policy whose `metadata` is a string", {**policy_of(), "metadata": "x"}),
    applied(
        "conditions that are a string",
        policy_of(rule_of("hostile", validate={"message": "m", "deny": {"conditions": "x"}})),
    ),
    applied(
        "`preconditions` with an operator that is a map",
        policy_of(
            rule_of(
                "hostile",
                preconditions={"all": [{"key": "a", "operator": {"x": 1}, "value": 1}]},
                validate={"message": "m", "pattern": {"spec": "?*"}},
            )
        ),
    ),
    applied(
        "a context entry without a name",
        policy_of(
            rule_of(
                "hostile",
                context=[{"variable": {"value": 1}}],
                validate={"message": "m", "pattern": {"spec": "?*"}},
            )
        ),
    ),
    applied(
        "a `podSecurity` rule with a level that is a list",
        policy_of(
            rule_of(
                "hostile", validate={"message": "m", "podSecurity": {"level": ["x"], "version": 5}}
            )
        ),
    ),
    applied(
        "labels of the Pod that are a list",
        GOOD | {"metadata": {"name": "hostile"}},
        {**POD, "metadata": {"name": "web", "namespace": "shop", "labels": ["x"]}},
    ),
    applied(
        "a Pod whose `containers` are a string",
        policy_of(
            rule_of(
                "hostile",
                validate={
                    "message": "m",
                    "podSecurity": {"level": "restricted", "version": "latest"},
                },
            )
        ),
        {**POD, "spec": {"containers": "x", "volumes": 5}},
    ),
    applied(
        "a Pod whose `securityContext` is a string",
        policy_of(
            rule_of(
                "hostile",
                validate={
                    "message": "m",
                    "podSecurity": {"level": "restricted", "version": "latest"},
                },
            )
        ),
        {
            **POD,
            "spec": {
                "securityContext": "x",
                "containers": [{"name": "a", "securityContext": 5}, "b", None],
            },
        },
    ),
    applied(
        "a `matchLabels` that is a string",
        policy_of(
            {
                "name": "hostile",
                "match": {
                    "any": [{"resources": {"kinds": ["Pod"], "selector": {"matchLabels": "x"}}}]
                },
                "validate": {"message": "m", "pattern": {"spec": "?*"}},
            }
        ),
    ),
)

DEPTH = (
    *(
        refused(
            f"a resource nested {depth:,} deep", lambda depth=depth: pod_with(nested_text(depth))
        )
        for depth in (500, 700, 900, 2_000, 100_000)
    ),
    applied(
        "a resource of YAML nested 5,000 deep",
        GOOD | {"metadata": {"name": "hostile"}},
        lambda: json.dumps(POD) + "\n---\na:\n" + "- " * 5000 + "x",
    ),
    applied(
        "a policy nested 900 deep",
        lambda: json.dumps(policy_of())[:-1] + ', "extra": ' + nested_text(900) + "}",
    ),
    applied(
        "an expression in 2,000 brackets", denying("{{ " + "(" * 2000 + "a" + ")" * 2000 + " }}")
    ),
    applied("an expression of 5,000 pipes", denying("{{ a" + " | a" * 5000 + " }}")),
    applied("an expression of 3,000 `!`", denying("{{ " + "!" * 3000 + "a }}")),
    applied("templates in templates, 200 deep", denying("{{ " * 200 + "a" + " }}" * 200)),
    cel("an expression in CEL in 2,000 brackets", "(" * 2000 + "true" + ")" * 2000),
    cel("an expression in CEL of 5,000 `&&`", "true" + " && true" * 5000),
    cel("an expression in CEL with 300 lists in lists", "[" * 300 + "]" * 300 + " == []"),
    BadInput(
        "annotations nested 1,000 deep, with `lint`",
        {
            "policy.yaml": lambda: json.dumps(policy_of()).replace(
                '"metadata": {', '"metadata": {"annotations": ' + nested_text(1000) + ", "
            )
        },
        "lint policy.yaml",
    ),
    BadInput(
        "a values file nested 2,000 deep",
        {
            "policy.yaml": json.dumps(GOOD),
            "pod.yaml": json.dumps(POD),
            "values.yaml": lambda: (
                '{"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "globalValues": '
                + nested_text(2000)
                + "}"
            ),
        },
        "apply policy.yaml -r pod.yaml -f values.yaml",
    ),
    BadInput(
        "lists in lists, 400 deep",
        {
            "policy.yaml": json.dumps(GOOD),
            "pod.yaml": lambda: (
                '{"apiVersion": "v1", "kind": "List", "items": [' * 400
                + json.dumps(POD)
                + "]}" * 400
            ),
        },
        "apply policy.yaml -r pod.yaml",
    ),
    BadInput(
        "a scenario nested 900 deep",
        {
            "scenario.yaml": lambda: (
                '{"apiVersion": "kyvsim/v1", "kind": "Scenario", "policies": [], '
                '"steps": [{"create": ' + pod_with(nested_text(900)) + "}]}"
            )
        },
        "simulate scenario.yaml",
    ),
    BadInput(
        "a test manifest nested 2,000 deep",
        {
            "kyverno-test.yaml": lambda: (
                '{"name": "x", "policies": ["p.yaml"], "resources": ["r.yaml"], "results": '
                + nested_text(2000)
                + "}"
            )
        },
        "test .",
    ),
    BadInput(
        "a chainsaw test nested 900 deep",
        {
            "chainsaw-test.yaml": lambda: (
                '{"apiVersion": "chainsaw.kyverno.io/v1alpha1", "kind": "Test", '
                '"metadata": {"name": "x"}, "spec": {"steps": [{"try": [{"assert": {"resource": '
                + nested_text(900)
                + "}}]}]}}"
            )
        },
        "chainsaw .",
    ),
    jp("an input of `jp` nested 5,000 deep", "a", nested_text(5000)),
)

BUDGET = (
    applied(
        "JMESPath that doubles a string 40 times",
        denying("{{ 'xxxxxxxxxx'" + " | join('', [@, @])" * 40 + " }}"),
    ),
    applied(
        "JMESPath that doubles a list 40 times",
        denying("{{ [`1`]" + " | [@, @][]" * 40 + " | length(@) }}"),
    ),
    applied(
        "JMESPath that nests a list 40 times and shows it",
        denying("{{ [`1`]" + " | [@, @]" * 40 + " | to_string(@) }}"),
    ),
    applied(
        "context entries that double 40 times", denying("{{ v40 }}", context=contexts_doubling(40))
    ),
    applied(
        "context entries that hold the one before twice, 40 times",
        denying(
            "{{ v40 }}",
            context=[
                variable("v0", {"x": "x" * 100}),
                *(
                    variable(f"v{n + 1}", {"a": f"{{{{ v{n} }}}}", "b": f"{{{{ v{n} }}}}"})
                    for n in range(40)
                ),
            ],
        ),
    ),
    applied(
        "40 JSON patches, each copying the whole object",
        lambda: mutating(
            {
                "patchesJson6902": json.dumps(
                    [{"op": "copy", "from": "/spec", "path": f"/spec/c{n}"} for n in range(40)]
                )
            }
        ),
    ),
    applied(
        "30,000 JSON patch operations",
        lambda: mutating(
            {
                "patchesJson6902": json.dumps(
                    [
                        {"op": "add", "path": f"/metadata/annotations/a{n}", "value": "x"}
                        for n in range(30_000)
                    ]
                )
            }
        ),
        {**POD, "metadata": {**POD["metadata"], "annotations": {"a": "b"}}},
    ),
    applied(
        "30,000 insertions at the head of a list",
        lambda: mutating(
            {
                "patchesJson6902": json.dumps(
                    [
                        {"op": "add", "path": "/spec/containers/0", "value": {"name": f"c{n}"}}
                        for n in range(30_000)
                    ]
                )
            }
        ),
    ),
    cel(
        "CEL `replace`, twelve times",
        "'aaaaaaaaaa'" + ".replace('a', 'aaaaaaaaaa')" * 12 + " == ''",
    ),
    cel("CEL `format('%.999999999f')`", "'%.999999999f'.format([1.0]) == ''"),
    cel(
        "CEL `quantity('1e999999999').add(…)`",
        "quantity('1e999999999').add(quantity('1')).isGreaterThan(quantity('1'))",
    ),
    cel(
        "CEL loops in loops over 1,000,000 rounds",
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b > -c)))",
    ),
    applied(
        "CEL that doubles a string in 40 variables",
        lambda: cel_policy_of(
            "variables.v40 == ''",
            variables=[
                {"name": "v0", "expression": "'xxxxxxxxxx'"},
                *(
                    {"name": f"v{n + 1}", "expression": f"variables.v{n} + variables.v{n}"}
                    for n in range(40)
                ),
            ],
        ),
    ),
    applied(
        "CEL with 100 variables that each take all that an expression may",
        lambda: cel_policy_of(
            "variables.v99",
            variables=[
                {
                    "name": f"v{n}",
                    "expression": "lists.range(90).all(a, lists.range(900).all(b, a + b > -1))"
                    + (f" && variables.v{n - 1}" if n else ""),
                }
                for n in range(100)
            ],
        ),
        marks=("the budget of 1,000,000 steps for a rule is spent",),
    ),
    applied(
        "CEL with 200 variables of ten million characters",
        lambda: cel_policy_of(
            "variables.all.size() > 0",
            variables=[
                {"name": "long", "expression": "'xxxxxxxxx'" + ".replace('x', 'xxxxxxxxx')" * 6},
                *({"name": f"v{n}", "expression": f"variables.long + '{n}'"} for n in range(200)),
                {
                    "name": "all",
                    "expression": "[" + ", ".join(f"variables.v{n}" for n in range(200)) + "]",
                },
            ],
        ),
        marks=("the budget of 1,000,000 steps for a rule is spent",),
    ),
    applied(
        "`AnyIn` of 5,000 wildcards among 5,000 elements",
        lambda: policy_of(
            rule_of(
                "hostile",
                validate={
                    "message": "m",
                    "deny": {
                        "conditions": {
                            "any": [
                                {
                                    "key": "{{ request.object.spec.x }}",
                                    "operator": "AnyIn",
                                    "value": "{{ request.object.spec.y }}",
                                }
                            ]
                        }
                    },
                },
            )
        ),
        lambda: {
            **POD,
            "spec": {
                **POD["spec"],
                "x": [f"a{n}" for n in range(5_000)],
                "y": [f"*b{n}" for n in range(5_000)],
            },
        },
        marks=("the budget of 1,000,000 steps for a rule is spent",),
    ),
    applied(
        "a wildcard with `?` and 2,500 letters against 20,000",
        lambda: policy_of(
            rule_of(
                "hostile",
                validate={
                    "message": "m",
                    "pattern": {"metadata": {"annotations": {"a": "*" + "a" * 2500 + "?b"}}},
                },
            )
        ),
        {**POD, "metadata": {**POD["metadata"], "annotations": {"a": "a" * 20_000}}},
    ),
    cel(
        "CEL `'x' * n` by `join`",
        "lists.range(1000000).map(i, 'xxxxxxxxxxxxxxxxxxxx').join('').size() > 0",
    ),
    applied("`random('((()*)*)*')`", denying("{{ random('((()*)*)*') }}")),
    applied(
        "`random('.*…')` with 5,000 stars", lambda: denying("{{ random('" + ".*" * 5000 + "') }}")
    ),
    applied(
        "`random('(((a{1000}){1000}){1000})')`", denying("{{ random('((a{1000}){1000}){1000}') }}")
    ),
    applied(
        "`foreach` over 1,000,000 elements",
        lambda: mutating(
            {
                "foreach": [
                    {
                        "list": "range_list",
                        "patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}},
                    }
                ]
            },
            context=[
                variable(
                    "range_list",
                    jmesPath=MILLION,
                )
            ],
        ),
    ),
    applied(
        "`validate.foreach` over 1,000,000 elements",
        lambda: policy_of(
            rule_of(
                "hostile",
                validate={
                    "message": "m",
                    "foreach": [
                        {
                            "list": MILLION,
                            "deny": {
                                "conditions": {
                                    "any": [
                                        {"key": "{{ element }}", "operator": "Equals", "value": "y"}
                                    ]
                                }
                            },
                        }
                    ],
                },
            )
        ),
    ),
    applied(
        "`foreach` in `foreach` in `foreach`",
        lambda: policy_of(
            rule_of(
                "hostile",
                validate={
                    "message": "m",
                    "foreach": [
                        {
                            "list": "request.object.spec.x",
                            "foreach": [
                                {
                                    "list": "request.object.spec.x",
                                    "foreach": [
                                        {
                                            "list": "request.object.spec.x",
                                            "deny": {
                                                "conditions": {
                                                    "any": [
                                                        {
                                                            "key": "{{ element }}",
                                                            "operator": "Equals",
                                                            "value": "y",
                                                        }
                                                    ]
                                                }
                                            },
                                        }
                                    ],
                                }
                            ],
                        }
                    ],
                },
            )
        ),
        lambda: {**POD, "spec": {**POD["spec"], "x": [str(n) for n in range(500)]}},
    ),
    applied(
        "a template that fills in a template of itself",
        denying("{{ request.object.metadata.annotations.a }}"),
        {
            **POD,
            "metadata": {
                **POD["metadata"],
                "annotations": {"a": "{{ request.object.metadata.annotations.a }}" * 2},
            },
        },
    ),
    applied(
        "annotations that lead to one another and double",
        denying("{{ request.object.metadata.annotations.a0 }}"),
        {
            **POD,
            "metadata": {
                **POD["metadata"],
                "annotations": {
                    **{
                        f"a{n}": f"{{{{ request.object.metadata.annotations.a{n + 1} }}}}" * 2
                        for n in range(40)
                    },
                    "a40": "x",
                },
            },
        },
    ),
    applied(
        "JMESPath projections over 2,000 x 2,000 x 2,000",
        denying("{{ request.object.spec.x[].{a: request.object.spec.x} | length(@) }}"),
        lambda: {**POD, "spec": {**POD["spec"], "x": [{"y": n} for n in range(2000)]}},
    ),
    applied(
        "JMESPath `sort_by`, `items`, `zip` on 100,000 elements",
        denying("{{ request.object.spec.x | sort_by(@, &y) | length(@) }}"),
        lambda: {**POD, "spec": {**POD["spec"], "x": [{"y": f"{n}"} for n in range(100_000)]}},
    ),
    applied(
        "`wildcard` of 5,000 stars",
        policy_of(
            rule_of(
                "hostile",
                validate={"message": "m", "pattern": {"metadata": {"name": "*a" * 2500 + "b"}}},
            )
        ),
        {**POD, "metadata": {"name": "a" * 20000, "namespace": "shop"}},
    ),
    applied(
        "a `lookup` by truncate and pad of a huge number", denying("{{ truncate('x', `1e300`) }}")
    ),
    applied(
        "`range` operators with huge numbers",
        policy_of(
            rule_of(
                "hostile",
                validate={"message": "m", "pattern": {"spec": {"x": "1e999999999-2e999999999"}}},
            )
        ),
        {**POD, "spec": {"x": "1e99999999"}},
    ),
    applied(
        "a quantity of 100,000 digits",
        policy_of(rule_of("hostile", validate={"message": "m", "pattern": {"spec": {"x": ">1"}}})),
        lambda: {**POD, "spec": {"x": "1" * 100_000}},
    ),
    applied(
        "a duration of 16,000 digits",
        denying("{{ request.object.spec.x }}"),
        lambda: {**POD, "spec": {"x": "1" * 16_000}},
    ),
    applied(
        "a duration of 16,000 digits, compared",
        lambda: policy_of(
            rule_of(
                "hostile",
                validate={
                    "message": "m",
                    "deny": {
                        "conditions": {
                            "any": [
                                {
                                    "key": "{{ request.object.spec.x }}",
                                    "operator": "DurationGreaterThan",
                                    "value": "1h",
                                }
                            ]
                        }
                    },
                },
            )
        ),
        lambda: {**POD, "spec": {"x": "1" * 160_000}},
    ),
    applied(
        "a pattern `>1h` against 160,000 digits",
        lambda: policy_of(
            rule_of("hostile", validate={"message": "m", "pattern": {"spec": {"x": ">1h"}}})
        ),
        lambda: {**POD, "spec": {"x": "1" * 160_000}},
    ),
    applied(
        "`time_add` with 160,000 digits",
        lambda: denying("{{ time_add('2024-01-01T00:00:00Z', '" + "1" * 160_000 + "') }}"),
    ),
    applied(
        "a version of 100,000 digits for `semver_compare`",
        lambda: denying("{{ semver_compare('" + "1" * 100_000 + ".0.0', '>1.0.0') }}"),
    ),
    applied(
        "YAML aliases that double 40 times",
        GOOD | {"metadata": {"name": "hostile"}},
        lambda: (
            "a0: &a0 [x]\n"
            + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40))
            + "---\n"
            + json.dumps(POD)
        ),
    ),
    applied(
        "a JMESPath `multiply` and `divide` of huge numbers",
        denying("{{ multiply('1e999999', '1e999999') }}"),
    ),
    applied("a JMESPath `to_string` of 1e308 x 10", denying("{{ multiply(`1e308`, `10`) }}")),
    jp("`jp` doubling a string 40 times", "'xxxxxxxxxx'" + " | join('', [@, @])" * 40),
    jp("`jp` with `random` and 5,000 stars", lambda: "random('" + ".*" * 5000 + "')"),
    BadInput(
        "a scenario with 1,000,000 replicas",
        {
            "policy.yaml": json.dumps(GOOD),
            "object.yaml": json.dumps(workload("Deployment", replicas=1_000_000)),
        },
        "simulate policy.yaml -r object.yaml",
    ),
    BadInput(
        "a Job with a parallelism of 1,000,000",
        {
            "policy.yaml": json.dumps(GOOD),
            "object.yaml": json.dumps(
                workload("Job", parallelism=1_000_000, completions=1_000_000)
            ),
        },
        "simulate policy.yaml -r object.yaml",
    ),
)

REGEXES = (
    applied(
        "a regular expression in 100,000 brackets",
        lambda: denying("{{ regex_match('" + "(" * 100_000 + "a" + ")" * 100_000 + "', 'a') }}"),
    ),
    applied(
        "a regular expression in 1,001 brackets",
        lambda: denying("{{ regex_match('" + "(" * 1001 + "a" + ")" * 1001 + "', 'a') }}"),
    ),
    cel(
        "a regular expression in 1,001 brackets, in CEL",
        "object.metadata.name.matches('" + "(" * 1001 + "a" + ")" * 1001 + "')",
    ),
    applied(
        "a regular expression with repeats in repeats",
        denying("{{ regex_match('((((a{1000}){1000}){1000}){1000})', 'a') }}"),
    ),
    applied(
        "a regular expression that backtracks",
        denying("{{ regex_match('(a|aa|a?)*b', '" + "a" * 5000 + "') }}"),
    ),
    applied(
        "`regex_replace_all` that doubles",
        denying(
            "{{ regex_replace_all('a', '"
            + "a" * 1000
            + "', '"
            + "b" * 1000
            + "') | regex_replace_all('b', @, '"
            + "a" * 1000
            + "') | length(@) }}"
        ),
    ),
)

OBJECTS = (
    simulated(
        "a container whose `limits` are a string",
        pod_spec(containers=[{"name": "a", "image": "b", "resources": {"limits": "a"}}]),
    ),
    simulated(
        "a container whose `limits` are not quantities",
        pod_spec(containers=[{"name": "a", "image": "b", "resources": {"limits": {"cpu": [1]}}}]),
    ),
    simulated(
        "a Deployment whose `matchLabels` are a string",
        workload("Deployment", selector={"matchLabels": "x"}),
    ),
    simulated("a Deployment whose `replicas` are a string", workload("Deployment", replicas="x")),
    simulated("a Deployment whose `selector` is a number", workload("Deployment", selector=5)),
    simulated("a Deployment whose `template` is a list", workload("Deployment", template=[1])),
    simulated(
        "a StatefulSet whose `volumeClaimTemplates` are strings",
        workload("StatefulSet", volumeClaimTemplates=["x"], serviceName=5),
    ),
    simulated(
        "a DaemonSet whose `updateStrategy` is a number", workload("DaemonSet", updateStrategy=5)
    ),
    simulated(
        "a Service whose `nodePort` is a list",
        thing("Service", spec={"ports": [{"port": 80, "nodePort": [1]}]}),
    ),
    simulated(
        "a Service whose `type` is a list",
        thing("Service", spec={"type": [], "ports": [{"port": 80}]}),
    ),
    simulated("a Namespace whose `spec` is a number", thing("Namespace", spec=5)),
    simulated(
        "a definition whose `names` are a number",
        thing(
            "CustomResourceDefinition",
            "apiextensions.k8s.io/v1",
            spec={"names": 5, "group": "a.b", "versions": [{"name": "v1"}], "scope": "Namespaced"},
        ),
    ),
    simulated(
        "a definition whose `versions` are a string",
        thing(
            "CustomResourceDefinition",
            "apiextensions.k8s.io/v1",
            spec={
                "names": {"kind": "A", "plural": "as"},
                "group": "a.b",
                "versions": "x",
                "scope": "Namespaced",
            },
        ),
    ),
    simulated("a Pod whose `volumes` are a number", pod_spec(volumes=5)),
    simulated("a Pod whose `volumes` are strings", pod_spec(volumes=["x"])),
    simulated("a simulated Pod whose `containers` are a string", pod_spec(containers="x")),
    simulated(
        "a Pod whose `env` is a string",
        pod_spec(containers=[{"name": "a", "image": "b", "env": "x", "envFrom": [5]}]),
    ),
    simulated(
        "a Pod whose `labels` are a list",
        {**POD, "metadata": {"name": "odd", "namespace": "shop", "labels": [1]}},
    ),
    simulated(
        "a Pod whose `labels` are numbers",
        {**POD, "metadata": {"name": "odd", "namespace": "shop", "labels": {"a": {"b": 1}}}},
    ),
    simulated(
        "a Pod whose `ownerReferences` are a string",
        {**POD, "metadata": {"name": "odd", "namespace": "shop", "ownerReferences": "x"}},
    ),
    simulated(
        "a Pod whose `finalizers` are a map",
        {**POD, "metadata": {"name": "odd", "namespace": "shop", "finalizers": {"a": 1}}},
    ),
    simulated(
        "a Pod whose `name` is a list", {**POD, "metadata": {"name": ["odd"], "namespace": "shop"}}
    ),
    simulated(
        "a Pod whose `namespace` is a number", {**POD, "metadata": {"name": "odd", "namespace": 5}}
    ),
    simulated(
        "a Pod whose `creationTimestamp` is a map",
        {
            **POD,
            "metadata": {
                "name": "odd",
                "namespace": "shop",
                "creationTimestamp": {},
                "deletionTimestamp": "x",
            },
        },
    ),
    simulated(
        "a CronJob whose `schedule` is a number",
        thing(
            "CronJob",
            "batch/v1",
            spec={"schedule": 5, "jobTemplate": {"spec": {"template": {"spec": POD["spec"]}}}},
        ),
    ),
    simulated(
        "a CronJob whose `jobTemplate` is a string",
        thing("CronJob", "batch/v1", spec={"schedule": "* * * * *", "jobTemplate": "x"}),
    ),
    simulated(
        "a Job whose `backoffLimit` is a string", workload("Job", backoffLimit="x", completions=[1])
    ),
    simulated("a ConfigMap whose `data` is a list", thing("ConfigMap", data=[1])),
    simulated("a Secret whose `data` is not base64", thing("Secret", data={"a": "%%%"})),
    simulated(
        "a ClusterRole whose `rules` are strings",
        thing("ClusterRole", "rbac.authorization.k8s.io/v1", rules=["x", 5]),
    ),
    simulated(
        "a ClusterRole whose `verbs` are a number",
        thing(
            "ClusterRole",
            "rbac.authorization.k8s.io/v1",
            rules=[{"verbs": 5, "resources": "x", "apiGroups": [5]}],
        ),
    ),
    simulated(
        "a RoleBinding whose `subjects` are a string",
        thing("RoleBinding", "rbac.authorization.k8s.io/v1", subjects="x", roleRef=5),
    ),
    simulated(
        "a ServiceAccount whose `secrets` are a string",
        thing("ServiceAccount", secrets="x", imagePullSecrets=5),
    ),
    simulated(
        "an Ingress whose `rules` are a string",
        thing("Ingress", "networking.k8s.io/v1", spec={"rules": "x"}),
    ),
    simulated(
        "a NetworkPolicy whose `podSelector` is a list",
        thing("NetworkPolicy", "networking.k8s.io/v1", spec={"podSelector": [1]}),
    ),
    simulated(
        "a webhook configuration whose `webhooks` are a string",
        thing("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", webhooks="x"),
    ),
    simulated(
        "an admission policy whose `spec` is a string",
        thing("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1", spec="x"),
    ),
    simulated(
        "a binding whose `spec` is a list",
        thing("ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1", spec=["x"]),
    ),
    simulated(
        "a malformed UpdateRequest", thing("UpdateRequest", "kyverno.io/v2", spec=5, status="x")
    ),
    simulated(
        "a cleanup label that is a list",
        {
            **POD,
            "metadata": {
                "name": "odd",
                "namespace": "shop",
                "labels": {"cleanup.kyverno.io/ttl": [1]},
            },
        },
    ),
    simulated(
        "a Pod with `tolerations` and `affinity` of wrong types",
        pod_spec(tolerations="x", affinity=[1], nodeSelector=5, priorityClassName=[1]),
    ),
    simulated(
        "an object without `metadata`", {"apiVersion": "v1", "kind": "Pod", "spec": POD["spec"]}
    ),
    simulated("an object whose `apiVersion` is a number", {**POD, "apiVersion": 5}),
    simulated("an object whose `kind` is a list", {**POD, "kind": ["Pod"]}),
)

COMMANDS = (
    BadInput(
        "a line of `jp --batch` that is not JSON",
        {},
        "jp query --batch -",
        '{"expr": "a", "input": {"a": 1}}\nnonsense\n{"expr": "a", "input": {"a": 2}}\n',
        marks=('{"output":1', '{"output":2'),
    ),
    BadInput(
        "a line of `jp --batch` nested 5,000 deep",
        {},
        "jp query --batch -",
        lambda: (
            '{"expr": "a", "input": ' + nested_text(5000) + '}\n{"expr": "a", "input": {"a": 2}}\n'
        ),
        marks=('{"output":2',),
    ),
    BadInput(
        "a line of `jp --batch` that is a list",
        {},
        "jp query --batch -",
        '[1]\n5\n{"input": 5}\n{"expr": 5}\n{"expr": "a", "input": {"a": 2}}\n',
        marks=('{"output":2',),
    ),
    BadInput(
        "lines of `jp --batch` with bytes that are no UTF-8",
        {},
        "jp query --batch -",
        b'\xff\xfe\n{"expr": "a", "input": {"a": 2}}\n',
        marks=("invalid UTF-8",),
    ),
    BadInput(
        "a line of `jp --batch` with half a surrogate pair",
        {},
        "jp query --batch -",
        '{"expr": "to_upper(a)", "input": {"a": "\\ud800"}}\n{"expr": "a", "input": {"a": 2}}\n',
        marks=('{"output":2',),
    ),
    BadInput(
        "a line of `jp --batch` whose number is huge",
        {},
        "jp query --batch -",
        '{"expr": "a", "input": {"a": 1e999}}\n{"expr": "a", "input": {"a": '
        + "1" * 5000
        + '}}\n{"expr": "a", "input": {"a": 2}}\n',
        marks=('{"output":2',),
    ),
    BadInput(
        "a batch of CEL with malformed lines",
        {},
        "cel eval --batch -",
        '[1]\nnonsense\n{"expression": 5}\n{"expr": "1"}\n',
    ),
    BadInput(
        '`chainsaw` with `expect: ["true"]`',
        {
            "chainsaw-test.yaml": json.dumps(
                {
                    "apiVersion": "chainsaw.kyverno.io/v1alpha1",
                    "kind": "Test",
                    "metadata": {"name": "x"},
                    "spec": {
                        "steps": [{"try": [{"apply": {"resource": POD, "expect": ["true"]}}]}]
                    },
                }
            )
        },
        "chainsaw .",
    ),
    BadInput(
        "`chainsaw` with `expect` that is a string",
        {
            "chainsaw-test.yaml": json.dumps(
                {
                    "apiVersion": "chainsaw.kyverno.io/v1alpha1",
                    "kind": "Test",
                    "metadata": {"name": "x"},
                    "spec": {"steps": [{"try": [{"apply": {"resource": POD, "expect": "x"}}]}]},
                }
            )
        },
        "chainsaw .",
    ),
    BadInput(
        "`chainsaw` whose steps are strings",
        {
            "chainsaw-test.yaml": json.dumps(
                {
                    "apiVersion": "chainsaw.kyverno.io/v1alpha1",
                    "kind": "Test",
                    "metadata": {"name": "x"},
                    "spec": {"steps": ["x", 5]},
                }
            )
        },
        "chainsaw .",
    ),
    BadInput(
        "`chainsaw` with a script of brackets",
        {
            "chainsaw-test.yaml": lambda: json.dumps(
                {
                    "apiVersion": "chainsaw.kyverno.io/v1alpha1",
                    "kind": "Test",
                    "metadata": {"name": "x"},
                    "spec": {
                        "steps": [
                            {
                                "try": [
                                    {"script": {"content": "$(" * 3000}},
                                    {"script": {"content": "( " * 3000 + ") " * 3000}},
                                ]
                            }
                        ]
                    },
                }
            )
        },
        "chainsaw .",
    ),
    BadInput(
        "`chainsaw` with a script that loops for ever",
        {
            "chainsaw-test.yaml": lambda: json.dumps(
                {
                    "apiVersion": "chainsaw.kyverno.io/v1alpha1",
                    "kind": "Test",
                    "metadata": {"name": "x"},
                    "spec": {
                        "steps": [{"try": [{"script": {"content": "while true; do echo x; done"}}]}]
                    },
                }
            )
        },
        "chainsaw .",
    ),
    BadInput(
        "a scenario whose steps are strings",
        {
            "scenario.yaml": json.dumps(
                {
                    "apiVersion": "kyvsim/v1",
                    "kind": "Scenario",
                    "policies": [],
                    "steps": ["x", 5, {"create": 5}, {"wait": "1e99h"}],
                }
            )
        },
        "simulate scenario.yaml",
    ),
    BadInput(
        "a scenario with a wait of a thousand years",
        {
            "scenario.yaml": json.dumps(
                {
                    "apiVersion": "kyvsim/v1",
                    "kind": "Scenario",
                    "policies": [],
                    "steps": [{"wait": "2000000h"}, {"wait": "2000000h"}],
                }
            )
        },
        "simulate scenario.yaml",
    ),
    BadInput(
        "a test manifest whose results are strings",
        {
            "kyverno-test.yaml": json.dumps(
                {
                    "apiVersion": "cli.kyverno.io/v1alpha1",
                    "kind": "Test",
                    "metadata": {"name": "x"},
                    "policies": ["p.yaml"],
                    "resources": ["r.yaml"],
                    "results": ["x", 5],
                }
            )
        },
        "test .",
    ),
    BadInput(
        "a test manifest whose policies are a map",
        {
            "kyverno-test.yaml": json.dumps(
                {
                    "apiVersion": "cli.kyverno.io/v1alpha1",
                    "kind": "Test",
                    "metadata": {"name": "x"},
                    "policies": {"a": 1},
                    "resources": 5,
                    "results": 5,
                }
            )
        },
        "test .",
    ),
    BadInput(
        "a user file whose groups are a map",
        {
            "policy.yaml": json.dumps(GOOD),
            "pod.yaml": json.dumps(POD),
            "user.yaml": json.dumps(
                {
                    "apiVersion": "cli.kyverno.io/v1alpha1",
                    "kind": "UserInfo",
                    "metadata": {"name": "x"},
                    "userInfo": {"groups": {"a": 1}, "username": []},
                    "clusterRoles": "x",
                }
            ),
        },
        "apply policy.yaml -r pod.yaml -u user.yaml",
    ),
    BadInput(
        "a values file whose policies are strings",
        {
            "policy.yaml": json.dumps(GOOD),
            "pod.yaml": json.dumps(POD),
            "values.yaml": json.dumps(
                {
                    "apiVersion": "cli.kyverno.io/v1alpha1",
                    "kind": "Values",
                    "metadata": {"name": "x"},
                    "policies": ["x"],
                    "namespaceSelector": 5,
                    "subresources": [5],
                }
            ),
        },
        "apply policy.yaml -r pod.yaml -f values.yaml",
    ),
    BadInput(
        "an exception whose `exceptions` are strings",
        {
            "policy.yaml": json.dumps(GOOD),
            "pod.yaml": json.dumps(POD),
            "exception.yaml": json.dumps(
                {
                    "apiVersion": "kyverno.io/v2",
                    "kind": "PolicyException",
                    "metadata": {"name": "x"},
                    "spec": {"exceptions": ["x"], "match": 5, "conditions": "x"},
                }
            ),
        },
        "apply policy.yaml -r pod.yaml -e exception.yaml",
    ),
)
