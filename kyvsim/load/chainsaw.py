"""Chainsaw tests and step templates: found in folders, read into the model.

Codes: KV060 a path without chainsaw tests, KV061 a document that is no test that can be used.
Source of the shapes: chainsaw's `chainsaw.kyverno.io/v1alpha1` Test and StepTemplate.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kyvsim.kube.duration import SECOND, parse_duration
from kyvsim.kube.objects import Json, metadata, text_field
from kyvsim.load.documents import parse_documents, read_documents
from kyvsim.load.files import Source, read_sources
from kyvsim.load.test_manifest import find_manifests
from kyvsim.model.chainsaw import (
    ChainsawBinding,
    ChainsawOperation,
    ChainsawStep,
    ChainsawTest,
    Timeouts,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Location, Path

_GROUP = "chainsaw.kyverno.io/"
_TIMEOUTS = (
    ("apply", "apply"),
    ("assert", "check"),
    ("cleanup", "cleanup"),
    ("delete", "delete"),
    ("error", "error"),
    ("exec", "exec"),
)
_ABOUT_OPERATIONS = frozenset({"description", "continueOnError", "compiler"})


class Problem(Exception):  # noqa: N818 — it is no fault of the program
    """Why a document cannot be used, and where."""

    def __init__(self, message: str, location: Location) -> None:
        super().__init__(message)
        self.message = message
        self.location = location


class _Reading(NamedTuple):
    """What every part of a test is read with."""

    document: Document
    folder: str

    def problem(self, message: str, path: Path) -> Problem:
        return Problem(message, self.document.locate(path))

    def mapping(self, data: Json, path: Path) -> Mapping[str, Json]:
        if data.__class__ is not dict:
            raise self.problem(f"`{_last(path)}` must be a mapping", path)
        found: Mapping[str, Json] = data
        return found

    def listed(self, data: Json, path: Path) -> list[Json]:
        if data is None:
            return []
        if data.__class__ is not list:
            raise self.problem(f"`{_last(path)}` must be a list", path)
        found: list[Json] = data
        return found


def find_tests(
    path: str, file_name: str, *, deep: bool
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the test files in a folder, and below it if `deep`, or why there are none."""
    if not deep and os.path.isdir(path):
        file = os.path.normpath(os.path.join(path, file_name))
        if os.path.isfile(file):
            return (file,), ()
        text = f"there is no `{file_name}` in this folder"
        return (), (Diagnostic("KV060", Severity.ERROR, text, Location(path)),)
    found, remarks = find_manifests(path, file_name)
    if not found and not remarks:
        text = f"there is no `{file_name}` in or below this folder"
        return (), (Diagnostic("KV060", Severity.ERROR, text, Location(path)),)
    return found, remarks


def read_tests(file: str) -> tuple[tuple[ChainsawTest, ...], tuple[Diagnostic, ...]]:
    """Return the tests of a file, and what cannot be read of it."""
    documents, remarks = read_documents((file,))
    tests: list[ChainsawTest] = []
    problems = list(remarks)
    for document in documents:
        try:
            tests.append(load_test(document))
        except Problem as problem:
            error = Diagnostic("KV061", Severity.ERROR, problem.message, problem.location)
            problems.append(error)
    return tuple(tests), tuple(problems)


def read_objects(path: str) -> tuple[tuple[Json, ...], str]:
    """Return the documents of a file that an operation names, and why there are none."""
    documents, remarks = read_documents((path,))
    wrong = next((one for one in remarks if one.severity is Severity.ERROR), None)
    return tuple(one.data for one in documents), str(wrong) if wrong else ""


def parse_objects(text: str) -> tuple[tuple[Json, ...], str]:
    """Return the documents of a text, and why there are none."""
    found = tuple(parse_documents(Source("<script>", text)))
    wrong = next((one for one in found if isinstance(one, Diagnostic)), None)
    data = tuple(one.data for one in found if isinstance(one, Document))
    return data, str(wrong) if wrong else ""


def read_script(path: str) -> str | None:
    """Return the text of a file that a script names, or None where it cannot be read."""
    found = next(iter(read_sources((path,))), None)
    return found.text if isinstance(found, Source) else None


def load_test(document: Document) -> ChainsawTest:
    """Return the test that a document holds; raise Problem where it is none."""
    data = document.data
    kind, version = text_field(data, "kind"), text_field(data, "apiVersion")
    if kind != "Test" or not version.startswith(_GROUP):
        text = f"a chainsaw Test is wanted here, this is `{kind or 'nothing'}` of `{version}`"
        raise Problem(text, document.locate(("kind",)))
    folder = os.path.dirname(document.file)
    reading = _Reading(document, folder)
    spec = reading.mapping(data.get("spec"), ("spec",))
    steps = reading.listed(spec.get("steps"), ("spec", "steps"))
    timeouts = Timeouts()._replace(**_timeouts(reading, spec, ("spec",)))
    return ChainsawTest(
        name=text_field(metadata(data), "name"),
        folder=folder,
        namespace=text_field(spec, "namespace"),
        template=spec.get("template") is not False,
        skip=spec.get("skip") is True,
        catch=_operations(reading, spec, ("spec", "catch")),
        bindings=_bindings(reading, spec, ("spec", "bindings")),
        timeouts=timeouts,
        steps=tuple(
            _step(reading, one, ("spec", "steps", place)) for place, one in enumerate(steps)
        ),
        metadata=metadata(data),
        location=document.locate(()),
    )


