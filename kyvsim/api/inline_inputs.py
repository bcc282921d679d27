"""Inputs as texts instead of files, for the playground."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kyvsim.api.explain import Explaining, ExplainTarget, open_explanation
from kyvsim.api.inputs import ApplyInputs, WhatIf
from kyvsim.api.simulate import Simulated, SimulateInputs, simulate
from kyvsim.load.documents import STRICT_FLOATS, read_documents
from kyvsim.load.files import Source
from kyvsim.load.recognise import is_mapping
from kyvsim.load.values import named_user
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.ports import SIMULATED, UNCHANGED, Budget
from kyvsim.model.request import Operation


class Typed(NamedTuple):
    """Texts that were entered by the user."""

    policies: str = ""
    resources: str = ""
    values: str = ""
    exceptions: str = ""
    operation: str = ""
    """The operation of all requests; "" for that of the values, which is CREATE by default."""
    user: str = ""
    groups: str = ""
    """Groups of the user, separated by commas."""


TEXTS: Final = ("policies", "resources", "values", "exceptions")
"""The fields that are YAML: files such as `policies.yaml`."""


def explain_typed(typed: Typed, budget: Budget = UNCHANGED) -> Explaining:
    """Return the explanations of the results, lazily.

    Problems are diagnostics of the run, with file names such as `policies.yaml`.
    """
    values = _sources(typed, "values")
    groups = tuple(filter(None, map(str.strip, typed.groups.split(","))))
    inputs = ApplyInputs(
        _sources(typed, "policies"),
        _sources(typed, "resources"),
        exceptions=_sources(typed, "exceptions"),
        values_file=values[0] if values else "",
        what_if=WhatIf(
            user=named_user(typed.user, groups) if typed.user else None,
            operation=Operation(typed.operation) if typed.operation else None,
        ),
        budget=budget,
    )
    named = tuple(_files_named(values))
    if not named:
        return open_explanation(inputs, ExplainTarget())
    explained = open_explanation(inputs._replace(values_file=""), ExplainTarget())
    run = explained.run._replace(diagnostics=(*explained.run.diagnostics, *named), applied=False)
    return Explaining(run, iter(()))


def simulate_typed(typed: Typed) -> Simulated:
    """Return the simulation of the resources on a cluster with the policies.

    An administrator creates them: the cluster has no roles of the user of `typed`.
    """
    return simulate(
        SimulateInputs(
            _sources(typed, "policies"),
            _sources(typed, "resources"),
            _sources(typed, "exceptions"),
            budget=SIMULATED,
        )
    )


def sources_of(typed: Typed) -> tuple[Source, ...]:
    """Return the texts that are not empty, as files."""
    return tuple(source for name in TEXTS for source in _sources(typed, name))


def _sources(typed: Typed, name: str) -> tuple[Source, ...]:
    text = getattr(typed, name)
    return (Source(f"{name}.yaml", text),) if text.strip() else ()


def _files_named(values: tuple[Source, ...]) -> Iterator[Diagnostic]:
    """Yield an error for each entry of the values that refers to files, which do not exist."""
    for document in read_documents(values, None, STRICT_FLOATS)[0]:
        entries = document.data.get("globalContextEntries") if is_mapping(document.data) else None
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if is_mapping(entry) and "resourceFiles" in entry:
                text = "files cannot be read here: use `resources` or `data`"
                place = document.locate(("globalContextEntries", index, "resourceFiles"))
                yield Diagnostic("KV033", Severity.ERROR, text, place)
