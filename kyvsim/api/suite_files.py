"""Files that tests are written to: created tests, and expected files that are updated."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.api.inputs import objects_of
from kyvsim.api.suite_inputs import read_test
from kyvsim.kubernetes.objects import Json, object_key, text_field
from kyvsim.load.files import Source
from kyvsim.load.resources import load_resources
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Location
from kyvsim.model.suite import Golden, Manifest, ManifestOutcome, SuiteOutcome
from kyvsim.report.object_text import to_yaml
from kyvsim.report.results import title
from kyvsim.suite.compare import ExpectedFile, Files, expected_by_file, same
from kyvsim.suite.run import observe
from kyvsim.suite.scaffold import row_data, scaffold
from kyvsim.yaml.document import read_first
from kyvsim.yaml.text import DocumentText, split_chunks

# `test --update`: the texts that files of expected objects should have; nothing is written.

_GLOB = frozenset("*?[{")


class FileText(NamedTuple):
    """A file to be written, and the folder that it must not leave."""

    path: str
    text: str
    folder: str
    objects: tuple[str, ...] = ()
    """What is new in it, as `namespace/Kind/name`."""


class Updates(NamedTuple):
    """Files whose text should change, and why others can't."""

    files: tuple[FileText, ...]
    problems: tuple[str, ...]


class UpdateError(ValueError):
    """A file that can't be updated; the text says why."""


def plan_updates(outcome: SuiteOutcome) -> Updates:
    """Return the files of expected objects that are not as the policies of tests leave them.

    Needs an outcome whose rows keep their goldens. Other documents of a file stay as they are.
    """
    folders: dict[str, list[str]] = {}
    for one in outcome.manifests:
        for golden in _goldens(one):
            folders.setdefault(golden.file, []).append(os.path.dirname(one.file))
    every = (golden for one in outcome.manifests for golden in _goldens(one))
    files: list[FileText] = []
    problems: list[str] = []
    for path, wanted in expected_by_file(every).items():
        try:
            text, changed = updated(path, wanted)
        except UpdateError as error:
            problems.append(f"{path}: {error}")
            continue
        if changed:
            files.append(FileText(path, text, _home(path, folders[path]), changed))
        problems += [
            f"{path}: rows expect {'/'.join(filter(None, key))} in different states"
            for key in wanted.disputed
        ]
    return Updates(tuple(files), tuple(problems))


def _goldens(one: ManifestOutcome) -> Iterator[Golden]:
    return (golden for row in one.rows for golden in row.goldens)


def _home(path: str, folders: list[str]) -> str:
    """Return a folder with the path in it, of the manifests that name it, or else the first."""
    whole = os.path.abspath(path)
    holding = (one for one in folders if whole.startswith(os.path.join(os.path.abspath(one), "")))
    return next(holding, folders[0])


def updated(path: str, wanted: ExpectedFile) -> tuple[str, tuple[str, ...]]:
    """Return a file's text with the wanted objects, and which of them are new in it.

    Raises UpdateError where a file is there that can't be read or rewritten without loss.
    """
    text, line_end = _read(path)
    pending = dict(wanted.objects)
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
            found = objects[0]
        else:
            if not frozenset(pending).isdisjoint(map(object_key, objects)):
                raise UpdateError("an expected object is an item of a List, which is not updated")
            found = None
        obj = None if found is None else pending.pop(object_key(found), None)
        if obj is None or same(obj, found):
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
    """Return a file's text with plain line ends, and its line end; "" where there is no file."""
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
    """Return the documents of a text, each with the offset at which it starts."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    chunks = tuple(split_chunks(text))
    if any(chunk.bad_separator for chunk in chunks):
        raise UpdateError("a line of it begins with --- and goes on")
    return [(chunk, starts[chunk.line - 1]) for chunk in chunks]


# `test --create`: a manifest and its files for what policies do now; nothing is written.


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
    file = os.path.join(creation.folder, creation.file_name)
    manifest = Manifest(
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
    inputs = read_test(manifest, ())
    result = Created((), 0, (), inputs.diagnostics)
    if inputs.unusable or result.unusable:
        return result
    found = scaffold(inputs.suite, observe(inputs.suite, ()), _reread)
    if not found.rows:
        return result._replace(remarks=found.remarks)
    texts = {name: _stream(objects) for name, objects in found.files.items()}
    policies = (one.policy.document.file for one in inputs.suite.policies.policies)
    resources = (one.file for one in inputs.suite.resources)
    targets = _listed(creation.targets, creation.folder)
    manifest_data = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": os.path.basename(os.path.abspath(creation.folder)) or "test"},
        "policies": _listed(policies, creation.folder),
        "resources": _listed(resources, creation.folder),
        **({"targetResources": targets} if targets else {}),
        "results": [row_data(row) for row in found.rows],
    }
    texts[creation.file_name] = to_yaml(manifest_data)
    files = tuple(
        FileText(os.path.join(creation.folder, name), text, creation.folder)
        for name, text in texts.items()
    )
    return result._replace(files=files, row_count=found.row_count, remarks=found.remarks)


def _relative(paths: Iterable[str], folder: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.relpath(path, folder or ".") for path in paths))


def _listed(paths: Iterable[str], folder: str) -> list[str]:
    return [path.replace(os.sep, "/") for path in _relative(paths, folder)]


def _stream(objects: Iterable[Json]) -> str:
    return "---\n".join(map(to_yaml, objects))


def _reread(files: Mapping[str, tuple[Json, ...]]) -> Files:
    return {
        name: objects_of(load_resources((Source(name, _stream(objects)),))[0])
        for name, objects in files.items()
    }
