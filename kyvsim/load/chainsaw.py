"""Finds and strictly reads Chainsaw tests, step templates and configurations."""

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path as FilePath
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, Path, metadata, text_field
from kyvsim.kubernetes.quantities import seconds
from kyvsim.load.chainsaw_files import is_inside, place_of, project_of, resolved
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.folders import USUAL, Walking, is_manifest_name
from kyvsim.load.policy import sniff
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.load.suite_manifest import find_manifests
from kyvsim.model.chainsaw import (
    WITHOUT_CONFIGURATION,
    ChainsawBinding,
    ChainsawConfiguration,
    ChainsawOperation,
    ChainsawStep,
    ChainsawTest,
    UnreachableError,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, error_about, error_in, has_errors
from kyvsim.model.source import Document
from kyvsim.schema.node import SchemaNode

# Operations and bindings. `schemas/chainsaw.json` has the schemas, from chainsaw's reference
# (`chainsaw.kyverno.io` v1alpha1 and v1alpha2); documents are validated before they are read.

GROUP = "chainsaw.kyverno.io/"
TEST = f"{GROUP}v1alpha1/Test"
STEP_TEMPLATE = f"{GROUP}v1alpha1/StepTemplate"
_ABOUT_OPERATIONS = frozenset({"description", "continueOnError", "compiler"})
_USUAL_LANGUAGE = "jp"


class UnusableError(Exception):
    """A document cannot be used; the diagnostics are the reason."""

    def __init__(self, *problems: Diagnostic) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class ChainsawReading(NamedTuple):
    """A valid document, and its data without nulls."""

    document: Document
    data: Json

    def problem(self, code: str, message: str, path: Path) -> UnusableError:
        """Return an error at a path of the document."""
        return UnusableError(error_in(self.document, code, message, path))


@cache
def chainsaw_schemas() -> Mapping[str, SchemaNode]:
    """Return the schemas of chainsaw's kinds, by apiVersion/kind; read on first use."""
    return load_schemas("chainsaw.json")


def reading_of(document: Document) -> ChainsawReading:
    """Return a valid document of a known kind; raises UnusableError for others."""
    data, problems = check(chainsaw_schemas()[sniff(document.data)], document.data)
    if problems:
        raise UnusableError(*diagnostics(document, problems))
    return ChainsawReading(document, data)


def operations_in(
    reading: ChainsawReading, data: JsonMap, path: Path, foreign: str = ""
) -> tuple[ChainsawOperation, ...]:
    """Return the operations of the block at `path`; `foreign` is an unsupported feature or ""."""
    operations: list[ChainsawOperation] = []
    for place, entry in enumerate(data.get(str(path[-1]), ())):
        name = next(name for name in entry if name not in _ABOUT_OPERATIONS)
        operation = ChainsawOperation(
            name,
            entry[name],
            reading.document.locate((*path, place, name)),
            bindings_in(entry[name]),
            continues=entry.get("continueOnError") is True,
            foreign=foreign or foreign_in(entry) or foreign_in(entry[name]),
        )
        operations.append(operation)
    return tuple(operations)


def bindings_in(data: JsonMap) -> tuple[ChainsawBinding, ...]:
    """Return the bindings of a block."""
    return tuple(
        ChainsawBinding(binding["name"], binding.get("value"), binding.get("compiler", ""))
        for binding in data.get("bindings", ())
    )


def foreign_in(data: Mapping[str, object]) -> str:
    """Return the unsupported feature that a block needs, or ""."""
    if data.get("cluster"):
        return f"the cluster `{data['cluster']}`, which is not the test's own"
    return foreign_language(text_field(data, "compiler"))


def foreign_language(name: str) -> str:
    """Return the text about an unsupported expression language, or ""."""
    if name in {"", _USUAL_LANGUAGE}:
        return ""
    return f"expressions of the language `{name}`"


def timeouts_in(data: JsonMap) -> dict[str, float]:
    """Return the timeouts of a block, in seconds, by field of `Timeouts`."""
    given = data.get("timeouts", {})
    return {"check" if name == "assert" else name: seconds(text) for name, text in given.items()}


# Codes: KV063 an unusable configuration, KV064 an ignored field of a configuration.

USUAL_NAME = ".chainsaw.yaml"
_EARLIER = f"{GROUP}v1alpha1/Configuration"
_KINDS = (_EARLIER, f"{GROUP}v1alpha2/Configuration")
_CHOOSING = ("includeTestRegex", "excludeTestRegex")


def find_configuration(path: str) -> str:
    """Return the configuration for the tests of a path, or "".

    As in chainsaw, that of the working folder is used, or the nearest in or above the path.
    """
    if os.path.isfile(USUAL_NAME):
        return USUAL_NAME
    start = FilePath(path).resolve()
    for folder in (start, *start.parents):
        if (folder / USUAL_NAME).is_file():
            return os.path.relpath(folder / USUAL_NAME)
    return ""


def read_configuration(file: str) -> tuple[ChainsawConfiguration | None, tuple[Diagnostic, ...]]:
    """Return a configuration, or None if it cannot be used, and diagnostics."""
    documents, remarks = read_documents((file,), None, STRICT)
    if has_errors(remarks):
        return None, remarks
    if len(documents) != 1:
        text = f"expected one Configuration, found {len(documents)} documents"
        return None, (*remarks, error_about(file, "KV063", text))
    kind = sniff(documents[0].data)
    if kind not in _KINDS:
        text = f"expected a chainsaw Configuration, found `{kind}`"
        return None, (*remarks, error_in(documents[0], "KV063", text, ("kind",)))
    try:
        reading = reading_of(documents[0])
        spec = reading.data["spec"]
        configuration = _earlier(reading, spec) if kind == _EARLIER else _later(reading, spec)
        timeouts = WITHOUT_CONFIGURATION.timeouts._replace(**timeouts_in(spec))
        return configuration._replace(timeouts=timeouts), tuple(_unread(reading))
    except UnusableError as error:
        return None, (*remarks, *error.problems)


def _earlier(reading: ChainsawReading, spec: JsonMap) -> ChainsawConfiguration:
    language = foreign_language(text_field(spec, "namespaceTemplateCompiler"))
    return ChainsawConfiguration(
        template=spec.get("template", True),
        namespace=text_field(spec, "namespace"),
        namespace_template=spec.get("namespaceTemplate"),
        catch=operations_in(reading, spec, ("spec", "catch")),
        propagation=spec.get("deletionPropagationPolicy", "Background"),
        keeps=spec.get("skipDelete", False),
        delay=seconds(spec.get("delayBeforeCleanup", "0")),
        grace_period=_grace(spec),
        test_file=text_field(spec, "testFile"),
        foreign=foreign_in(spec) or (language if "namespaceTemplate" in spec else ""),
    )


def _later(reading: ChainsawReading, spec: JsonMap) -> ChainsawConfiguration:
    namespace, templating = spec.get("namespace", {}), spec.get("templating", {})
    cleanup, error = spec.get("cleanup", {}), spec.get("error", {})
    language = foreign_language(text_field(namespace, "compiler"))
    return ChainsawConfiguration(
        template=templating.get("enabled", True),
        namespace=text_field(namespace, "name"),
        namespace_template=namespace.get("template"),
        catch=operations_in(reading, error, ("spec", "error", "catch")),
        propagation=spec.get("deletion", {}).get("propagation", "Background"),
        keeps=cleanup.get("skipDelete", False),
        delay=seconds(cleanup.get("delayBeforeCleanup", "0")),
        grace_period=_grace(spec.get("execution", {})),
        test_file=text_field(spec.get("discovery"), "testFile"),
        foreign=foreign_in(templating) or (language if "template" in namespace else ""),
    )


def _grace(data: JsonMap) -> float | None:
    text = data.get("forceTerminationGracePeriod")
    return None if text is None else seconds(text)


def _unread(reading: ChainsawReading) -> Iterator[Diagnostic]:
    """Yield a warning for each field that selects tests, since these are ignored."""
    spec = reading.data["spec"]
    for path, holder in ((("spec",), spec), (("spec", "discovery"), spec.get("discovery", {}))):
        for name in _CHOOSING:
            if holder.get(name):
                text = f"`{name}` is ignored: all tests in the given folders are run"
                place = reading.document.locate((*path, name))
                yield Diagnostic("KV064", Severity.WARNING, text, place)


# Codes: KV060 a path without chainsaw tests, KV061 an unusable test, KV062 a test without
# operations, KV066 an unusable step template.

_BLOCKS = ("try", "catch", "finally", "cleanup")


def find_tests(
    path: str, file_name: str, walking: Walking = USUAL, *, deep: bool
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the test files in a folder, with subfolders if `deep`, or diagnostics."""
    if not deep and os.path.isdir(path):
        file = os.path.normpath(os.path.join(path, file_name))
        if os.path.isfile(file):
            return (file,), ()
        return (), (error_about(path, "KV060", f"there is no `{file_name}` in this folder"),)
    files, remarks = find_manifests(path, file_name, walking)
    if not files and not has_errors(remarks):
        text = f"there is no `{file_name}` in or below this folder"
        return (), (*remarks, error_about(path, "KV060", text))
    return files, remarks


def read_tests(
    file: str, configuration: ChainsawConfiguration = WITHOUT_CONFIGURATION
) -> tuple[tuple[ChainsawTest, ...], tuple[Diagnostic, ...]]:
    """Return the tests of a file, one for each scenario, and diagnostics."""
    documents, remarks = read_documents((file,), None, STRICT)
    tests: list[ChainsawTest] = []
    problems = list(remarks)
    for document in documents:
        try:
            tests += load_test(document, configuration)
        except UnusableError as error:
            problems += error.problems
    return tuple(tests), tuple(problems)


def load_test(
    document: Document, configuration: ChainsawConfiguration = WITHOUT_CONFIGURATION
) -> tuple[ChainsawTest, ...]:
    """Return the test of a document, or its scenarios; raises UnusableError for other documents."""
    if sniff(document.data) != TEST:
        kind, version = (text_field(document.data, name) for name in ("kind", "apiVersion"))
        actual = f"`{kind}` of `{version}`" if kind else "a document without `kind`"
        text = f"a chainsaw Test of `{TEST.rpartition('/')[0]}` is expected here, this is {actual}"
        raise UnusableError(error_in(document, "KV061", text, ("kind",)))
    reading = reading_of(document)
    spec = reading.data["spec"]
    if not spec["steps"]:
        raise reading.problem("KV062", "a test without a step tests nothing", ("spec", "steps"))
    foreign = configuration.foreign or foreign_in(spec)
    template = spec.get("namespaceTemplate", configuration.namespace_template)
    if template is not None:
        foreign = foreign or foreign_language(text_field(spec, "namespaceTemplateCompiler"))
    grace, delay = _grace(spec), spec.get("delayBeforeCleanup")
    test = ChainsawTest(
        name=text_field(metadata(reading.data), "name"),
        folder=os.path.dirname(reading.document.file),
        namespace=text_field(spec, "namespace") or configuration.namespace,
        template=spec.get("template", configuration.template),
        skip=spec.get("skip") is True,
        catch=(*configuration.catch, *operations_in(reading, spec, ("spec", "catch"), foreign)),
        bindings=bindings_in(spec),
        timeouts=configuration.timeouts._replace(**timeouts_in(spec)),
        steps=tuple(_steps(reading, foreign)),
        metadata=metadata(reading.data),
        location=reading.document.locate(()),
        namespace_template=template,
        propagation=spec.get("deletionPropagationPolicy", configuration.propagation),
        keeps=spec.get("skipDelete", configuration.keeps),
        delay=configuration.delay if delay is None else seconds(delay),
        grace_period=configuration.grace_period if grace is None else grace,
    )
    tests = (
        test._replace(scenario=number, bindings=(*bindings_in(scenario), *test.bindings))
        for number, scenario in enumerate(spec.get("scenarios", ()), 1)
    )
    return tuple(tests) or (test,)


def named_files(test: ChainsawTest) -> Iterator[str]:
    """Yield the files that a test refers to in step templates and operations."""
    for step in test.steps:
        if step.used:
            yield step.used
        for operation in (*step.attempts, *step.catch, *step.final, *step.cleanup, *test.catch):
            if file := text_field(operation.spec, "file"):
                yield place_of(test.folder, file)


def _steps(reading: ChainsawReading, foreign: str) -> Iterator[ChainsawStep]:
    for place, data in enumerate(reading.data["spec"]["steps"]):
        path: Path = ("spec", "steps", place)
        if "use" not in data and not any(data.get(block) for block in _BLOCKS):
            raise reading.problem("KV062", "a step without an operation tests nothing", path)
        step = _step(reading, data, path, foreign or foreign_in(data))
        yield _used(reading, step, path, foreign) if "use" in data else step


def _step(reading: ChainsawReading, given: JsonMap, path: Path, foreign: str) -> ChainsawStep:
    blocks = (operations_in(reading, given, (*path, block), foreign) for block in _BLOCKS)
    attempts, catch, final, cleanup = blocks
    return ChainsawStep(
        name=text_field(given, "name"),
        attempts=attempts,
        catch=catch,
        final=final,
        cleanup=cleanup,
        bindings=bindings_in(given),
        timeouts=timeouts_in(given),
        template=given.get("template"),
        propagation=text_field(given, "deletionPropagationPolicy"),
        keeps=given.get("skipDelete"),
    )


def _used(reading: ChainsawReading, step: ChainsawStep, path: Path, foreign: str) -> ChainsawStep:
    given = reading.data["spec"]["steps"][path[-1]]
    inner = _template(reading, given["use"]["template"], (*path, "use", "template"))
    added = _step(inner, inner.data["spec"], ("spec",), foreign or foreign_in(given))
    bound = bindings_in(given["use"].get("with", {}))
    named = {binding.name for binding in bound}
    defaults = (binding for binding in added.bindings if binding.name not in named)
    return step._replace(
        used=inner.document.file,
        attempts=(*step.attempts, *added.attempts),
        catch=(*step.catch, *added.catch),
        final=(*step.final, *added.final),
        cleanup=(*step.cleanup, *added.cleanup),
        bindings=(*step.bindings, *bound, *defaults),
    )


def _template(reading: ChainsawReading, name: str, path: Path) -> ChainsawReading:
    """Return a step template; raises UnusableError if it cannot be used.

    Kyverno's own tests share templates from distant parent folders, so it may be any YAML file.
    Errors about files outside of the project do not show their content.
    """
    folder = os.path.dirname(reading.document.file)
    place = place_of(folder, name)
    try:
        real = resolved(place)
    except UnreachableError:
        real = ""
    if not is_inside(real, os.sep) or not is_manifest_name(real):
        text = f"`{name}` is not read: a step template is a YAML file"
        raise reading.problem("KV066", text, path)
    if not os.path.exists(real):
        raise reading.problem("KV061", f"template `{name}`: there is no such file", path)
    files = (place,) if os.path.isfile(real) else ()
    documents, remarks = read_documents(files, None, STRICT)
    inside = is_inside(real, project_of(folder, folder))
    for remark in remarks if inside else ():
        if remark.severity is Severity.ERROR:
            raise reading.problem("KV061", f"template `{name}`: {remark.message}", path)
    if len(documents) != 1 or sniff(documents[0].data) != STEP_TEMPLATE:
        raise reading.problem("KV061", f"`{name}` is not a StepTemplate", path)
    inner = reading_of(documents[0])
    if not inner.data["spec"]["try"]:
        raise inner.problem("KV062", "a step without an operation tests nothing", ("spec", "try"))
    return inner
