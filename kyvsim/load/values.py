"""Values files, and `--set` options.

Codes: KV031 a file without apiVersion and kind, KV032 a subresource with a bad name, KV036 a
`--set` option that counts for nothing, KV079 a file of another kind.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from kyvsim.kube.objects import Json, text_field
from kyvsim.load.documents import STRICT_FLOATS, read_documents
from kyvsim.load.mocks import files_of, load_mocks
from kyvsim.load.recognise import way_out, what_it_is
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document
from kyvsim.model.values import KindKey, Subresource, Values, ValuesEntry
from kyvsim.schema.node import Node


@cache
def cli_schemas() -> Mapping[str, Node]:
    """Return the schemas of the files that the command line reads, by kind; read on first use."""
    return load_schemas("cli.json")


def load_values(document: Document) -> tuple[Values | None, tuple[Diagnostic, ...]]:
    """Return what a values file says, or None and what is wrong with it.

    Upstream reads every number here as float64, so the document should be read that way too.
    upstream: cmd/cli/kubectl-kyverno/values
    """
    data, remarks = check_cli_document(document, "Values")
    if remarks:
        return None, remarks
    subresources, remarks = _subresources(data, document)
    mocks, problems = load_mocks(document._replace(data=data))
    if remarks or problems:
        return None, (*remarks, *problems)
    values = Values(
        global_values=data.get("globalValues", {}),
        resource_values=_resource_values(data),
        rule_values=_rule_values(data),
        namespaces=_namespaces(data),
        subresources=subresources,
        mocks=mocks,
        entries=tuple(_named(data)),
        document=document,
    )
    return values, ()


def files_of_values(path: str) -> Iterator[str]:
    """Yield the files that a values file names; none of one that cannot be used."""
    for document in read_documents((path,), None, STRICT_FLOATS)[0]:
        data, remarks = check_cli_document(document, "Values")
        for entry in () if remarks else data.get("globalContextEntries") or ():
            yield from files_of(entry, document)


def check_cli_document(document: Document, kind: str) -> tuple[Json, tuple[Diagnostic, ...]]:
    """Return the data of a Values or UserInfo document, and what is wrong with it."""
    data = document.data
    if data.__class__ is dict and not (text_field(data, "apiVersion") and text_field(data, "kind")):
        text = (
            f"a file of kind {kind} needs `apiVersion: cli.kyverno.io/v1alpha1` and `kind: {kind}`:"
            " without them it uses a deprecated schema"
        )
        return data, (Diagnostic("KV031", Severity.ERROR, text, document.locate(())),)
    filled, problems = check(cli_schemas()[kind], data)
    if problems and text_field(data, "kind") != kind:
        text = f"a file of kind {kind} is wanted here, and this is {what_it_is(document)}"
        text += way_out(document)
        return data, (Diagnostic("KV079", Severity.ERROR, text, document.locate(())),)
    return filled, diagnostics(document, problems)


def parse_settings(settings: Iterable[str]) -> tuple[Mapping[str, str], tuple[Diagnostic, ...]]:
    """Return the values of `name=value` options, each perhaps several with commas between them.

    The first of two values for a name wins. What upstream ignores without a word is ignored with
    a warning here: options of another form, and names with `request.object.` in them.
    upstream: cmd/cli/kubectl-kyverno/variables/parse.go
    """
    found: dict[str, str] = {}
    remarks = []
    for setting in (part for text in settings for part in text.split(",")):
        name, separator, value = (part.strip() for part in setting.partition("="))
        if not (name and separator and value) or "=" in value:
            remarks.append(_ignored(setting, "it is not of the form `name=value`"))
        elif "request.object." in name:
            remarks.append(_ignored(setting, "the resource itself cannot be set"))
        elif name in found:
            remarks.append(_ignored(setting, f"`{name}` was set before"))
        else:
            found[name] = value
    return MappingProxyType(found), tuple(remarks)


def _ignored(setting: str, reason: str) -> Diagnostic:
    return Diagnostic("KV036", Severity.WARNING, f"`--set {setting}` is ignored: {reason}")


def _named(data: Json) -> Iterator[ValuesEntry]:
    """Yield every name of a policy, and of a rule or resource below it."""
    for index, policy in enumerate(data.get("policies", ())):
        path = ("policies", index)
        yield ValuesEntry("policy", policy["name"], policy["name"], (*path, "name"))
        for member, kind in (("rules", "rule"), ("resources", "resource")):
            for number, entry in enumerate(policy.get(member, ())):
                place = (*path, member, number, "name")
                yield ValuesEntry(kind, policy["name"], entry["name"], place)


def _entries(data: Json, member: str) -> Iterator[tuple[str, Json]]:
    """Yield policy name and entry of each policy's `member` list."""
    for policy in data.get("policies", ()):
        for entry in policy.get(member, ()):
            yield policy["name"], entry


def _resource_values(data: Json) -> Mapping[tuple[str, str], Mapping[str, Json]]:
    found: dict[tuple[str, str], Mapping[str, Json]] = {}
    for policy, entry in _entries(data, "resources"):
        key = (policy, entry["name"])
        found[key] = {**found.get(key, {}), **entry.get("values", {})}
    return MappingProxyType(found)


def _rule_values(data: Json) -> Mapping[tuple[str, str], Mapping[str, Json]]:
    """Return the values of rules and of those derived from them; the first entry for a name wins.

    Of a list under `foreachValues` the first element counts.
    upstream: cmd/cli/kubectl-kyverno/store
    """
    found: dict[tuple[str, str], Mapping[str, Json]] = {}
    for policy, entry in _entries(data, "rules"):
        lists = entry.get("foreachValues", {})
        first = {name: items[0] for name, items in lists.items() if items}
        for prefix in ("", "autogen-", "autogen-cronjob-"):
            found.setdefault((policy, prefix + entry["name"]), {**entry.get("values", {}), **first})
    return MappingProxyType(found)


def _namespaces(data: Json) -> Mapping[str, Mapping[str, Json]]:
    """Return Namespace objects by name; those under `namespaces` win over mere labels."""
    found = {
        entry["name"]: {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": entry["name"], "labels": entry.get("labels", {})},
        }
        for entry in data.get("namespaceSelector", ())
    }
    for namespace in data.get("namespaces", ()):
        found[namespace["metadata"]["name"]] = namespace
    return MappingProxyType(found)


def _subresources(
    data: Json, document: Document
) -> tuple[tuple[Subresource, ...], tuple[Diagnostic, ...]]:
    found = []
    remarks = []
    for index, entry in enumerate(data.get("subresources", ())):
        name = text_field(entry["subresource"], "name")
        parts = name.split("/")
        if len(parts) < 2:
            text = f"subresource `{name}` must be named `resource/subresource`"
            path = ("subresources", index, "subresource")
            remarks.append(Diagnostic("KV032", Severity.ERROR, text, document.locate(path)))
            continue
        found.append(
            Subresource(parts[1], _kind(entry["subresource"]), _kind(entry["parentResource"]))
        )
    return tuple(found), tuple(remarks)


def _kind(data: Json) -> KindKey:
    return KindKey(text_field(data, "group"), text_field(data, "version"), text_field(data, "kind"))
