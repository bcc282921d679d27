"""The inputs of test manifests, read from files and compiled.

Codes: KV043 a duplicate resource, KV046 a namespace that is missing in the cluster of a test.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kyvsim.api.inputs import (
    deprecated_kinds,
    objects_of,
    payloads_of,
    read_one,
    read_strictly,
    shared_data_apart,
    unignored,
)
from kyvsim.api.refused_objects import refused_objects
from kyvsim.api.system import own_system
from kyvsim.engine.compile import CompileOptions, PolicySet
from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.kubernetes.objects import KubernetesObject, metadata, object_key, text_field
from kyvsim.languages import READERS, compile_policies, derived_rules, read_binding
from kyvsim.linting.runs import LintInputs, run_warnings
from kyvsim.load.documents import AS_RESOURCES, AS_WRITTEN, STRICT, read_documents
from kyvsim.load.fingerprints import fingerprint
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import load_bindings, load_exceptions, load_policies
from kyvsim.load.resources import (
    EXCEPTIONS,
    POLICIES,
    InputKind,
    load_definitions,
    load_resources,
    unreviewed,
)
from kyvsim.load.suite_manifest import named_files
from kyvsim.load.values import (
    check_cli_document,
    load_mocks,
    load_userinfo,
    load_values,
    read_context_file,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, has_errors, without_left_out
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.request import Payload, PayloadMode
from kyvsim.model.source import Document, Location
from kyvsim.model.suite import ExpectedRow, Fingerprint, Manifest
from kyvsim.model.tracing import Tracer
from kyvsim.model.values import NO_MOCKS, Mocks, Values
from kyvsim.suite.compare import Files
from kyvsim.suite.run import SuiteInputs, missing_namespaces, without_duplicates

_Read = TypeVar("_Read")


class ManifestInputs(NamedTuple):
    """The inputs of a manifest."""

    suite: SuiteInputs
    files: Files
    refused: dict[str, str]
    """Names of invalid policies, with reasons."""
    unread: dict[str, str]
    """Names of policies that could not be read or are of an unexpected kind, with reasons."""
    diagnostics: tuple[Diagnostic, ...]
    unusable: bool
    """Whether an input that all results depend on could not be used."""
    stamps: tuple[Fingerprint, ...]
    """Fingerprints of the paths, computed before they were read, if requested."""
    left_out: tuple[Diagnostic, ...]
    policies: tuple[Policy, ...]
    options: CompileOptions
    deprecated: tuple[str, ...]
    """What the emulated release reports about deprecated kinds: a line for each document."""


class _Reader:
    """Reads the files of a manifest and collects diagnostics."""

    def __init__(self, manifest: Manifest, walking: Walking, *, stamped: bool) -> None:
        self.walking = walking
        self._stamped = stamped
        self.diagnostics: list[Diagnostic] = []
        self.stamps: list[Fingerprint] = []
        self._manifest = manifest
        self._folder = os.path.dirname(manifest.document.file)

    def keep(self, loaded: tuple[_Read, tuple[Diagnostic, ...]]) -> _Read:
        """Return the loaded value, and store its diagnostics.

        A missing file is reported where the manifest names it.
        """
        found = loaded[1]
        if any(one.code == "KV001" for one in found):
            named = named_files(self._manifest)
            places = {os.path.join(self._folder, path): (path, place) for path, place in named}
            places = {os.path.normpath(path): named for path, named in places.items()}
            found = tuple(_where_named(one, places) for one in found)
        self.diagnostics += found
        return loaded[0]

    def paths(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the paths of a manifest's entries, and compute fingerprints if requested."""
        paths = tuple(os.path.normpath(os.path.join(self._folder, name)) for name in names)
        if self._stamped:
            self.stamps += [fingerprint(path, self.walking) for path in paths]
        return paths

    def parted(self, path: str) -> tuple[str, str]:
        """Return the folder of the manifest and the path in it; "" and the path for other paths."""
        folder = os.path.normpath(self._folder)
        inside = path.startswith(f"{folder}{os.sep}")
        return (folder, path[len(folder) + 1 :]) if inside else ("", path)

    def strictly(self, names: Sequence[str], kind: InputKind) -> tuple[Document, ...]:
        """Return the documents of a kind, read strictly."""
        return self.keep(read_strictly(self.paths(names), kind, None, self.walking))

    def path(self, name: str) -> str:
        """Return the path of an entry, or "" if it is empty."""
        return self.paths((name,))[0] if name else ""


def _where_named(one: Diagnostic, places: Mapping[str, tuple[str, Location]]) -> Diagnostic:
    path = one.location.file if one.location else ""
    if one.code != "KV001" or path not in places:
        return one
    written, place = places[path]
    return one._replace(message=f"`{written}`: {one.message}", location=place)


