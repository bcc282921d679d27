"""Hostile inputs by chance: documents of users, changed where their structure allows it.

The same seed gives the same input. What is changed is a value in a document (its type, its depth,
its size), an expression in a text, or a part that another document has in that place.
"""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from commands import COMMANDS, NEEDS, SHARES, Cast, companions
from expressions import cel, jmespath

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
ODD_OF = {
    kind: tuple(one for one in ODD_VALUES if one.__class__ is kind)
    for kind in (str, int, float, bool, list, dict, type(None))
}
TOKENS = (
    *("|", "||", "&&", "!", "[]", "[*]", "[?a=='b']", "[0]", "[-1]", "[::2]", ".", "*", "@", "&a"),
    *("length(@)", "to_string(@)", "join('', [@, @])", "[@, @]", "{a: @}", "`1`", "'x'", "keys(@)"),
    *("random('[a-z]{5}')", "regex_match('(a*)*', 'b')", "items(@, 'a', 'b')", "time_now_utc()"),
    *("base64_decode('%')", "parse_json('[')", "parse_yaml('&a [*a]')", "x509_decode('x')"),
    *("divide(`1`, `0`)", "modulo('1', '0')", "truncate(@, `-1`)", "split(@, '')", "?", ":", "=="),
    *("has(object.a)", "object.?a.b", ".map(x, x)", ".replace('', 'a')", "dyn(1) + 'a'", "1/0"),
    *("semver('x')", "url('%')", "ip('::1')", "cidr('x')", "optional.none()", "lists.range(99)"),
)
_NAMES = tuple(sorted(COMMANDS))
_WEIGHTS = tuple(SHARES.get(name, 4) for name in _NAMES)
GOLDEN = tuple(f"tests/golden/{name}" for name in ("apply", "simulate", "cel", "equal"))
CEL_GROUPS = ("policies.kyverno.io", "admissionregistration.k8s.io")


ODD_MARKS = (
    *(":", ": ", "- ", "#", " #", "&a ", "*a", "!!binary ", "!x ", "|", ">-", "'", '"', "{", "]"),
    *(
        "\t",
        "\x00",
        "\x85",
        "\u2028",
        "\ufeff",
        "%",
        "@",
        "`",
        "---\n",
        "...\n",
        "? ",
        "<<: ",
        ", ",
    ),
)


FREE = 8
"""How often a place is counted where no schema refuses what is put there."""
FREE_FIELDS = frozenset(
    (
        *(
            "pattern",
            "anyPattern",
            "patchStrategicMerge",
            "patchesJson6902",
            "data",
            "value",
            "key",
        ),
        *("expression", "jmesPath", "list", "message", "labels", "annotations", "matchLabels"),
        *(
            "containers",
            "messageExpression",
            "conditions",
            "template",
            "names",
            "exclude",
            "default",
        ),
    )
)


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
            if "broken" in path.as_posix():
                continue
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

    def make(self, seed: int, what: str = "") -> FuzzInput:
        """Return the input of a seed, for a command if one is named."""
        chance = random.Random(seed)
        what = what or chance.choices(_NAMES, _WEIGHTS)[0]
        words = COMMANDS[what]
        policies = chance.choices(self.policies, k=chance.randint(1, 3))
        resources = chance.choices(self.resources, k=chance.randint(1, 3))
        names = [one["metadata"]["name"] for one in policies]
        known = {
            "old.yaml": policies,
            "old-resource.yaml": resources,
            **companions(Cast(policies, resources, names)),
        }
        read = [word for word in words if word in known]
        read += [name for word in words for name in NEEDS.get(word, ())]
        # Each has its own: what is changed in one is not changed in another.
        documents = {name: copy.deepcopy(known[name]) for name in read}
        # Policies are most of what can be changed, and of what is to be changed.
        rooms = [documents[name] for name in (*read, "policy.yaml") if name in documents]
        for _ in range(chance.choice((1, 1, 1, 2, 3, 6)) if rooms else 0):
            change(chance.choice(chance.choice(rooms)), chance, self)
        files = {name: written(documents[name], name, chance) for name in documents}
        if "query" in words:
            files["query"] = _tokens(chance) if chance.random() < 0.3 else jmespath(chance)
        if "batch" in words:
            files["batch"] = "\n".join(_lines(chance, words))
        return FuzzInput(f"{seed} {what}", files, words)


