"""Values files, `--set` options, users, contexts and baselines."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, ObjectKey, text_field
from kyvsim.load.documents import AS_RESOURCES, AS_WRITTEN, STRICT_FLOATS, read_documents
from kyvsim.load.files import Source
from kyvsim.load.recognise import advice_for, description_of
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.model.diagnostic import Diagnostic, Severity, error_in
from kyvsim.model.ports import ContextData
from kyvsim.model.request import UserInfo
from kyvsim.model.result import Baseline, BaselineEntry, KnownFailure
from kyvsim.model.source import Document
from kyvsim.model.values import (
    Attestation,
    CallAnswer,
    GlobalData,
    ImageData,
    KindKey,
    Mocks,
    Signature,
    Subresource,
    Values,
    ValuesEntry,
)
from kyvsim.schema.node import SchemaNode


def load_image_data(section: JsonMap) -> Mapping[str, ImageData]:
    """Return the images of a validated section, by reference; tagged ones also by digest."""
    images = {name: _image(entry) for name, entry in (section or {}).items()}
    pinned = {}
    for name, image in images.items():
        repository, _, last = name.partition("@")[0].rpartition("/")
        if image.digest:
            pinned[f"{repository}/{last.partition(':')[0]}@{image.digest}"] = image
    return MappingProxyType({**pinned, **images})


def _image(entry: JsonMap) -> ImageData:
    signatures, attestations = entry.get("signatures"), entry.get("attestations")
    if attestations is not None:
        attestations = tuple(
            Attestation(
                attestation["type"],
                attestation.get("predicate"),
                _signatures(attestation.get("signatures") or ()),
            )
            for attestation in attestations
        )
    return ImageData(
        digest=entry.get("digest") or "",
        signatures=None if signatures is None else _signatures(signatures),
        attestations=attestations,
        manifest=entry.get("manifest"),
        manifest_list=entry.get("manifestList"),
        config=entry.get("configData"),
    )


def _signatures(entries: Sequence[JsonMap]) -> tuple[Signature, ...]:
    return tuple(Signature(**entry) for entry in entries)


# Codes: KV033 an unusable entry, KV034 a second entry for the same call or name.
# upstream: cmd/cli/kubectl-kyverno/apis/v1alpha1/test.go and store/gctx_load.go, gctx_resolve.go


_METHODS = frozenset({"", "GET", "POST"})
_STATUSES = range(100, 600)
_DEFAULT_STATUS = 200


def load_mocks(document: Document) -> tuple[Mocks, tuple[Diagnostic, ...]]:
    """Return the mocks of a validated document, and diagnostics; files are relative to it."""
    remarks: list[Diagnostic] = []
    calls: dict[tuple[str, str], CallAnswer] = {}
    for index, entry in enumerate(document.data.get("apiCallResponses") or ()):
        path = ("apiCallResponses", index)
        key, answer, problem = _call(entry)
        if key in calls:
            text = f"duplicate answer to {' '.join(filter(None, key))}"
            remarks.append(error_in(document, "KV034", text, path))
        elif problem:
            remarks.append(error_in(document, "KV033", problem, path))
        calls.setdefault(key, answer)
    data: dict[str, GlobalData] = {}
    for index, entry in enumerate(document.data.get("globalContextEntries") or ()):
        name = entry["name"].strip()
        if name in data:
            text = f"duplicate global context entry `{name}`"
            remarks.append(error_in(document, "KV034", text, ("globalContextEntries", index)))
        content, problems = _content(entry, document)
        remarks += problems
        projections = tuple((one["name"], one["path"]) for one in entry.get("projections") or ())
        data.setdefault(name, GlobalData(content, entry.get("fieldPath") or "", projections))
    return Mocks(calls, data, load_image_data(document.data.get("images"))), tuple(remarks)


def _call(entry: JsonMap) -> tuple[tuple[str, str], CallAnswer, str]:
    """Return the key of a response, the response, and an error or ""."""
    url = (entry.get("url") or entry.get("urlPath") or "").strip()
    method = (entry.get("method") or "").strip().upper()
    response = entry["response"]
    status = int(response.get("statusCode") or _DEFAULT_STATUS)
    problem = ""
    if method not in _METHODS:
        problem = f"`method` must be GET or POST, not `{method}`"
    elif status not in _STATUSES:
        problem = f"`statusCode` must be between 100 and 599, not {status}"
    return (method, url), CallAnswer(status, response["body"]), problem


def _content(entry: JsonMap, document: Document) -> tuple[Json, tuple[Diagnostic, ...]]:
    if "data" in entry:
        return entry["data"], ()
    if "resources" in entry:
        return entry["resources"], ()
    documents, remarks = read_documents(files_of(entry, document), None, AS_RESOURCES)
    return [document.data for document in documents if document.data], remarks


def files_of(entry: JsonMap, document: Document) -> Iterator[str]:
    """Yield the resource files of a global context entry."""
    folder = os.path.dirname(document.file)
    for name in entry.get("resourceFiles") or ():
        yield os.path.join(folder, name)


# Codes: KV031 a file without apiVersion and kind, KV032 a subresource with a bad name, KV036 a
# `--set` option without effect, KV079 a file of another kind.


@cache
def cli_schemas() -> Mapping[str, SchemaNode]:
    """Return the schemas of the command line's files, by kind; read on first use."""
    return load_schemas("cli.json")


