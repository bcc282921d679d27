"""Inputs as texts in place of files, for the playground: explained, or run on a cluster."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.api.explain import Explaining, ExplainTarget, open_explanation
from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.simulate import Simulated, SimulateInputs, simulate
from kyvsim.load.documents import STRICT_FLOATS, read_documents
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.ports import SIMULATED, UNCHANGED, Budget


class Typed(NamedTuple):
    """What is typed; "" for nothing."""

    policies: str = ""
    resources: str = ""
    values: str = ""
    exceptions: str = ""


def explain_typed(typed: Typed, budget: Budget = UNCHANGED) -> Explaining:
    """Return how the policies come to what they say of the resources, lazily.

    Problems with the texts are diagnostics of the run, as those of files are; their places are in
    `policies.yaml` and so on, after the names of the texts.
    """
    values = _source(typed, "values")
    inputs = ApplyInputs(
        _sources(typed, "policies"),
        _sources(typed, "resources"),
        exceptions=_sources(typed, "exceptions"),
        values_file=values or "",
        budget=budget,
    )
    named = tuple(_files_named(values)) if values else ()
    if not named:
        return open_explanation(inputs, ExplainTarget())
    found = open_explanation(inputs._replace(values_file=""), ExplainTarget())
    run = found.run._replace(diagnostics=(*found.run.diagnostics, *named), applied=False)
    return Explaining(run, iter(()))


def simulate_typed(typed: Typed) -> Simulated:
    """Return what becomes of the resources on a simulated cluster that has the policies."""
    return simulate(
        SimulateInputs(
            _sources(typed, "policies"),
            _sources(typed, "resources"),
            _sources(typed, "exceptions"),
            budget=SIMULATED,
        )
    )


def _source(typed: Typed, name: str) -> Source | None:
    text = getattr(typed, name)
    return Source(f"{name}.yaml", text) if text.strip() else None


def _sources(typed: Typed, name: str) -> tuple[Source, ...]:
    source = _source(typed, name)
    return (source,) if source else ()


def _files_named(values: Source) -> Iterator[Diagnostic]:
    """Yield where values name files: there are none beside a text."""
    documents, _ = read_documents((values,), None, STRICT_FLOATS)
    for document in documents:
        entries = document.data.get("globalContextEntries") if _is_map(document.data) else None
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if _is_map(entry) and "resourceFiles" in entry:
                text = "files cannot be read here: use `resources` or `data`"
                place = document.locate(("globalContextEntries", index, "resourceFiles"))
                yield Diagnostic("KV033", Severity.ERROR, text, place)


def _is_map(data: object) -> bool:
    return data.__class__ is dict
