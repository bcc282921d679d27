"""Classification of unexpected documents, and of texts that are not YAML."""

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeGuard

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, Path, text_field
from kyvsim.model.diagnostic import Diagnostic, Severity, error_about, error_in, listed
from kyvsim.model.source import Document, Location
from kyvsim.schema.kinds import NATIVE_GROUP, POLICY_GROUPS, RULES_GROUP, native_kinds, policy_names
from kyvsim.yaml.document import YamlError

_HELM_OBJECTS = ("Values", "Release", "Chart", "Capabilities")
_HELM_CALLS = ("include", "define", "template")
_OF_HELM = (
    r"\{\{-?\s*(?:(?:if|with|range|include|template|toYaml|define)\s[^}]*)?"
    rf"(?:\$?\.(?:{'|'.join(_HELM_OBJECTS)})\b|(?:{'|'.join(_HELM_CALLS)})\s+\")"
)
_COMMENT = r"(?m)(?:^|(?<=\s))#.*$"
_HOLDERS = frozenset({"ConfigMap", "Secret"})
_HELD = frozenset({"data", "stringData", "binaryData"})
_IN_HELM = (*(f".{name}" for name in _HELM_OBJECTS), *_HELM_CALLS)
"""Each Helm expression contains one of these; few other texts do."""
_RELATED_GROUPS = frozenset(
    {
        *("cli.kyverno.io", "chainsaw.kyverno.io", "json.kyverno.io"),
        *("reports.kyverno.io", "wgpolicyk8s.io", "openreports.io"),
    }
)
"""The groups of Kyverno's command line, of related programs and of reports, without policies."""
_WRITTEN_BY_KYVERNO = frozenset(
    {
        *("UpdateRequest", "GenerateRequest"),
        *("AdmissionReport", "BackgroundScanReport", "ReportChangeRequest"),
        *("ClusterAdmissionReport", "ClusterBackgroundScanReport", "ClusterReportChangeRequest"),
    }
)
"""Kinds of `kyverno.io`, some of earlier versions, whose objects are written by Kyverno itself."""
RULE_BODIES = frozenset({"validate", "mutate", "generate", "verifyImages"})
OLD_TEST_GROUP = "kyverno.io"
"""The former group of test manifests."""
_SELECTIONS = frozenset({"any", "all", "resources"})
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml")
"""Names of kustomization files, in lower case."""
_CLOSE = 0.8


def helm_template(text: str) -> int:
    """Return the line of the first Helm expression in a text; 0 if there is none."""
    if "{{" not in text or not any(word in text for word in _IN_HELM):
        return 0
    match = re.search(_OF_HELM, text)
    return text.count("\n", 0, match.start()) + 1 if match else 0


_ACTION = (
    r"\{\{-?(?P<content>"
    r"(?:`[^`]*+`|\"(?:\\.|[^\"\\\n])*+\"|[^`\"{}]|\{(?!\{)|\}(?!\}))*+"
    r")\}\}"
)
"""An action of Helm, whose strings may contain the ends of others."""
_OF_KYVERNO = (
    r"\s*(?:(?:request|element\d*|target|images)\.\w|elementIndex\d*\b|serviceAccountName\b)"
)


def unescaped_variables(name: str, text: str) -> Iterator[Diagnostic]:
    """Yield KV024 for each variable of Kyverno in a template, which Helm evaluates itself."""
    lines = [0, *(found.end() for found in re.finditer("\n", text))]
    for found in re.finditer(_ACTION, text):
        if re.match(_OF_KYVERNO, found["content"]):
            line = bisect_right(lines, found.start())
            column = found.start() - lines[line - 1] + 1
            problem = (
                "Helm evaluates this variable of Kyverno, and does not know it: write "
                f"{{{{ `{found[0]}` }}}}"
            )
            yield Diagnostic("KV024", Severity.ERROR, problem, Location(name, line, column))


def without_comments(text: str) -> str:
    """Return a YAML text without comments."""
    return re.sub(_COMMENT, "", text) if "#" in text else text