def read_test(
    manifest: Manifest,
    rows: tuple[ExpectedRow, ...],
    tracer: Tracer | None = None,
    walking: Walking = USUAL,
    *,
    stamped: bool = False,
    release: Release = NEWEST,
) -> ManifestInputs:
    """Return the inputs of a manifest for the rows to check.

    `tracer` traces the evaluations for coverage; `stamped` requests fingerprints.
    """
    reader = _Reader(manifest, walking, stamped=stamped)
    values = _read_values(manifest, reader)
    user = reader.keep(read_one(reader.path(manifest.userinfo), "UserInfo", load_userinfo))
    unusable = has_errors(reader.diagnostics)
    documents = reader.strictly(manifest.policies, POLICIES)
    policies = reader.keep(load_policies(documents, READERS))
    bindings = reader.keep(load_bindings(documents, read_binding))
    shared = objects_of(shared_data_apart(documents)[0])
    written = reader.strictly(manifest.exceptions, EXCEPTIONS)
    exceptions = reader.keep(load_exceptions(written))
    deprecated = tuple(deprecated_kinds((*documents, *written), release))
    cluster, definitions = _read_cluster(manifest, reader)
    resources = _read_resources(manifest, definitions, reader)
    objects = objects_of(resources)
    targets, params = (_as_written(names, reader) for names in (manifest.targets, manifest.params))
    context = reader.keep(read_context_file(reader.path(manifest.context)))
    options = CompileOptions(
        own_system(release=release),
        exceptions.rules,
        cel_exceptions=exceptions.policies,
        kinds=crd_kinds((*definitions, *objects)),
        bindings=bindings,
        parameters=params,
        tracer=tracer,
    )
    compiled, problems = compile_policies(policies, options)
    reader.diagnostics += problems
    suite = SuiteInputs(
        policies=compiled,
        resources=resources,
        targets=targets,
        others=(*params, *cluster, *shared),
        in_cluster=bool(manifest.cluster_resources),
        clone_sources=_clone_sources(manifest, policies, reader),
        values=values,
        user=user,
        context=context,
        payloads=_read_payloads(manifest, reader),
    )
    given = LintInputs(
        policies,
        objects,
        _rules_of(compiled),
        (*targets, *params, *cluster, *definitions),
        exceptions=exceptions.rules,
        cel_exceptions=exceptions.policies,
        bindings=bindings,
        values=values,
        sound=not has_errors(reader.diagnostics),
    )
    reader.diagnostics += unignored(run_warnings(given), policies)
    reader.diagnostics += _wrong_flags(manifest, policies)
    reader.diagnostics += refused_objects(resources, is_final=not compiled.mutates)
    lost = missing_namespaces(suite)
    for document in lost:
        namespace = object_key(document.data).namespace
        text = f"the cluster resources do not contain this resource's Namespace `{namespace}`"
        reader.diagnostics.append(Diagnostic("KV046", Severity.ERROR, text, document.locate(())))
    expected = (name for row in rows for name in (row.patched, *row.generated) if name)
    files = {name: _read_expected(reader.path(name)) for name in dict.fromkeys(expected)}
    reported, left_out = without_left_out(reader.diagnostics)
    refused, unread = _outcasts(documents, policies, compiled)
    return ManifestInputs(
        suite=suite,
        files=files,
        refused={_name(document): _reason(document, problems) for document in refused},
        unread={_name(document): _reason(document, reported) for document in unread},
        diagnostics=reported,
        unusable=unusable or bool(lost),
        stamps=tuple(reader.stamps),
        left_out=left_out,
        policies=policies,
        options=options,
        deprecated=deprecated,
    )


def _rules_of(compiled: PolicySet) -> Callable[[Policy], Iterable[Rule]]:
    """Return a function that returns the compiled rules of a policy."""
    known = {policy.policy: policy for policy in compiled.policies if policy.policy.facts.has_rules}

    def rules(policy: Policy) -> Iterable[Rule]:
        if policy in known:
            return [rule.rule for rule in known[policy].rules]
        return derived_rules(policy)

    return rules


def _read_resources(
    manifest: Manifest, definitions: tuple[KubernetesObject, ...], reader: _Reader
) -> tuple[Document, ...]:
    paths = reader.paths(manifest.resources)
    loaded = reader.keep(load_resources(paths, None, definitions, walking=reader.walking))
    reader.diagnostics += unreviewed(loaded)
    resources, doubles = without_duplicates(loaded)
    for document in doubles:
        key = object_key(document.data)
        shown = "/".join(part for part in (key.kind, key.namespace, key.name) if part)
        text = f"duplicate {shown}: the first one is used"
        reader.diagnostics.append(Diagnostic("KV043", Severity.WARNING, text, document.locate(())))
    return resources


def _read_payloads(manifest: Manifest, reader: _Reader) -> tuple[Payload, ...]:
    """Return the payloads, with the names of the manifest."""
    payloads: list[Payload] = []
    for mode, name in manifest.payloads:
        path = reader.path(name)
        given = reader.keep(payloads_of([(mode, path)]))
        shown = ("", name) if mode is PayloadMode.JSON else reader.parted(path)
        payloads += [value._replace(folder=shown[0], name=shown[1]) for value in given]
    return tuple(payloads)


