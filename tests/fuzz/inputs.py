"""Hostile inputs by chance: documents of users, changed where their structure allows it.

The same seed gives the same input. What is changed is a value in a document (its type, its depth,
its size), an expression in a text, or a part that another document has in that place.
"""

import copy
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Json = Any

ROOT = Path(__file__).parents[2]
ODD_VALUES: tuple[Json, ...] = (
    None, True, False, 0, -1, 5, 1.5, 1e308, 10**30, "", "x", "5", "*", "?*", "!x", ">1", "1-2",
    "1e999999999", "-0", "{{ x }}", "{{ request.object }}", "{{ request.object.metadata.name }}",
    "{{ `5` }}", "{{", "}}", "$(../../x)", "\x1b[31m", "a\n::error::b", "\u202e", "\ud83d\ude00",
    "9" * 400, "a" * 5000, "1h", "1" * 5000 + "h", "2024-01-01T00:00:00Z", [], {}, [None], [[]],
    {"": ""}, {"a": None}, ["x", 5, {}], {"$patch": "delete"}, {"(a)": "b"}, {"^(a)": [{}]},
    {"+(a)": "b"}, {"X(a)": "null"}, {"=(a)": 5}, {"<(a)": 1}, {"matchLabels": "x"},
    {"any": [], "all": []}, {"any": "x"}, "quantity('1e999999999')", "object.metadata.name",
    "object.spec.x.y", "[1, 2, 3].all(x, x > 0)", "variables.a", "(", ")", "((((", "'", "`",
)  # fmt: skip
TOKENS = (
    *("|", "||", "&&", "!", "[]", "[*]", "[?a=='b']", "[0]", "[-1]", "[::2]", ".", "*", "@", "&a"),
    *("length(@)", "to_string(@)", "join('', [@, @])", "[@, @]", "{a: @}", "`1`", "'x'", "keys(@)"),
    *("random('[a-z]{5}')", "regex_match('(a*)*', 'b')", "items(@, 'a', 'b')", "time_now_utc()"),
    *("base64_decode('%')", "parse_json('[')", "parse_yaml('&a [*a]')", "x509_decode('x')"),
    *("divide(`1`, `0`)", "modulo('1', '0')", "truncate(@, `-1`)", "split(@, '')", "?", ":", "=="),
    *("has(object.a)", "object.?a.b", ".map(x, x)", ".replace('', 'a')", "dyn(1) + 'a'", "1/0"),
    *("semver('x')", "url('%')", "ip('::1')", "cidr('x')", "optional.none()", "lists.range(99)"),
)
ARGUMENTS = {
    "apply": ("apply", "policy.yaml", "-r", "resource.yaml", "--detailed-results"),
    "apply to json": ("apply", "policy.yaml", "-r", "resource.yaml", "--output-format", "json"),
    "apply to yaml": ("apply", "policy.yaml", "-r", "resource.yaml", "--output-format", "yaml"),
    "apply with targets": (
        *("apply", "policy.yaml", "-r", "resource.yaml"),
        *("--target-resource", "resource.yaml", "--check-idempotent", "--diff"),
    ),
    "explain": ("explain", "policy.yaml", "-r", "resource.yaml"),
    "lint": ("lint", "policy.yaml"),
    "simulate": ("simulate", "policy.yaml", "-r", "resource.yaml", "--max-events", "300"),
    "jp": ("jp", "query", "-i", "resource.yaml", "-q", "query"),
    "cel": ("cel", "eval", "--batch", "batch"),
    "test": ("test", "."),
}


ROW = {"rule": "r", "kind": "Pod", "resources": ["x"], "result": "pass"}


GOLDEN = tuple(f"tests/golden/{name}" for name in ("apply", "lint", "simulate"))
CEL_GROUPS = ("policies.kyverno.io", "admissionregistration.k8s.io")


class FuzzInput(NamedTuple):
    """One input: files of a folder, and the words after `kyvsim`."""

    name: str
    files: dict[str, str]
    arguments: tuple[str, ...]


def documents(*folders: str) -> list[Json]:
    """Return the documents of YAML files below folders, in order."""
    found: list[Json] = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            try:
                some = [one for one in yaml.safe_load_all(text) if isinstance(one, dict)]
            except yaml.YAMLError:
                continue
            found += [one for one in some if "kind" in one]
    return found