def load_values(document: Document) -> tuple[Values | None, tuple[Diagnostic, ...]]:
    """Return the values of a file, or None and errors.

    upstream reads all numbers as float64: cmd/cli/kubectl-kyverno/values
    """
    data, remarks = check_cli_document(document, "Values")
    if remarks:
        return None, remarks
    subresources, remarks = _subresources(data, document)
    mocks, problems = load_mocks(document._replace(data=data))
    if remarks or problems:
        return None, (*remarks, *problems)
    resource_values: dict[tuple[str, str], Mapping[str, object]] = {}
    for policy, entry in _entries(data, "resources"):
        key = (policy, entry["name"])
        resource_values[key] = {**resource_values.get(key, {}), **entry.get("values", {})}
    # The first element of lists under `foreachValues` is used. upstream:
    # cmd/cli/kubectl-kyverno/store
    rule_values: dict[tuple[str, str], Mapping[str, object]] = {}
    for policy, entry in _entries(data, "rules"):
        lists = entry.get("foreachValues", {})
        first = {name: items[0] for name, items in lists.items() if items}
        for prefix in ("", "autogen-", "autogen-cronjob-"):
            rule_values.setdefault(
                (policy, prefix + entry["name"]), {**entry.get("values", {}), **first}
            )
    namespaces = {
        entry["name"]: {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": entry["name"], "labels": entry.get("labels", {})},
        }
        for entry in data.get("namespaceSelector", ())
    }
    for namespace in data.get("namespaces", ()):
        namespaces[namespace["metadata"]["name"]] = namespace
    values = Values(
        global_values=data.get("globalValues", {}),
        resource_values=MappingProxyType(resource_values),
        rule_values=MappingProxyType(rule_values),
        namespaces=MappingProxyType(namespaces),
        subresources=subresources,
        mocks=mocks,
        entries=tuple(_named(data)),
        document=document,
    )
    return values, ()


def files_of_values(path: str) -> Iterator[str]:
    """Yield the files that a valid values file refers to."""
    for document in read_documents((path,), None, STRICT_FLOATS)[0]:
        data, remarks = check_cli_document(document, "Values")
        for entry in () if remarks else data.get("globalContextEntries") or ():
            yield from files_of(entry, document)


_OF_EVERY_KIND = frozenset({"apiVersion", "kind", "metadata"})


