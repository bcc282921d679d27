"""Chainsaw tests and step templates: found in folders, read strictly into the model.

Codes: KV060 a path without chainsaw tests, KV061 a document that is no test that can be used,
KV062 a test that would pass without a look, KV066 a step template that is not read.
Source of the shapes: chainsaw's `chainsaw.kyverno.io/v1alpha1` Test and StepTemplate.
"""

import os
from collections.abc import Iterator, Mapping

from kyvsim.kubernetes.objects import Json, metadata, text_field
from kyvsim.load.chainsaw_blocks import (
    STEP_TEMPLATE,
    TEST,
    Reading,
    UnusableError,
    bindings_in,
    foreign_in,
    foreign_language,
    operations_in,
    reading_of,
    seconds,
    timeouts_in,
)
from kyvsim.load.chainsaw_files import is_inside, place_of, project_of, resolved
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.folders import USUAL, Walking, is_manifest_name
from kyvsim.load.policy import sniff
from kyvsim.load.suite_manifest import find_manifests
from kyvsim.model.chainsaw import (
    WITHOUT_CONFIGURATION,
    ChainsawConfiguration,
    ChainsawStep,
    ChainsawTest,
    UnreachableError,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Location, Path

_BLOCKS = ("try", "catch", "finally", "cleanup")


def find_tests(
    path: str, file_name: str, walking: Walking = USUAL, *, deep: bool
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the test files in a folder, and below it if `deep`, or why there are none."""
    if not deep and os.path.isdir(path):
        file = os.path.normpath(os.path.join(path, file_name))
        if os.path.isfile(file):
            return (file,), ()
        text = f"there is no `{file_name}` in this folder"
        return (), (Diagnostic("KV060", Severity.ERROR, text, Location(path)),)
    found, remarks = find_manifests(path, file_name, walking)
    if not found and all(one.severity is not Severity.ERROR for one in remarks):
        text = f"there is no `{file_name}` in or below this folder"
        return (), (*remarks, Diagnostic("KV060", Severity.ERROR, text, Location(path)))
    return found, remarks


def read_tests(
    file: str,
    configuration: ChainsawConfiguration = WITHOUT_CONFIGURATION,
) -> tuple[tuple[ChainsawTest, ...], tuple[Diagnostic, ...]]:
    """Return the tests of a file, one for each scenario, and what cannot be read of it."""
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
    """Return the test that a document holds, or its scenarios; raise UnusableError for others."""
    if sniff(document.data) != TEST:
        kind, version = (text_field(document.data, name) for name in ("kind", "apiVersion"))
        told = f"`{kind or 'nothing'}` of `{version}`"
        text = f"a chainsaw Test of `{TEST.rpartition('/')[0]}` is wanted here, this is {told}"
        place = document.locate(("kind",))
        raise UnusableError(Diagnostic("KV061", Severity.ERROR, text, place))
    reading = reading_of(document)
    test = _test(reading, configuration)
    scenarios = reading.data["spec"].get("scenarios", ())
    if not scenarios:
        return (test,)
    return tuple(
        test._replace(scenario=number, bindings=(*bindings_in(one), *test.bindings))
        for number, one in enumerate(scenarios, 1)
    )


def _test(reading: Reading, configuration: ChainsawConfiguration) -> ChainsawTest:
    spec = reading.data["spec"]
    if not spec["steps"]:
        raise reading.problem("KV062", "a test without a step tests nothing", ("spec", "steps"))
    foreign = configuration.foreign or foreign_in(spec)
    template = spec.get("namespaceTemplate", configuration.namespace_template)
    if template is not None:
        foreign = foreign or foreign_language(text_field(spec, "namespaceTemplateCompiler"))
    grace = spec.get("forceTerminationGracePeriod")
    delay = spec.get("delayBeforeCleanup")
    return ChainsawTest(
        name=text_field(metadata(reading.data), "name"),
        folder=os.path.dirname(reading.document.file),
        namespace=text_field(spec, "namespace") or configuration.namespace,
        template=spec.get("template", configuration.template),
        skip=spec.get("skip") is True,
        catch=(
            *configuration.catch,
            *operations_in(reading, spec, ("spec", "catch"), foreign),
        ),
        bindings=bindings_in(spec),
        timeouts=configuration.timeouts._replace(**timeouts_in(spec)),
        steps=tuple(_steps(reading, foreign)),
        metadata=metadata(reading.data),
        location=reading.document.locate(()),
        namespace_template=template,
        propagation=spec.get("deletionPropagationPolicy", configuration.propagation),
        keeps=spec.get("skipDelete", configuration.keeps),
        delay=configuration.delay if delay is None else seconds(delay),
        grace_period=configuration.grace_period if grace is None else seconds(grace),
    )


def named_files(test: ChainsawTest) -> Iterator[str]:
    """Yield the paths that a test names: of templates and of what operations send or assert."""
    for step in test.steps:
        if step.used:
            yield step.used
        for one in (*step.attempts, *step.catch, *step.final, *step.cleanup, *test.catch):
            if file := text_field(one.spec, "file"):
                yield place_of(test.folder, file)


def _steps(reading: Reading, foreign: str) -> Iterator[ChainsawStep]:
    for place, one in enumerate(reading.data["spec"]["steps"]):
        path: Path = ("spec", "steps", place)
        if "use" not in one and not any(one.get(block) for block in _BLOCKS):
            raise reading.problem("KV062", "a step without an operation tests nothing", path)
        step = _step(reading, one, path, foreign or foreign_in(one))
        yield _used(reading, step, path, foreign) if "use" in one else step


def _step(reading: Reading, given: Mapping[str, Json], path: Path, foreign: str) -> ChainsawStep:
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


def _used(reading: Reading, step: ChainsawStep, path: Path, foreign: str) -> ChainsawStep:
    """Return a step with the blocks of the template that it uses."""
    given = reading.data["spec"]["steps"][path[-1]]
    inner = _template(reading, given["use"]["template"], (*path, "use", "template"))
    spec = inner.data["spec"]
    added = _step(inner, spec, ("spec",), foreign or foreign_in(given))
    bound = bindings_in(given["use"].get("with", {}))
    named = {one.name for one in bound}
    defaults = (one for one in added.bindings if one.name not in named)
    return step._replace(
        used=inner.document.file,
        attempts=(*step.attempts, *added.attempts),
        catch=(*step.catch, *added.catch),
        final=(*step.final, *added.final),
        cleanup=(*step.cleanup, *added.cleanup),
        bindings=(*step.bindings, *bound, *defaults),
    )


def _template(reading: Reading, name: str, path: Path) -> Reading:
    """Return the step template of a name; raise UnusableError where it cannot be used.

    Kyverno's own tests share templates from many folders above, so any YAML file may be one. Of a
    file outside of the project only that it is no template is reported, and nothing of its text.
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
    documents, remarks = (
        read_documents((place,), None, STRICT) if os.path.isfile(real) else ((), ())
    )
    inside = is_inside(real, project_of(folder, folder))
    for remark in remarks if inside else ():
        if remark.severity is Severity.ERROR:
            raise reading.problem("KV061", f"template `{name}`: {remark.message}", path)
    if len(documents) != 1 or sniff(documents[0].data) != STEP_TEMPLATE:
        raise reading.problem("KV061", f"`{name}` is no StepTemplate", path)
    inner = reading_of(documents[0])
    if not inner.data["spec"]["try"]:
        raise inner.problem("KV062", "a step without an operation tests nothing", ("spec", "try"))
    return inner