class Source:
    """What inputs are made of."""

    def __init__(self) -> None:
        known = documents("policies", "fixtures", *GOLDEN)
        plain = [json.loads(json.dumps(one, default=str)) for one in known]
        self.policies = [
            one
            for one in plain
            if one["kind"].endswith("Policy") and "name" in (one.get("metadata") or {})
        ]
        # Kinds in CEL are as many as classic ones.
        classic = [one for one in self.policies if "kyverno.io/v" in one["apiVersion"]]
        others = [one for one in self.policies if one["apiVersion"].startswith(CEL_GROUPS)]
        self.policies += others * (len(classic) // max(len(others), 1))
        kinds = {one["kind"] for one in self.policies}
        own = {"Test", "Values", "UserInfo", "Scenario", "Context", "PolicyException"}
        self.resources = [
            one for one in plain if one["kind"] not in kinds | own and "apiVersion" in one
        ]

    def make(self, seed: int) -> FuzzInput:
        """Return the input of a seed."""
        chance = random.Random(seed)
        policies = copy.deepcopy(chance.choices(self.policies, k=chance.randint(1, 3)))
        named = [one["metadata"]["name"] for one in policies]
        resources = copy.deepcopy(chance.choices(self.resources, k=chance.randint(1, 3)))
        for _ in range(chance.choice((1, 1, 2, 4, 8))):
            change(chance.choice([*policies, *resources, *policies]), chance, self)
        what = chance.choice(sorted(ARGUMENTS))
        test = {
            "apiVersion": "cli.kyverno.io/v1alpha1",
            "kind": "Test",
            "metadata": {"name": "t"},
            "policies": ["policy.yaml"],
            "resources": ["resource.yaml"],
            "results": [{**ROW, "policy": name} for name in named],
        }
        if what == "test" and chance.random() < 0.5:
            change(test, chance, self)
        expression = " ".join(chance.choices(TOKENS, k=chance.randint(1, 6)))
        files = {
            "policy.yaml": "\n---\n".join(map(written, policies)),
            "resource.yaml": "\n---\n".join(map(written, resources)),
            "query": expression,
            "batch": "\n".join(json.dumps({"expr": one}) for one in (expression, "1")),
            "kyverno-test.yaml": written(test),
        }
        return FuzzInput(f"{seed} {what}", files, ARGUMENTS[what])


def written(document: Json) -> str:
    """Return a document as JSON, which is YAML; halves of surrogate pairs stay escapes."""
    return json.dumps(document, ensure_ascii=True)


def change(document: Json, chance: random.Random, source: Source) -> None:
    """Change one place of a document."""
    places = list(_places(document))
    holder, key = chance.choice(places)
    value = holder[key]
    way = chance.random()
    if isinstance(value, str) and way < 0.35:
        holder[key] = changed_text(value, chance)
    elif way < 0.7:
        holder[key] = copy.deepcopy(chance.choice(ODD_VALUES))
    elif way < 0.8:
        other = copy.deepcopy(chance.choice([*source.policies, *source.resources]))
        same = [h[k] for h, k in _places(other) if k == key]
        holder[key] = chance.choice(same) if same else other
    elif way < 0.87:
        del holder[key]
    elif way < 0.93:
        for _ in range(chance.choice((3, 60, 190, 250))):
            value = {str(key): value} if chance.random() < 0.5 else [value]
        holder[key] = value
    elif isinstance(value, list):
        holder[key] = value * chance.choice((0, 2, 50))
    else:
        holder[key] = [value] * chance.choice((1, 2, 50))


def _places(node: Json) -> Any:
    pending = [node]
    while pending:
        one = pending.pop()
        for key in list(one) if isinstance(one, dict) else range(len(one)):
            yield one, key
            if isinstance(one[key], (dict, list)):
                pending.append(one[key])


def changed_text(text: str, chance: random.Random) -> str:
    """Return a text with something put in, taken out or repeated."""
    at = chance.randint(0, len(text))
    way = chance.randint(0, 4)
    if way == 0:
        return f"{text[:at]}{chance.choice(TOKENS)}{text[at:]}"
    if way == 1:
        return text[:at] + text[at + chance.randint(1, 5) :]
    if way == 2:
        return text * chance.choice((2, 30))
    if way == 3:
        return f"{{{{ {chance.choice(TOKENS)} | {chance.choice(TOKENS)} }}}}"
    return f"{text[:at]}{{{{ {chance.choice(TOKENS)} }}}}{text[at:]}"