def templated_path(data: object) -> Path | None:
    """Return the path of the first string with a Helm expression; None if there is none.

    Other templates are common in ConfigMaps, Secrets and multi-line strings.
    """
    pending: list[tuple[Path, object]] = [((), data)]
    while pending:
        path, value = pending.pop()
        if value.__class__ is str:
            if "\n" not in value.strip() and helm_template(value):
                return path
        elif value.__class__ is dict:
            held = _HELD if text_field(value, "kind") in _HOLDERS else frozenset[str]()
            if any(key.__class__ is str and helm_template(key) for key in value):
                return path
            children = [(key, child) for key, child in value.items() if key not in held]
            pending += [((*path, key), child) for key, child in reversed(children)]
        elif value.__class__ is list:
            pending += [((*path, index), item) for index, item in reversed([*enumerate(value)])]
    return None


def error_text(text: str, error: YamlError) -> str:
    """Return the error message for a text that is not YAML, with a hint about tabs."""
    lines = text.split("\n")
    line = lines[error.line - 1] if 0 < error.line <= len(lines) else ""
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent or line[max(error.column - 1, 0) :].startswith("\t"):
        return f"{error.message}: found a tab, but YAML is indented with spaces"
    return error.message


def is_mapping(data: object) -> TypeGuard[JsonMap]:
    """Return whether data is a mapping."""
    return data.__class__ is dict


def looks_like_policy(data: object) -> bool:
    """Return whether a document is, or was meant to be, a policy or an exception.

    It is if it has one of Kyverno's groups, or rules like those of policies.
    """
    if is_related(data):
        return False
    if _means_a_mapping(data):
        return any(name in data for name in ("kyverno.io/", *policy_names(), *native_kinds()))
    group, kind = _group(data), text_field(data, "kind")
    if group == "kyverno.io" or group.endswith(".kyverno.io"):
        return True
    if group == NATIVE_GROUP:
        return kind in native_kinds()
    if kind in policy_names() and (not group or may_mean_policy_group(group)):
        return True
    return _has_rules(data)


def is_related(data: object) -> bool:
    """Return whether a document belongs to a related program, or is written by Kyverno.

    Some kinds have the same names as Kyverno's, such as kyverno-json's ValidatingPolicy.
    """
    group, kind = _group(data), text_field(data, "kind")
    return group in _RELATED_GROUPS or (group == RULES_GROUP and kind in _WRITTEN_BY_KYVERNO)


def looks_like_exception(data: object) -> bool:
    """Return whether a document is, or was meant to be, a policy exception."""
    is_one = text_field(data, "kind") == "PolicyException"
    is_one |= _means_a_mapping(data) and "PolicyException" in data
    return is_one or _in_spec(data, "exceptions").__class__ is list


def looks_like_object(data: object) -> bool:
    """Return whether a document is, or was meant to be, an object or a list of objects."""
    if data.__class__ is list:
        return any(looks_like_object(item) for item in data)
    if not is_mapping(data):
        return _means_a_mapping(data)
    typed = text_field(data, "apiVersion") and not is_chart(data)
    return bool(typed) or "kind" in data or is_mapping(data.get("metadata"))


def _means_a_mapping(data: object) -> TypeGuard[str]:
    """Return whether a string was meant to be an object.

    YAML parses `kind:Pod` without a space, and JSON after a comment, as a string.
    """
    return data.__class__ is str and "apiVersion" in data and "kind" in data


def is_test_manifest(data: object) -> bool:
    """Return whether data is a manifest of `kyverno test`, in the current or an older format."""
    group, kind = text_field(data, "apiVersion").partition("/")[0], text_field(data, "kind")
    if kind:
        return kind == "Test" and group in {"", "cli.kyverno.io", OLD_TEST_GROUP}
    if not is_mapping(data):
        return False
    return data.get("results").__class__ is list and data.get("policies").__class__ is list


def is_definition(data: object) -> bool:
    """Return whether a document is a CustomResourceDefinition."""
    return text_field(data, "kind") == "CustomResourceDefinition"


def is_chart(data: object) -> bool:
    """Return whether a document is a Chart.yaml."""
    if not is_mapping(data) or "kind" in data:
        return False
    return text_field(data, "apiVersion") in {"v1", "v2"} and {"name", "version"} <= data.keys()


def is_kustomization(document: Document) -> bool:
    """Return whether a document is a kustomization."""
    if os.path.basename(document.file).lower() in KUSTOMIZATIONS:
        return True
    return _group(document.data) == "kustomize.config.k8s.io"


