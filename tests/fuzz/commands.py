"""What the fuzzer calls: each command with the files that it reads.

A word that is the name of a file here stands for a document that is made by chance.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from expressions import CEL_KINDS

from kyvsim import __version__

Json = Any

_APPLY = ("apply", "policy.yaml", "-r", "resource.yaml")
_WITH_ALL = (
    *("-e", "exception.yaml", "-f", "values.yaml", "-u", "userinfo.yaml"),
    *("--context-file", "context.yaml"),
)
_QUICK = ("--seconds", "1", "--max-cases", "100")
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "apply": (*_APPLY, "--detailed-results"),
    "apply to json": (*_APPLY, "--output-format", "json"),
    "apply to yaml": (*_APPLY, "--output-format", "yaml"),
    "apply to everything": (
        *(*_APPLY, "-o", "objects", "--output-format", "html=a.html"),
        *("--output-format", "sarif=a.sarif", "--output-format", "junit=a.xml"),
        *("--output-format", "markdown=a.md", "--output-format", "csv=a.csv"),
    ),
    "apply with targets": (
        *(*_APPLY, "--target-resource", "resource.yaml", "--check-idempotent", "--diff"),
    ),
    "apply with all": (*_APPLY, *_WITH_ALL, "--detailed-results"),
    "apply what if": (
        *(*_APPLY, "--as", "jane", "--old-resource", "old-resource.yaml"),
        *("--namespace-labels", "default:a=b"),
    ),
    "apply definitions": (*_APPLY, "--crd-path", "definition.yaml"),
    "apply payloads": ("apply", "policy.yaml", "--json", "payload.json"),
    "apply http": ("apply", "policy.yaml", "--http-payload", "payload.json"),
    "apply envoy": ("apply", "policy.yaml", "--envoy-payload", "payload.json"),
    "baseline": (*_APPLY, "--baseline", "baseline.yaml"),
    "baseline to write": (*_APPLY, "--write-baseline", "written.yaml"),
    "explain": ("explain", "policy.yaml", "-r", "resource.yaml"),
    "explain to html": ("explain", "policy.yaml", "-r", "resource.yaml", "-o", "html"),
    "lint": ("lint", "policy.yaml"),
    "diff": ("diff", "old.yaml", "policy.yaml", "-r", "resource.yaml"),
    "equal": ("equal", "old.yaml", "policy.yaml", "-r", "resource.yaml", *_QUICK),
    "equal to write": ("equal", "old.yaml", "policy.yaml", *_QUICK, "--write-tests", "tests"),
    "migrate": ("migrate", "policy.yaml"),
    "migrate to check": ("migrate", "policy.yaml", "--check", "--seconds", "1", "--output", "made"),
    "simulate": ("simulate", "policy.yaml", "-r", "resource.yaml", "--max-events", "300"),
    "simulate to json": (
        *("simulate", "policy.yaml", "-r", "resource.yaml", "-e", "exception.yaml"),
        *("--object", "old-resource.yaml", "--max-events", "300", "-o", "json"),
    ),
    "simulate a scenario": ("simulate", "scenario.yaml", "--max-events", "300"),
    "lint to fix": ("lint", "policy.yaml", "--fix"),
    "lint to sarif": ("lint", "policy.yaml", "-o", "sarif", "-o", "gitlab=a.json", "--strict"),
    "examples": ("examples", "policy.yaml", "-r", "resource.yaml", "--seconds", "1", "-o", "made"),
    "config": ("config", "--all"),
    "apply as configured": (*_APPLY, "--output-format", "github"),
    "apply in parts": (*_APPLY, "--partials", "parts"),
    "report": ("report", "merge", "parts"),
    "jp": ("jp", "query", "-i", "resource.yaml", "-q", "query"),
    "jp parse": ("jp", "parse", "-f", "query"),
    "jp batch": ("jp", "query", "--batch", "batch"),
    "cel": ("cel", "eval", "--batch", "batch"),
    **{f"cel of {kind}": ("cel", "eval", "--batch", "batch", "--kind", kind) for kind in CEL_KINDS},
    "editor": ("lsp", "policy.yaml", "exception.yaml"),
    "playground": ("playground", "policy.yaml", "resource.yaml", "values.yaml", "exception.yaml"),
    "test": ("test", "kyverno-test.yaml"),
    "test with all": ("test", "all/kyverno-test.yaml", "--coverage"),
    "test to create": ("test", "--create", "policy.yaml", "-r", "resource.yaml", "-o", "new"),
    "chainsaw": ("chainsaw", "chainsaw-test.yaml"),
}
SHARES: Mapping[str, int] = {
    **dict.fromkeys(("jp", "jp parse", "jp batch", "cel"), 100),
    **{f"cel of {kind}": 15 for kind in CEL_KINDS},
    **dict.fromkeys(("report", "config", "editor", "lint", "explain", "test"), 8),
    **dict.fromkeys(("migrate", "migrate to check", "equal to write", "examples"), 1),
    **dict.fromkeys(("simulate to json", "simulate a scenario", "chainsaw"), 2),
}
"""How often a command is asked, of what it costs: 4 where nothing is said."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "config": (".kyvsim.yaml",),
    "github": (".kyvsim.yaml",),
    "parts": ("parts/run.json", "parts/a.jsonl", "parts/end.json"),
    "kyverno-test.yaml": ("policy.yaml", "resource.yaml"),
    "all/kyverno-test.yaml": (
        *("policy.yaml", "resource.yaml", "values.yaml", "userinfo.yaml", "exception.yaml"),
        "context.yaml",
    ),
    "scenario.yaml": ("policy.yaml", "resource.yaml"),
    "chainsaw-test.yaml": ("policy.yaml", "resource.yaml"),
}
"""The files that a document, or another word of a command, leads to."""