def check_cli_document(
    document: Document, kind: str, *, needs_kind: bool = True
) -> tuple[Json, tuple[Diagnostic, ...]]:
    """Return the data of a document of one of the command line's kinds, and errors.

    upstream ignores the `kind` and unknown fields, so that a file of another kind has no effect.
    """
    data = document.data
    is_typed = bool(text_field(data, "apiVersion") and text_field(data, "kind"))
    if needs_kind and data.__class__ is dict and not is_typed:
        text = (
            f"a file of kind {kind} needs `apiVersion: cli.kyverno.io/v1alpha1` and `kind: {kind}`:"
            " without them it uses a deprecated schema"
        )
        return data, (error_in(document, "KV031", text),)
    filled, problems = check(cli_schemas()[kind], data)
    has_content = data.__class__ is dict and bool(data.keys() - _OF_EVERY_KIND)
    if is_typed and text_field(data, "kind") != kind and (problems or not has_content):
        text = f"expected a file of kind {kind}, found {description_of(document)}"
        text += advice_for(document)
        return data, (error_in(document, "KV079", text),)
    return filled, diagnostics(document, problems)


def parse_settings(settings: Iterable[str]) -> tuple[Mapping[str, str], tuple[Diagnostic, ...]]:
    """Return the values of `name=value` options, which may be separated by commas.

    The first value of a name is used. Options that upstream ignores silently are reported.

    upstream: cmd/cli/kubectl-kyverno/variables/parse.go
    """
    overrides: dict[str, str] = {}
    remarks = []
    for setting in (part for text in settings for part in text.split(",")):
        name, separator, value = (part.strip() for part in setting.partition("="))
        if not (name and separator and value) or "=" in value:
            remarks.append(_ignored(setting, "it is not of the form `name=value`"))
        elif "request.object." in name:
            remarks.append(_ignored(setting, "the resource itself cannot be set"))
        elif name in overrides:
            remarks.append(_ignored(setting, f"`{name}` is already set"))
        else:
            overrides[name] = value
    return MappingProxyType(overrides), tuple(remarks)


def _ignored(setting: str, reason: str) -> Diagnostic:
    return Diagnostic("KV036", Severity.WARNING, f"`--set {setting}` is ignored: {reason}")


def _named(data: JsonMap) -> Iterator[ValuesEntry]:
    """Yield the names of policies, rules and resources."""
    for index, policy in enumerate(data.get("policies", ())):
        path = ("policies", index)
        yield ValuesEntry("policy", policy["name"], policy["name"], (*path, "name"))
        for member, kind in (("rules", "rule"), ("resources", "resource")):
            for number, entry in enumerate(policy.get(member, ())):
                place = (*path, member, number, "name")
                yield ValuesEntry(kind, policy["name"], entry["name"], place)


def _entries(data: JsonMap, member: str) -> Iterator[tuple[str, JsonMap]]:
    for policy in data.get("policies", ()):
        for entry in policy.get(member, ()):
            yield policy["name"], entry


def _subresources(
    data: JsonMap, document: Document
) -> tuple[tuple[Subresource, ...], tuple[Diagnostic, ...]]:
    subresources = []
    remarks = []
    for index, entry in enumerate(data.get("subresources", ())):
        name = text_field(entry["subresource"], "name")
        parts = name.split("/")
        if len(parts) < 2:
            text = f"subresource `{name}` must be named `resource/subresource`"
            path = ("subresources", index, "subresource")
            remarks.append(error_in(document, "KV032", text, path))
            continue
        own, parent = (
            KindKey(*(text_field(entry[holder], field) for field in ("group", "version", "kind")))
            for holder in ("subresource", "parentResource")
        )
        subresources.append(Subresource(parts[1], own, parent))
    return tuple(subresources), tuple(remarks)


_SERVICE_ACCOUNT = "system:serviceaccount:"


def load_userinfo(document: Document) -> tuple[UserInfo | None, tuple[Diagnostic, ...]]:
    """Return the user of a UserInfo file, or None and errors.

    upstream: cmd/cli/kubectl-kyverno/userinfo
    """
    data, remarks = check_cli_document(document, "UserInfo")
    if remarks:
        return None, remarks
    user = data.get("userInfo", {})
    userinfo = UserInfo(
        username=text_field(user, "username"),
        uid=text_field(user, "uid"),
        groups=tuple(user.get("groups", ())),
        extra=user.get("extra"),
        roles=tuple(data.get("roles", ())),
        cluster_roles=tuple(data.get("clusterRoles", ())),
    )
    return userinfo, ()