def _step(reading: _Reading, data: Json, path: Path) -> ChainsawStep:
    given = reading.mapping(data, path)
    template = given.get("template")
    step = ChainsawStep(
        name=text_field(given, "name"),
        attempts=_operations(reading, given, (*path, "try")),
        catch=_operations(reading, given, (*path, "catch")),
        final=_operations(reading, given, (*path, "finally")),
        cleanup=_operations(reading, given, (*path, "cleanup")),
        bindings=_bindings(reading, given, (*path, "bindings")),
        timeouts=_timeouts(reading, given, path),
        template=template if template.__class__ is bool else None,
    )
    use = given.get("use")
    return step if use is None else _used(reading, step, use, (*path, "use"))


def _used(reading: _Reading, step: ChainsawStep, use: Json, path: Path) -> ChainsawStep:
    """Return a step with the blocks of the template that it uses."""
    name = text_field(reading.mapping(use, path), "template")
    file = place_of(reading.folder, name)
    documents, remarks = read_documents((file,))
    for remark in remarks:
        if remark.severity is Severity.ERROR:
            text = f"template `{name}`: {remark.message}"
            raise Problem(text, reading.document.locate((*path, "template")))
    document = documents[0]
    if text_field(document.data, "kind") != "StepTemplate":
        raise reading.problem(f"`{name}` is no StepTemplate", (*path, "template"))
    inner = _Reading(document, reading.folder)
    spec = inner.mapping(document.data.get("spec"), ("spec",))
    given = use.get("with")
    bound = () if given is None else _bindings(reading, given, (*path, "with", "bindings"))
    named = {one.name for one in bound}
    defaults = _bindings(inner, spec, ("spec", "bindings"))
    return step._replace(
        attempts=(*step.attempts, *_operations(inner, spec, ("spec", "try"))),
        catch=(*step.catch, *_operations(inner, spec, ("spec", "catch"))),
        final=(*step.final, *_operations(inner, spec, ("spec", "finally"))),
        cleanup=(*step.cleanup, *_operations(inner, spec, ("spec", "cleanup"))),
        bindings=(*step.bindings, *bound, *(one for one in defaults if one.name not in named)),
    )


def place_of(folder: str, name: str) -> str:
    """Return the path of a file that a test names; a slash at its beginning means nothing."""
    return os.path.normpath(os.path.join(folder, name.lstrip("/")))


def _operations(
    reading: _Reading, data: Mapping[str, Json], path: Path
) -> tuple[ChainsawOperation, ...]:
    entries = reading.listed(data.get(str(path[-1])), path)
    return tuple(_operation(reading, one, (*path, place)) for place, one in enumerate(entries))


def _operation(reading: _Reading, data: Json, path: Path) -> ChainsawOperation:
    given = reading.mapping(data, path)
    names = [name for name in given if name not in _ABOUT_OPERATIONS]
    if len(names) != 1:
        raise reading.problem("an operation has exactly one action", path)
    name = names[0]
    spec = reading.mapping(given[name] if given[name] is not None else {}, (*path, name))
    return ChainsawOperation(
        name,
        spec,
        reading.document.locate((*path, name)),
        _bindings(reading, spec, (*path, name, "bindings")),
        continues=given.get("continueOnError") is True,
    )


def _bindings(
    reading: _Reading, data: Mapping[str, Json], path: Path
) -> tuple[ChainsawBinding, ...]:
    entries = reading.listed(data.get("bindings"), path)
    found = []
    for place, one in enumerate(entries):
        given = reading.mapping(one, (*path, place))
        found.append(ChainsawBinding(text_field(given, "name"), given.get("value")))
    return tuple(found)


def _timeouts(reading: _Reading, data: Mapping[str, Json], path: Path) -> dict[str, float]:
    given = data.get("timeouts")
    if given is None:
        return {}
    texts = reading.mapping(given, (*path, "timeouts"))
    read = _duration_reader(reading, (*path, "timeouts"))
    return {field: read(texts, name) for name, field in _TIMEOUTS if name in texts}


def _duration_reader(reading: _Reading, path: Path) -> Callable[[Mapping[str, Json], str], float]:
    def read(texts: Mapping[str, Json], name: str) -> float:
        nanoseconds = parse_duration(str(texts[name]))
        if nanoseconds is None:
            raise reading.problem(f"`{texts[name]}` is no duration", (*path, name))
        return nanoseconds / SECOND

    return read


def _last(path: Iterable[str | int]) -> str:
    names = [str(one) for one in path if isinstance(one, str)]
    return names[-1] if names else "the document"