def resource_files(documents: Iterable[Document]) -> Iterator[tuple[Document, frozenset[str]]]:
    """Yield each kustomization with the absolute paths of its resources, also those of its bases.

    upstream: kustomize api/types/kustomization.go
    """
    folders = {
        os.path.dirname(os.path.abspath(one.file)): one
        for one in documents
        if is_kustomization(one) and is_mapping(one.data)
    }
    for folder, kustomization in folders.items():
        found, pending = set[str](), [folder]
        for place in pending:
            for field in ("resources", "bases"):
                entries = folders[place].data.get(field)
                for entry in entries if isinstance(entries, list) else ():
                    path = os.path.normpath(os.path.join(place, str(entry)))
                    if path not in folders:
                        found.add(path)
                    elif path not in pending:
                        pending.append(path)
        yield kustomization, frozenset(found)


def patch_files(documents: Iterable[Document]) -> frozenset[str]:
    """Return the absolute paths of the files that kustomizations among documents name as patches.

    upstream: kustomize api/types/kustomization.go
    """
    found: set[str] = set()
    for document in filter(is_kustomization, documents):
        folder = os.path.dirname(os.path.abspath(document.file))
        for field in ("patches", "patchesJson6902", "patchesStrategicMerge"):
            entries = document.data.get(field)
            for entry in entries if isinstance(entries, list) else ():
                path = entry.get("path") if isinstance(entry, dict) else entry
                if isinstance(path, str) and "\n" not in path:
                    found.add(os.path.normpath(os.path.join(folder, path)))
    return frozenset(found)


def is_beside_kustomization(file: str) -> bool:
    """Return whether the folder of a file, or its parent, contains a kustomization."""
    if not os.path.isfile(file):
        return False
    folder = os.path.dirname(os.path.abspath(file))
    return any(
        os.path.isfile(os.path.join(parent, name))
        for parent in (folder, os.path.dirname(folder))
        for name in KUSTOMIZATIONS
    )


def description_of(document: Document) -> str:
    """Return a short description of a document: its kind, or its structure."""
    data = document.data
    kind, version = text_field(data, "kind"), text_field(data, "apiVersion")
    if is_kustomization(document):
        return "a kustomization"
    if is_chart(data):
        return "a Chart.yaml of a Helm chart"
    if kind:
        return f"{kind} ({version})" if version else kind
    if is_mapping(data):
        return "a mapping without `kind`"
    return "a list" if data.__class__ is list else "a string or number"


def _group(data: object) -> str:
    version = text_field(data, "apiVersion")
    return version.partition("/")[0] if "/" in version else ""


def may_mean_policy_group(group: str) -> bool:
    """Return whether a group is, or was probably meant to be, one of policies.

    Other programs have similar kinds, such as kubewarden.io's ClusterAdmissionPolicy.
    """
    every = (*POLICY_GROUPS, NATIVE_GROUP)
    return any(SequenceMatcher(None, group.lower(), known).ratio() >= _CLOSE for known in every)


def _has_rules(data: object) -> bool:
    """Return whether a document has rules like those of Kyverno's policies."""
    rules = _in_spec(data, "rules")
    for rule in rules if rules.__class__ is list else ():
        if is_mapping(rule):
            match = rule.get("match")
            selects = is_mapping(match) and not _SELECTIONS.isdisjoint(match)
            if selects or not RULE_BODIES.isdisjoint(rule):
                return True
    return False


def _in_spec(data: object, name: str) -> Json:
    if not is_mapping(data):
        return None
    spec: Json = data.get("spec")
    return spec.get(name) if is_mapping(spec) else None


