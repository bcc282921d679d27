"""`test --create`: a manifest and its files for what policies do now; nothing is written."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kyvsim.api.inputs import objects_of
from kyvsim.api.suite_inputs import read_test
from kyvsim.api.suite_update import FileText
from kyvsim.kubernetes.objects import Json
from kyvsim.load.files import Source
from kyvsim.load.resources import load_resources
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Location
from kyvsim.model.suite import Manifest
from kyvsim.report.object_text import to_yaml
from kyvsim.suite.compare import Files
from kyvsim.suite.run import SuiteInputs, observe
from kyvsim.suite.scaffold import Scaffold, row_data, scaffold


class Creation(NamedTuple):
    """What `kyvsim test --create` is given: files and folders, and where the manifest goes."""

    policies: tuple[str, ...]
    resources: tuple[str, ...]
    folder: str = "."
    file_name: str = "kyverno-test.yaml"
    targets: tuple[str, ...] = ()
    """Files with objects that rules for existing ones change."""


class Created(NamedTuple):
    """What should be written, the manifest last; no files where some input can't be used."""

    files: tuple[FileText, ...]
    row_count: int
    """How many rows `kyvsim test` counts in the manifest."""
    remarks: tuple[str, ...]
    """What a person should know of the rows, and what happens now that they can't say."""
    diagnostics: tuple[Diagnostic, ...]

    @property
    def unusable(self) -> bool:
        """Whether some input could not be used."""
        return any(one.severity is Severity.ERROR for one in self.diagnostics)


def create_test(creation: Creation) -> Created:
    """Return a manifest whose rows say what the policies do with the resources now."""
    inputs = read_test(_manifest(creation), ())
    result = Created((), 0, (), inputs.diagnostics)
    if inputs.unusable or result.unusable:
        return result
    found = scaffold(inputs.suite, observe(inputs.suite, ()), _reread)
    if not found.rows:
        return result._replace(remarks=found.remarks)
    texts = {name: _stream(objects) for name, objects in found.files.items()}
    texts[creation.file_name] = to_yaml(_manifest_data(creation, inputs.suite, found))
    files = tuple(
        FileText(os.path.join(creation.folder, name), text, creation.folder)
        for name, text in texts.items()
    )
    return result._replace(files=files, row_count=found.row_count, remarks=found.remarks)


def _manifest(creation: Creation) -> Manifest:
    """Return a manifest without rows, as one in that folder would name the inputs."""
    file = os.path.join(creation.folder, creation.file_name)
    return Manifest(
        document=Document({}, file, 0, lambda _path: Location(file)),
        policies=_relative(creation.policies, creation.folder),
        resources=_relative(creation.resources, creation.folder),
        targets=_relative(creation.targets, creation.folder),
        params=(),
        exceptions=(),
        cluster_resources=(),
        values_file="",
        userinfo="",
        context="",
        payloads=(),
        rows=(),
    )


def _relative(paths: Iterable[str], folder: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.relpath(path, folder or ".") for path in paths))


def _manifest_data(creation: Creation, inputs: SuiteInputs, found: Scaffold) -> Json:
    """Return the manifest; it names the files read, so that what is written is not among them."""
    policies = (one.policy.document.file for one in inputs.policies.policies)
    resources = (one.file for one in inputs.resources)
    targets = _listed(creation.targets, creation.folder)
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": os.path.basename(os.path.abspath(creation.folder)) or "test"},
        "policies": _listed(policies, creation.folder),
        "resources": _listed(resources, creation.folder),
        **({"targetResources": targets} if targets else {}),
        "results": [row_data(row) for row in found.rows],
    }


def _listed(paths: Iterable[str], folder: str) -> list[str]:
    return [path.replace(os.sep, "/") for path in _relative(paths, folder)]


def _stream(objects: Iterable[Json]) -> str:
    return "---\n".join(map(to_yaml, objects))


def _reread(files: Mapping[str, tuple[Json, ...]]) -> Files:
    """Return objects as a test reads them from their files."""
    return {
        name: objects_of(load_resources((Source(name, _stream(objects)),))[0])
        for name, objects in files.items()
    }