class Cast(NamedTuple):
    """The policies and resources of one input, which further documents are about."""

    policies: list[Json]
    resources: list[Json]
    names: list[Json]
    """Of the policies, before anything was changed."""


def companions(cast: Cast) -> dict[str, list[Json]]:
    """Return further documents by the names of their files; lists of the cast are shared."""
    first = cast.resources[0]
    return {
        "policy.yaml": cast.policies,
        "resource.yaml": cast.resources,
        "exception.yaml": [_exception(cast.names), _cel_exception(cast.names)],
        "values.yaml": [_values(cast.names)],
        "userinfo.yaml": [_userinfo()],
        "context.yaml": [_context(first)],
        "definition.yaml": [_definition(first)],
        "payload.json": [first | _request()],
        "baseline.yaml": [_baseline(cast.names, first)],
        "scenario.yaml": [_scenario(first)],
        "kyverno-test.yaml": [_test(cast, "")],
        "all/kyverno-test.yaml": [_test(cast, "../") | _inputs("../")],
        "chainsaw-test.yaml": [_chainsaw(first)],
        ".kyvsim.yaml": [_configuration()],
        **{f"parts/{name}": written for name, written in _parts().items()},
    }


def _configuration() -> Json:
    return {
        "strict": True,
        "apply": {"detailed-results": True, "exception": ["exception.yaml"], "set": "a=b"},
        "test": {"jobs": 2},
        "lint": {"exclude": ["*.txt", "[", "!a"], "output-format": "json"},
    }


def _parts() -> dict[str, list[Json]]:
    """Return a folder of partial reports: a run, what one file of it showed, its end."""
    head = {
        "file": "a.yaml",
        "first": 0,
        "last": 9,
        "stamp": "s",
        "assignment": "a" * 64,
        "cluster": "a.yaml",
        "lines": 10,
        "resources": 1,
        "unmatched": 0,
        "unchecked": 0,
        "counts": [["default", "p", "r", "pass", 1, ""]],
        "objects": [{"apiVersion": "v1", "kind": "Pod"}],
        "remarks": [],
        "problems": [],
        "asked": False,
        "ended": True,
        "refused": False,
        "failed": False,
    }
    empty = "6a19db0eb4d88e8cb068a154f69c8a94038b5cca6d6736e24fdba677e01b7778"
    run = {
        "run": "r",
        "assignment": "a" * 64,
        "everything": False,
        "audit_warn": False,
        "piece_size": 8388608,
        "rules": 6,
        "exceptions": 0,
        "before": [],
        "after": [],
        "left_out": [],
        "files": {"a.yaml": [9, "s"]},
        "version": __version__,
    }
    told = [{"kyvsim": __version__, "format": 2, "head": head}, {"rows": 0, "sha256": empty}]
    return {
        "run.json": [run],
        "a.jsonl": told,
        "end.json": [{"run": "r", "remarks": [], "last": []}],
    }


def _meta(name: str) -> Json:
    return {"name": name, "namespace": "default"}


def _exception(names: list[Json]) -> Json:
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": _meta("classic"),
        "spec": {
            "exceptions": [{"policyName": name, "ruleNames": ["*"]} for name in names],
            "match": {"any": [{"resources": {"kinds": ["*"], "names": ["*"]}}]},
            "conditions": {"any": [{"key": "a", "operator": "Equals", "value": "b"}]},
            "podSecurity": [{"controlName": "Capabilities", "images": ["*"]}],
        },
    }


def _cel_exception(names: list[Json]) -> Json:
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "PolicyException",
        "metadata": _meta("cel"),
        "spec": {
            "policyRefs": [{"name": name, "kind": "ValidatingPolicy"} for name in names],
            "matchConditions": [{"name": "a", "expression": "object.metadata.name != 'a'"}],
            "images": ["*"],
            "allowedValues": ["x"],
            "reportResult": "pass",
        },
    }


def _values(names: list[Json]) -> Json:
    rules = [{"name": "r", "values": {"a": 1}, "foreachValues": {"b": ["c"]}}]
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Values",
        "metadata": {"name": "values"},
        "globalValues": {"request.operation": "UPDATE"},
        "policies": [
            {"name": name, "rules": rules, "resources": [{"name": "x", "values": {"a.b": "c"}}]}
            for name in names
        ],
        "namespaceSelector": [{"name": "default", "labels": {"a": "b"}}],
        "subresources": [
            {
                "subresource": {"name": "pods/eviction", "kind": "Eviction", "version": "v1"},
                "parentResource": {"name": "pods", "kind": "Pod", "version": "v1"},
            }
        ],
    }


