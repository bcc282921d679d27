"""Results of the workspace's policies on open manifests, and runs of open tests, in editors."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.api.apply import (
    Compiled,
    compiled_for,
    explaining,
    open_application,
    render_document,
    responses_of,
)
from kyvsim.api.inputs import ApplyInputs, ReadInputs, read_inputs
from kyvsim.api.schemas import known_schemas
from kyvsim.api.suite import Reading, run_manifest, suite_outcome
from kyvsim.api.suite_inputs import read_test
from kyvsim.api.workspace import USUAL_RULES, Rules
from kyvsim.kubernetes.objects import Path
from kyvsim.load.documents import STRICT_FLOATS, read_documents
from kyvsim.load.files import Source
from kyvsim.load.policy import sniff
from kyvsim.load.recognise import is_test_manifest, looks_like_object
from kyvsim.load.resources import load_resources
from kyvsim.load.suite_manifest import load_test_manifest
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.ports import Budget
from kyvsim.model.source import Location
from kyvsim.model.suite import Manifest, ManifestOutcome
from kyvsim.report.finding import Finding, finding_of
from kyvsim.report.formats import RUN_FORMATS, SUITE_FORMATS
from kyvsim.report.results import QUIET, compile_rows
from kyvsim.report.style import RenderOptions
from kyvsim.report.suite_text import SuiteOptions
from kyvsim.suite.compare import RowVerdict
from kyvsim.suite.row_targets import missing_target, row_index, target_policies, target_resources

_BUDGET = Budget(rule=200_000, resource=500_000)
"""Half a second for an object; an editor evaluates a file again after each change."""
_MOST_OBJECTS = 50
"""Maximum number of objects in a file that are evaluated while it is edited."""


class WorkspacePolicies(NamedTuple):
    """The policies and exceptions of a workspace, compiled for any number of manifests."""

    inputs: ApplyInputs
    read: ReadInputs
    compiled: Compiled


def compile_workspace(sources: Iterable[Source], rules: Rules = USUAL_RULES) -> WorkspacePolicies:
    """Return the policies of a workspace; files without policies and invalid ones are ignored."""
    inputs = _inputs(sources, rules)
    read = read_inputs(inputs, None)
    return WorkspacePolicies(inputs, read, compiled_for(inputs, read))


def _inputs(sources: Iterable[Source], rules: Rules) -> ApplyInputs:
    given = tuple(
        one._replace(folder=os.path.dirname(one.name) or os.curdir)
        for one in sources
        if "Policy" in one.text
    )
    return ApplyInputs(
        policies=given,
        exceptions=tuple(one for one in given if "PolicyException" in one.text),
        crd_paths=rules.crd_paths,
        walking=rules.walking._replace(as_found=True),
        budget=_BUDGET,
    )


def holds_manifests(source: Source) -> bool:
    """Return whether a file has Kubernetes objects, and none that belong to Kyverno or kyvsim."""
    if "apiVersion" not in source.text:
        return False
    documents, _ = read_documents((source,), None, STRICT_FLOATS)
    found = [one.data for one in documents if looks_like_object(one.data)]
    return bool(found) and not any(sniff(one) in known_schemas() for one in found)


def findings_on(source: Source, policies: WorkspacePolicies) -> Iterator[Finding]:
    """Yield the failed results and errors of a workspace's policies on the objects in a file."""
    read = policies.read
    documents, _ = load_resources((source,), None, read.definitions)
    read = read._replace(resources=documents[:_MOST_OBJECTS])
    explain = explaining(policies.inputs, read)
    rows_of = compile_rows(audit_warn=False, hidden=QUIET)
    for response in responses_of(policies.compiled.policies, read, policies.inputs):
        for row in rows_of(response):
            yield finding_of(row, response, explain)


def report_on(source: Source, sources: Iterable[Source], rules: Rules = USUAL_RULES) -> str:
    """Return a page with the results of a test, or of the workspace's policies on manifests."""
    manifests = tests_in(source)
    if manifests:
        outcomes = tuple(run_manifest(one, Reading()) for one in manifests)
        return "".join(SUITE_FORMATS["html"].write(suite_outcome(outcomes, ()), SuiteOptions()))
    run = open_application(_inputs(sources, rules)._replace(resources=(source,)))
    return "".join(render_document(RUN_FORMATS["html"].write, run, RenderOptions(detailed=True)))


def tests_in(source: Source) -> tuple[Manifest, ...]:
    """Return the valid test manifests in a text."""
    documents, _ = read_documents((source,), None, STRICT_FLOATS)
    found = (load_test_manifest(one)[0] for one in documents if is_test_manifest(one.data))
    return tuple(filter(None, found))


def unknown_names(source: Source, roots: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield the unknown policies, rules and resources in the rows of test manifests.

    Their codes are the reasons that a run reports: `Rule not found`. Manifests that read files
    outside of `roots` are not checked.
    """
    roots = [os.path.realpath(root) for root in roots]
    for manifest in tests_in(source):
        if not all(_is_within(path, manifest, roots) for path in _paths(manifest)):
            continue
        inputs = read_test(manifest, ())
        index = row_index(inputs.suite)
        for row in manifest.rows:
            place = manifest.document.locate
            if not target_policies(row, index):
                found = missing_target(row, index, {**inputs.unread, **inputs.refused})
                name = "rule" if row.policy in index.policies_by_name else "policy"
                yield _unknown(found, place((*row.path, name)))
            for name, found in target_resources(row, index)[1]:
                yield _unknown(found, place(_path_of(manifest, row.path, name)))


def _unknown(found: RowVerdict, place: Location) -> Diagnostic:
    return Diagnostic(found.reason, Severity.ERROR, found.message, place)


def _paths(manifest: Manifest) -> Iterator[str]:
    for some in (
        manifest.policies,
        manifest.resources,
        manifest.targets,
        manifest.params,
        manifest.exceptions,
        manifest.cluster_resources,
        (manifest.values_file, manifest.userinfo, manifest.context),
        (path for _, path in manifest.payloads),
    ):
        yield from filter(None, some)


def _is_within(path: str, manifest: Manifest, roots: Iterable[str]) -> bool:
    folder = os.path.dirname(manifest.document.file)
    real = os.path.realpath(os.path.join(folder, path))
    return any(real == root or real.startswith(os.path.join(root, "")) for root in roots)


def _path_of(manifest: Manifest, row: Path, name: str) -> Path:
    """Return the path of a resource's name in a row, or of the row if it is not written there."""
    names = manifest.document.data["results"][row[-1]].get("resources") or ()
    return (*row, "resources", names.index(name)) if name in names else row


def run_tests_in(source: Source, line: int = 0) -> tuple[ManifestOutcome, ...]:
    """Return the outcomes of the test manifests in a text, of its row on a line if there is one.

    Lines count from 1. Other files are read from the disk.
    """
    outcomes = []
    for manifest in tests_in(source):
        chosen = [one for one in manifest.rows if manifest.document.locate(one.path).line == line]
        if chosen or not line:
            given = manifest._replace(rows=tuple(chosen) or manifest.rows)
            outcomes.append(run_manifest(given, Reading()))
    return tuple(outcomes)