def _tokens(chance: random.Random) -> str:
    return " ".join(chance.choices(TOKENS, k=chance.randint(1, 6)))


def _lines(chance: random.Random, words: tuple[str, ...]) -> Iterator[str]:
    """Yield lines of a batch: a few expressions, each with what it is asked of."""
    kind = words[-1] if "--kind" in words else "ValidatingPolicy"
    for _ in range(3):
        made = jmespath(chance) if words[0] == "jp" else cel(chance, kind)
        made = _tokens(chance) if chance.random() < 0.1 else made
        yield json.dumps({"expr": made, "input": chance.choice(ODD_VALUES)})


def written(documents: list[Json], name: str, chance: random.Random) -> str:
    """Return documents as JSON, which is YAML, or as YAML in blocks, some of it damaged.

    Halves of surrogate pairs stay escapes.
    """
    if name.endswith((".json", ".jsonl")):
        text = "\n".join(json.dumps(one, ensure_ascii=True) for one in documents)
        return damaged(text, chance) if chance.random() < 0.1 else text
    if chance.random() < 0.5:
        return "\n---\n".join(json.dumps(one, ensure_ascii=True) for one in documents)
    text = yaml.safe_dump_all(json.loads(json.dumps(documents)), sort_keys=False, width=100)
    return damaged(text, chance) if chance.random() < 0.3 else text


def damaged(text: str, chance: random.Random) -> str:
    """Return a text with a few of its lines changed, as a slip of an editor would."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        line = lines[at]
        column = chance.randint(0, len(line))
        lines[at] = chance.choice(
            (
                *("", f" {line}", line[1:], line[column:], f"{line}\n{line}", f"- {line}"),
                *(f"{line[:column]}{odd}{line[column:]}" for odd in ODD_MARKS),
            )
        )
    return "\n".join(lines)


def change(document: Json, chance: random.Random, source: Source) -> None:
    """Change one place of a document: mostly by what has the type that is expected there."""
    holder, key = chance.choice(list(_places(document)))
    value = holder[key]
    way = chance.random()
    if isinstance(value, str) and way < 0.45:
        holder[key] = changed_text(value, chance)
    elif way < 0.65:
        holder[key] = copy.deepcopy(chance.choice(ODD_OF[value.__class__] or ODD_VALUES))
    elif way < 0.72:
        holder[key] = copy.deepcopy(chance.choice(ODD_VALUES))
    elif way < 0.84:
        other = copy.deepcopy(chance.choice([*source.policies, *source.resources]))
        same = [h[k] for h, k in _places(other) if k == key]
        holder[key] = chance.choice(same) if same else other
    elif way < 0.9:
        del holder[key]
    elif way < 0.94:
        for _ in range(chance.choice((3, 60, 190, 250))):
            value = {str(key): value} if chance.random() < 0.5 else [value]
        holder[key] = value
    elif isinstance(value, list):
        holder[key] = value * chance.choice((0, 2, 50))
    else:
        holder[key] = [value] * chance.choice((1, 2, 50))


def _places(node: Json) -> Iterator[tuple[Json, Any]]:
    """Yield all places of a document; those of which any value can be read come several times."""
    pending = [(node, 1)]
    while pending:
        one, times = pending.pop()
        for key in list(one) if isinstance(one, dict) else range(len(one)):
            inner = FREE if key in FREE_FIELDS else times
            yield from [(one, key)] * inner
            if isinstance(one[key], (dict, list)):
                pending.append((one[key], inner))


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