def _userinfo() -> Json:
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "UserInfo",
        "metadata": {"name": "user"},
        "roles": ["default:reader"],
        "clusterRoles": ["admin"],
        "userInfo": {"username": "jane", "groups": ["a"], "extra": {"a": ["b"]}, "uid": "u"},
    }


def _context(first: Json) -> Json:
    image = {"image": "nginx", "registry": "r", "manifest": {"a": 1}, "configData": {}}
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Context",
        "metadata": {"name": "context"},
        "spec": {"resources": [first], "images": [image]},
    }


def _request() -> Json:
    http = {"method": "GET", "path": "/x?q=1", "headers": {"a": "b"}, "host": "h", "body": "{}"}
    return {
        "attributes": {
            **http,
            "header": {"a": ["b"]},
            "query": {"q": ["1"]},
            "request": {"http": http},
            "source": {"address": {"socketAddress": {"address": "::1", "portValue": 1}}},
        }
    }


def _definition(first: Json) -> Json:
    api = str(first.get("apiVersion", "v1"))
    group, _, version = api.rpartition("/")
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "x-kubernetes-validations": [{"rule": "self == self", "message": "m"}],
                "properties": {
                    "a": {"type": "string", "pattern": "^a*$", "default": "a", "maxLength": 5},
                    "b": {"type": "integer", "minimum": 1, "enum": [1, 2]},
                    "c": {"type": "array", "items": {"type": "object"}},
                },
            }
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": first.get("kind"), "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def _baseline(names: list[Json], first: Json) -> Json:
    return {
        "apiVersion": "kyvsim/v1",
        "kind": "Baseline",
        "failures": [
            {"policy": name, "rule": "r", "resource": _key(first), "result": "fail", "path": "/a/"}
            for name in names
        ],
    }


def _key(one: Json) -> Json:
    meta = one.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    return {"apiVersion": one.get("apiVersion"), "kind": one.get("kind"), "name": name or "x"}


def _scenario(first: Json) -> Json:
    return {
        "apiVersion": "kyvsim/v1",
        "kind": "Scenario",
        "name": "s",
        "settings": {"horizon": "5s"},
        "policies": "policy.yaml",
        "steps": [
            {"name": "make", "create": "resource.yaml", "as": "jane"},
            {"create": first, "expect": [{"eventually": _key(first), "within": "1s"}]},
            {"wait": "1s"},
            {"patch": {**_key(first), "merge": {"metadata": {"labels": {"a": "b"}}}}},
            {"delete": _key(first)},
        ],
    }


def _test(cast: Cast, lead: str) -> Json:
    found = [_key(one) for one in cast.resources]
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "policies": [f"{lead}policy.yaml"],
        "resources": [f"{lead}resource.yaml"],
        "results": [
            {
                "policy": name,
                "rule": "r",
                "kind": one["kind"],
                "resources": [one["name"]],
                "result": "pass",
            }
            for name in cast.names
            for one in found
        ],
    }


def _inputs(lead: str) -> Json:
    return {
        "variables": f"{lead}values.yaml",
        "userinfo": f"{lead}userinfo.yaml",
        "exceptions": [f"{lead}exception.yaml"],
        "context": f"{lead}context.yaml",
        "targetResources": [f"{lead}resource.yaml"],
    }


def _chainsaw(first: Json) -> Json:
    script = "kubectl get pods -n default -o json | grep x && exit 1; echo $((1 + 2))"
    return {
        "apiVersion": "chainsaw.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "spec": {
            "bindings": [{"name": "a", "value": "(join('-', ['a', 'b']))"}],
            "timeouts": {"assert": "1s"},
            "steps": [
                {
                    "try": [
                        {
                            "apply": {
                                "file": "policy.yaml",
                                "expect": [{"check": {"($error)": None}}],
                            }
                        },
                        {"apply": {"resource": first, "outputs": [{"name": "b", "value": "x"}]}},
                        {"assert": {"resource": _key(first) | {"(length(@))": 5}}},
                        {"error": {"resource": {**first, "~.(items)": {"x": "($a)"}}}},
                        {"script": {"content": script, "check": {"($error)": None}}},
                        {"command": {"entrypoint": "kubectl", "args": ["get", "all"]}},
                        {"patch": {"resource": first}},
                        {"update": {"file": "resource.yaml"}},
                        {"delete": {"ref": _key(first)}},
                        {"sleep": {"duration": "5s"}},
                        {"wait": {**_key(first), "for": {"condition": {"name": "Ready"}}}},
                    ],
                    "catch": [{"events": {}}, {"describe": _key(first)}, {"podLogs": {}}],
                    "finally": [{"get": _key(first)}],
                }
            ],
        },
    }