def _outcasts(
    documents: Iterable[Document], policies: Iterable[Policy], compiled: PolicySet
) -> tuple[list[Document], list[Document]]:
    """Return the rejected policies with rules, and the other unusable policies.

    Kyverno's command reports the former as invalid, and ignores the others, or fails.
    """
    sound = {policy.policy.name for policy in compiled.policies}
    refused = [one.document for one in policies if one.facts.has_rules and one.name not in sound]
    known = {policy.name for policy in policies if policy.facts.has_rules or policy.name in sound}
    return refused, [document for document in documents if _name(document) not in known]


def _wrong_flags(manifest: Manifest, policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """KV166: a row with the flag of a different policy kind."""
    kinds: dict[str, set[str]] = {}
    for policy in policies:
        for name in (policy.name, policy.key):
            kinds.setdefault(name, set()).add(policy.kind.removeprefix("Namespaced"))
    for row in manifest.rows:
        own = kinds.get(row.policy, set())
        for flag in row.flags:
            if own and flag.removeprefix("is") not in own:
                text = f"`{flag}`: `{row.policy}` is a {min(own)}; the row is still checked"
                place = manifest.document.locate((*row.path, flag))
                yield Diagnostic("KV166", Severity.WARNING, text, place)


def _name(document: Document) -> str:
    return text_field(metadata(document.data), "name")


def _reason(document: Document, diagnostics: Iterable[Diagnostic]) -> str:
    start = document.locate(())
    places = ((one.location, one.message) for one in diagnostics if one.location)
    own = (text for place, text in places if place.file == start.file and place.line >= start.line)
    return next(own, "the policy is invalid")


def _as_written(names: Sequence[str], reader: _Reader) -> tuple[KubernetesObject, ...]:
    if not names:
        return ()
    paths = reader.paths(names)
    documents = reader.keep(load_resources(paths, None, (), AS_WRITTEN, walking=reader.walking))
    return objects_of(documents)


def _read_values(manifest: Manifest, reader: _Reader) -> Values | None:
    """Return the inline values or those of the file, with the manifest's mocks."""
    document = manifest.document
    mocks = reader.keep(load_mocks(document))
    inline = document.data.get("values")
    if inline is None:
        path = reader.path(manifest.values_file)
        values = reader.keep(read_one(path, "Values", load_values))
    else:
        kind = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values"}
        given = document.within(("values",), {**inline, **kind})
        values = reader.keep(load_values(given))
    if mocks == NO_MOCKS:
        return values
    values = values or Values()
    calls = {**values.mocks.calls, **mocks.calls}
    data = {**values.mocks.global_data, **mocks.global_data}
    images = {**values.mocks.images, **mocks.images}
    return values._replace(mocks=Mocks(calls, data, images))


def _read_cluster(
    manifest: Manifest, reader: _Reader
) -> tuple[tuple[KubernetesObject, ...], tuple[KubernetesObject, ...]]:
    """Return the objects of a test's cluster, and the definitions of their kinds.

    upstream: cmd/cli/kubectl-kyverno/apis/v1alpha1/clusterresource.go
    """
    objects: list[KubernetesObject] = []
    crds: list[str] = []
    paths = reader.paths(manifest.cluster_resources)
    for document in reader.keep(read_documents(paths, None, STRICT)):
        data, problems = check_cli_document(document, "ClusterResource", needs_kind=False)
        reader.diagnostics += problems
        spec = {} if problems else data.get("spec", {})
        objects += spec.get("resources", ())
        crds += spec.get("crds", ())
    definitions = objects_of(reader.keep(load_definitions(reader.paths(crds))))
    return (*objects, *definitions), definitions


def _clone_sources(
    manifest: Manifest, policies: Iterable[Policy], reader: _Reader
) -> dict[str, tuple[KubernetesObject, ...]]:
    """Return the clone sources of rows, by policy key."""
    sources: dict[str, tuple[KubernetesObject, ...]] = {}
    rows = [row for row in manifest.rows if row.clone_source]
    for policy in policies if rows else ():
        rules = {rule.name for rule in policy.rules if rule.generates}
        fit = (row for row in rows if row.policy == policy.key and row.rule in rules)
        paths = reader.paths(dict.fromkeys(row.clone_source for row in fit))
        if paths:
            sources[policy.key] = objects_of(reader.keep(load_resources(paths)))
    return sources


def _read_expected(path: str) -> tuple[KubernetesObject, ...] | str:
    """Return the objects of an expected file, or why there are none.

    upstream opens a single file by its name: no folders or patterns.
    """
    if os.path.isdir(path) or not os.path.lexists(path):
        return str(Diagnostic("KV001", Severity.ERROR, "no such file", Location(path)))
    documents, remarks = load_resources((path,), typing=AS_RESOURCES)
    wrong = (str(remark) for remark in remarks if remark.severity is Severity.ERROR)
    return next(wrong, None) or objects_of(documents)