_WRITTEN = "such objects are written by Kyverno"
_REPORT = "it is a report, not a policy"
_GATEKEEPER = "it belongs to Gatekeeper, which kyvsim does not run"
_SCENARIO = "a scenario of `kyvsim simulate` has `apiVersion: kyvsim/v1` and `kind: Scenario`"
_READERS = (
    ("cli.kyverno.io/", "Test", "`kyvsim test` runs it"),
    ("cli.kyverno.io/", "Values", "pass it with --values-file"),
    ("cli.kyverno.io/", "UserInfo", "pass it with --userinfo"),
    ("cli.kyverno.io/", "Context", "pass it with --context-file"),
    ("cli.kyverno.io/", "", "it belongs to test manifests, which `kyvsim test` runs"),
    ("chainsaw.kyverno.io/", "Test", "`kyvsim chainsaw` runs it"),
    ("chainsaw.kyverno.io/", "", "it belongs to chainsaw tests, which `kyvsim chainsaw` runs"),
    ("json.kyverno.io/", "", "it belongs to kyverno-json, which kyvsim does not run"),
    ("constraints.gatekeeper.sh/", "", _GATEKEEPER),
    ("templates.gatekeeper.sh/", "", _GATEKEEPER),
    ("reports.kyverno.io/", "", _WRITTEN),
    ("wgpolicyk8s.io/", "", _REPORT),
    ("openreports.io/", "", _REPORT),
    *(("kyverno.io/", kind, _WRITTEN) for kind in sorted(_WRITTEN_BY_KYVERNO)),
    ("kyvsim/", "Scenario", "`kyvsim simulate` runs it"),
    ("", "Scenario", _SCENARIO),
)
"""Documents of tools: prefix of apiVersion, kind ("" for all others), and the text about them."""


def advice_for(document: Document) -> str:
    """Return `: ADVICE` for a document in the wrong place, or ""."""
    data = document.data
    folder = os.path.dirname(document.file) or os.curdir
    if is_kustomization(document):
        return f": pass the output of `kubectl kustomize {folder}`"
    if is_chart(data):
        return f": pass the output of `helm template {folder}`"
    if is_definition(data):
        return ": pass it with --crd-path"
    if not {"apiVersion", "kind"} & (data.keys() if is_mapping(data) else {"kind"}):
        # Values files of Helm charts have names like this.
        is_named = os.path.basename(document.file).lower().startswith("values")
        if is_mapping(data) and {"steps", "policies"} <= data.keys():
            return f": {_SCENARIO}"
        is_values = is_named and is_mapping(data) and not _has_rules(data)
        return ": it looks like a values file of a Helm chart" if is_values else ""
    does = reading_command(data)
    return f": {does}" if does else ""


def reading_command(data: object) -> str:
    """Return which command reads a tool's document, or why none does; "" for others."""
    version, kind = text_field(data, "apiVersion"), text_field(data, "kind")
    commands = (
        does for start, of, does in _READERS if of in {"", kind} and version.startswith(start)
    )
    return next(commands, "")


# Codes: KV026 no policy in the inputs, KV029 inputs that seem to be swapped.

_EXCHANGED = (
    "policies and resources seem to be swapped: pass policies as arguments and resources with -r"
)


def misplaced_inputs(
    policies: Iterable[Document], resources: Iterable[Document], empty_folders: Sequence[str] = ()
) -> tuple[Diagnostic, ...]:
    """Return a warning if the given policies contain resources.

    `empty_folders` were given for policies and do not contain any.
    """
    named = tuple(policies)
    others = (one for one in named if not looks_like_policy(one.data) and not is_related(one.data))
    stray = next((one.locate(()) for one in others if looks_like_object(one.data)), None)
    exchanged = not any(looks_like_policy(one.data) for one in named) and any(
        looks_like_policy(one.data) for one in resources
    )
    if stray is None and exchanged and empty_folders:
        stray = Location(empty_folders[0])
    if stray is None:
        return ()
    text = "resources among the policies: each path of resources needs its own --resource"
    return (Diagnostic("KV029", Severity.WARNING, _EXCHANGED if exchanged else text, stray),)


def only_policies(resources: Sequence[KubernetesObject], path: str) -> Diagnostic | None:
    """Return an error if all resources are policies, or documents of related programs.

    For runs in which no rule matched; `path` is the first path of resources.
    """
    if not resources or not all(looks_like_policy(obj) or is_related(obj) for obj in resources):
        return None
    kinds = listed({text_field(obj, "kind") for obj in resources})
    advice = "pass policies as arguments and resources with --resource"
    if not any(map(looks_like_policy, resources)):
        advice = next(filter(None, map(reading_command, resources)), advice)
    text = f"no rule matched, and the only resources are {kinds}: {advice}"
    return error_about(path, "KV029", text)


def without_policies(documents: Sequence[Document]) -> Diagnostic | None:
    """Return an error that no document is a policy."""
    if not documents:
        return None
    kinds = listed({text_field(document.data, "kind") for document in documents})
    return error_in(documents[0], "KV026", f"no policy found, only {kinds}")