def named_user(name: str, groups: Sequence[str] = ()) -> UserInfo:
    """Return a user with this name; service accounts have their usual groups."""
    own: tuple[str, ...] = ()
    if name.startswith(_SERVICE_ACCOUNT):
        namespace = name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        own = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return UserInfo(name, groups=(*groups, *own, "system:authenticated"))


# Codes: KV090 a document of another kind.


def read_context_file(
    path: str | Source, stdin: bytes | None = None
) -> tuple[ContextData, tuple[Diagnostic, ...]]:
    """Return the data of a Context file; empty if `path` is empty."""
    if not path:
        return ContextData(), ()
    documents, remarks = read_documents((path,), stdin, AS_WRITTEN)
    reported = list(remarks)
    resources: list[KubernetesObject] = []
    images: dict[str, object] = {}
    for document in documents:
        if text_field(document.data, "kind") != "Context":
            message = "a context file must have a document of kind `Context`"
            reported.append(error_in(document, "KV090", message))
            continue
        data, problems = check(cli_schemas()["Context"], document.data)
        reported += diagnostics(document, problems)
        spec = {} if problems else data.get("spec") or {}
        resources += spec.get("resources") or ()
        images |= {text_field(image, "image"): image for image in spec.get("images") or ()}
    return ContextData(tuple(resources), images), tuple(reported)


# Baseline files: the known failures of a run.
# Codes: KV091 not a baseline, or one of another version, KV092 a duplicate failure.

BASELINE_VERSION = "kyvsim/v1"
BASELINE_KIND = "Baseline"


@cache
def baseline_schema() -> SchemaNode:
    """Return the schema of baseline files; read on first use."""
    schemas: Mapping[str, SchemaNode] = load_schemas("baseline.json")
    return schemas[f"{BASELINE_VERSION}/{BASELINE_KIND}"]


def load_baseline(document: Document) -> tuple[Baseline | None, tuple[Diagnostic, ...]]:
    """Return the baseline of a file, or None and an error."""
    other = _version_error(document)
    if other:
        return None, (error_in(document, "KV091", other),)
    data, problems = check(baseline_schema(), document.data)
    if problems:
        # The same mistake is often in all entries, and makes all unusable.
        return None, diagnostics(document, problems[:1])
    entries: dict[KnownFailure, BaselineEntry] = {}
    for index, entry in enumerate(data["failures"]):
        names = ("apiVersion", "kind", "namespace", "name")
        path, place = text_field(entry, "path"), document.locate(("failures", index))
        failure = KnownFailure(
            policy=entry["policy"],
            rule=text_field(entry, "rule"),
            object=ObjectKey(*(text_field(entry["resource"], name) for name in names)),
            result=entry["result"],
            path=path,
            message="" if path else text_field(entry, "message"),
        )
        if failure in entries:
            line = entries[failure].place.line
            text = f"duplicate of the entry in line {line}: use one entry with a `count`"
            return None, (Diagnostic("KV092", Severity.ERROR, text, place),)
        entries[failure] = BaselineEntry(int(entry.get("count", 1)), place)
    return Baseline(document.file, MappingProxyType(entries)), ()


def _version_error(document: Document) -> str:
    """Return why a document is not a baseline of this version; "" if it is."""
    data = document.data
    if text_field(data, "kind") != BASELINE_KIND:
        return f"expected a baseline, found {description_of(document)}"
    version = text_field(data, "apiVersion")
    if version == BASELINE_VERSION:
        return ""
    named = f"version `{version}`" if version else "no version"
    advice = "`kyvsim apply --write-baseline FILE` rewrites it"
    return f"this baseline has {named}, but kyvsim reads `{BASELINE_VERSION}`: {advice}"
