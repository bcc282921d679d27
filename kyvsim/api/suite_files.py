"""Test files to write: new tests, and updated files with expected objects."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.api.inputs import objects_of
from kyvsim.api.suite_inputs import read_test
from kyvsim.kubernetes.objects import KubernetesObject, object_key, text_field
from kyvsim.load.files import Source
from kyvsim.load.resources import load_resources
from kyvsim.model.diagnostic import Diagnostic, has_errors
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.source import Document, Location
from kyvsim.model.suite import Golden, Manifest, ManifestOutcome, SuiteOutcome
from kyvsim.report.object_text import to_yaml
from kyvsim.report.results import title
from kyvsim.suite.compare import ExpectedFile, Files, expected_by_file, same
from kyvsim.suite.run import observe
from kyvsim.suite.scaffold import row_data, scaffold
from kyvsim.yaml.document import read_first
from kyvsim.yaml.text import DocumentText, split_chunks

# `test --update`: the new texts of files with expected objects.

_GLOB = frozenset("*?[{")


class FileText(NamedTuple):
    """A file to write, in a folder."""

    path: str
    text: str
    folder: str
    objects: tuple[str, ...] = ()
    """Changed objects, as `namespace/Kind/name`."""


class Updates(NamedTuple):
    """Files to change, and why others cannot be changed."""

    files: tuple[FileText, ...]
    problems: tuple[str, ...]


class UpdateError(ValueError):
    """A file cannot be updated; the text is the reason."""


def plan_updates(outcome: SuiteOutcome) -> Updates:
    """Return the files of expected objects that differ from the results.

    The rows of the outcome must contain their goldens. Other documents in a file are not changed.
    """
    folders: dict[str, list[str]] = {}
    for manifest in outcome.manifests:
        for golden in _goldens(manifest):
            folders.setdefault(golden.file, []).append(os.path.dirname(manifest.file))
    every = (golden for manifest in outcome.manifests for golden in _goldens(manifest))
    files: list[FileText] = []
    problems: list[str] = []
    for path, expected in expected_by_file(every).items():
        try:
            text, changed = updated(path, expected)
        except UpdateError as error:
            problems.append(f"{path}: {error}")
            continue
        if changed:
            files.append(FileText(path, text, _home(path, folders[path]), changed))
        problems += [
            f"{path}: rows expect {'/'.join(filter(None, key))} in different states"
            for key in expected.disputed
        ]
    return Updates(tuple(files), tuple(problems))


def _goldens(manifest: ManifestOutcome) -> Iterator[Golden]:
    return (golden for row in manifest.rows for golden in row.goldens)


def _home(path: str, folders: list[str]) -> str:
    """Return the manifest folder that contains a path, or the first folder."""
    whole = os.path.abspath(path)
    holding = (one for one in folders if whole.startswith(os.path.join(os.path.abspath(one), "")))
    return next(holding, folders[0])


def updated(path: str, expected: ExpectedFile) -> tuple[str, tuple[str, ...]]:
    """Return a file's text with the expected objects, and the titles of changed ones.

    Raises UpdateError if a file cannot be read or cannot be rewritten without loss.
    """
    text, line_end = _read(path)
    pending = dict(expected.objects)
    pieces: list[str] = []
    changed: list[str] = []
    done = 0
    for chunk, start in _placed_chunks(text):
        documents, remarks = load_resources((Source("", chunk.text),))
        if remarks:
            raise UpdateError(f"it cannot be read: {remarks[0].message}")
        objects = [document.data for document in documents]
        if len(objects) == 1 and text_field(read_first(chunk.text).data, "kind") == text_field(
            objects[0], "kind"
        ):
            actual = objects[0]
        else:
            if not frozenset(pending).isdisjoint(map(object_key, objects)):
                raise UpdateError("an expected object is an item of a List, which is not updated")
            actual = None
        obj = None if actual is None else pending.pop(object_key(actual), None)
        if obj is None or same(obj, actual):
            continue
        lines = chunk.text.split("\n")
        end = next(
            (n for n, line in enumerate(lines) if line.strip() and line.lstrip()[0] != "#"), 0
        )
        heading = "".join(f"{line}\n" for line in lines[:end])
        pieces += [text[done:start], heading, to_yaml(obj)]
        done = start + len(chunk.text)
        changed.append(title(obj))
    pieces.append(text[done:])
    whole = "".join(pieces)
    for obj in pending.values():
        if not whole.strip():
            whole = to_yaml(obj)
        else:
            lead = "" if whole.endswith("\n") else "\n"
            whole = f"{whole}{lead}---\n{to_yaml(obj)}"
        changed.append(title(obj))
    return whole.replace("\n", line_end), tuple(changed)


def _read(path: str) -> tuple[str, str]:
    """Return a file's text with LF, and its line end; "" if the file does not exist."""
    if not os.path.lexists(path):
        if not _GLOB.isdisjoint(path):
            raise UpdateError("it matches several files")
        return "", "\n"
    if os.path.islink(path) or not os.path.isfile(path):
        raise UpdateError("it is not a regular file")
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError):
        raise UpdateError("it cannot be read") from None
    if path.lower().endswith(".json") or text.lstrip().startswith(("{", "[")):
        raise UpdateError("it is JSON, and only YAML can be updated")
    return text.replace("\r\n", "\n").removeprefix("\ufeff"), "\r\n" if "\r\n" in text else "\n"


