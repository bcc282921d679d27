"""Chainsaw's Configuration (`.chainsaw.yaml`): found, and read into the model.

Codes: KV063 a configuration that cannot be used, KV064 a field of a configuration that is not read.
Source of the shapes: chainsaw's `chainsaw.kyverno.io` Configuration, v1alpha1 and v1alpha2.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath

from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.load.chainsaw_blocks import (
    GROUP,
    Reading,
    UnusableError,
    foreign_in,
    foreign_language,
    operations_in,
    reading_of,
    seconds,
    timeouts_in,
)
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.policy import sniff
from kyvsim.model.chainsaw import WITHOUT_CONFIGURATION, ChainsawConfiguration
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Location, Path

USUAL_NAME = ".chainsaw.yaml"
_EARLIER = f"{GROUP}v1alpha1/Configuration"
_KINDS = (_EARLIER, f"{GROUP}v1alpha2/Configuration")
_CHOOSING = ("includeTestRegex", "excludeTestRegex")


def find_configuration(path: str) -> str:
    """Return the configuration that counts for the tests of a path, "" where there is none.

    It is that of the working folder, as for chainsaw; else the nearest one in or above the path.
    """
    if os.path.isfile(USUAL_NAME):
        return USUAL_NAME
    start = FilePath(path).resolve()
    for folder in (start, *start.parents):
        if (folder / USUAL_NAME).is_file():
            return os.path.relpath(folder / USUAL_NAME)
    return ""


def read_configuration(file: str) -> tuple[ChainsawConfiguration | None, tuple[Diagnostic, ...]]:
    """Return what a configuration says, None where it cannot be used, and what is to be told."""
    documents, remarks = read_documents((file,), None, STRICT)
    if any(one.severity is Severity.ERROR for one in remarks):
        return None, remarks
    if len(documents) != 1:
        text = f"one Configuration is wanted here, these are {len(documents)} documents"
        return None, (*remarks, Diagnostic("KV063", Severity.ERROR, text, Location(file)))
    try:
        return _load(documents[0])
    except UnusableError as error:
        return None, (*remarks, *error.problems)


def _load(document: Document) -> tuple[ChainsawConfiguration, tuple[Diagnostic, ...]]:
    kind = sniff(document.data)
    if kind not in _KINDS:
        text = f"a chainsaw Configuration is wanted here, this is `{kind}`"
        place = document.locate(("kind",))
        raise UnusableError(Diagnostic("KV063", Severity.ERROR, text, place))
    reading = reading_of(document)
    spec = reading.data["spec"]
    found = _earlier(reading, spec) if kind == _EARLIER else _later(reading, spec)
    timeouts = WITHOUT_CONFIGURATION.timeouts._replace(**timeouts_in(spec))
    return found._replace(timeouts=timeouts), tuple(_unread(reading))


def _earlier(reading: Reading, spec: Mapping[str, Json]) -> ChainsawConfiguration:
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


def _later(reading: Reading, spec: Mapping[str, Json]) -> ChainsawConfiguration:
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


def _grace(data: Mapping[str, Json]) -> float | None:
    text = data.get("forceTerminationGracePeriod")
    return None if text is None else seconds(text)


def _unread(reading: Reading) -> Iterator[Diagnostic]:
    """Yield a warning for each field that would choose other tests than those that run here."""
    spec = reading.data["spec"]
    holders: tuple[tuple[Path, Json], ...] = (
        (("spec",), spec),
        (("spec", "discovery"), spec.get("discovery", {})),
    )
    for path, holder in holders:
        for name in _CHOOSING:
            if holder.get(name):
                text = f"`{name}` is not read: all tests of the folders given run"
                place = reading.document.locate((*path, name))
                yield Diagnostic("KV064", Severity.WARNING, text, place)