def _placed_chunks(text: str) -> list[tuple[DocumentText, int]]:
    """Return the documents of a text with their offsets."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    chunks = tuple(split_chunks(text))
    if any(chunk.bad_separator for chunk in chunks):
        raise UpdateError("a line begins with --- but has more text after it")
    return [(chunk, starts[chunk.line - 1]) for chunk in chunks]


# `test --create`: a manifest and its files with the current results.


class Creation(NamedTuple):
    """The inputs of `kyvsim test --create`."""

    policies: tuple[str, ...]
    resources: tuple[str, ...]
    folder: str = "."
    file_name: str = "kyverno-test.yaml"
    targets: tuple[str, ...] = ()
    release: Release = NEWEST


class Created(NamedTuple):
    """Files to write, the manifest last; none if an input cannot be used."""

    files: tuple[FileText, ...]
    row_count: int
    remarks: tuple[str, ...]
    """Warnings about the rows, and about results that rows cannot express."""
    diagnostics: tuple[Diagnostic, ...]

    @property
    def unusable(self) -> bool:
        """Whether an input could not be used."""
        return has_errors(self.diagnostics)


def create_test(creation: Creation) -> Created:
    """Return a manifest whose rows expect the current results."""
    file = os.path.join(creation.folder, creation.file_name)
    manifest = Manifest(
        Document({}, file, 0, lambda _path: Location(file)),
        _relative(creation.policies, creation.folder),
        _relative(creation.resources, creation.folder),
        _relative(creation.targets, creation.folder),
    )
    inputs = read_test(manifest, (), release=creation.release)
    result = Created((), 0, (), inputs.diagnostics)
    if inputs.unusable or result.unusable:
        return result
    scaffolded = scaffold(inputs.suite, observe(inputs.suite, ()), _reread)
    if not scaffolded.rows:
        return result._replace(remarks=scaffolded.notes)
    texts = {name: _stream(objects) for name, objects in scaffolded.files.items()}
    policies = (policy.policy.document.file for policy in inputs.suite.policies.policies)
    resources = (document.file for document in inputs.suite.resources)
    targets = _listed(creation.targets, creation.folder)
    manifest_data = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": os.path.basename(os.path.abspath(creation.folder)) or "test"},
        "policies": _listed(policies, creation.folder),
        "resources": _listed(resources, creation.folder),
        **({"targetResources": targets} if targets else {}),
        "results": [row_data(row) for row in scaffolded.rows],
    }
    texts[creation.file_name] = to_yaml(manifest_data)
    files = tuple(
        FileText(os.path.join(creation.folder, name), text, creation.folder)
        for name, text in texts.items()
    )
    return result._replace(files=files, row_count=scaffolded.row_count, remarks=scaffolded.notes)


def _relative(paths: Iterable[str], folder: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.relpath(path, folder or ".") for path in paths))


def _listed(paths: Iterable[str], folder: str) -> list[str]:
    return [path.replace(os.sep, "/") for path in _relative(paths, folder)]


def _stream(objects: Iterable[KubernetesObject]) -> str:
    return "---\n".join(map(to_yaml, objects))


def _reread(files: Mapping[str, tuple[KubernetesObject, ...]]) -> Files:
    return {
        name: objects_of(load_resources((Source(name, _stream(objects)),))[0])
        for name, objects in files.items()
    }
