"""What tests, step templates and configurations of chainsaw are made of: operations and bindings.

The shapes are in `schemas/chainsaw.json`; what is read here has been checked against them.
Source of the shapes: chainsaw's reference, `chainsaw.kyverno.io` v1alpha1 and v1alpha2.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.quantities import SECOND, parse_duration
from kyvsim.load.policy import sniff
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.model.chainsaw import ChainsawBinding, ChainsawOperation
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Path
from kyvsim.schema.node import Node

GROUP = "chainsaw.kyverno.io/"
TEST = f"{GROUP}v1alpha1/Test"
STEP_TEMPLATE = f"{GROUP}v1alpha1/StepTemplate"
_TIMEOUTS = MappingProxyType(
    {
        "apply": "apply",
        "assert": "check",
        "cleanup": "cleanup",
        "delete": "delete",
        "error": "error",
        "exec": "exec",
    }
)
_ABOUT_OPERATIONS = frozenset({"description", "continueOnError", "compiler"})
_USUAL_LANGUAGE = "jp"


class UnusableError(Exception):
    """A document that cannot be used, with what is wrong with it."""

    def __init__(self, *problems: Diagnostic) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class Reading(NamedTuple):
    """A document whose shape is right, and its data without what is null."""

    document: Document
    data: Json

    def problem(self, code: str, message: str, path: Path) -> UnusableError:
        """Return what is wrong at a place of the document."""
        place = self.document.locate(path)
        return UnusableError(Diagnostic(code, Severity.ERROR, message, place))


@cache
def chainsaw_schemas() -> Mapping[str, Node]:
    """Return the schemas of chainsaw's kinds, by apiVersion/kind; read on first use."""
    return load_schemas("chainsaw.json")


def reading_of(document: Document) -> Reading:
    """Return a document of a known kind, ready to be read; raise UnusableError where it is not."""
    data, problems = check(chainsaw_schemas()[sniff(document.data)], document.data)
    if problems:
        raise UnusableError(*diagnostics(document, problems))
    return Reading(document, data)


def operations_in(
    reading: Reading, data: Mapping[str, Json], path: Path, foreign: str = ""
) -> tuple[ChainsawOperation, ...]:
    """Return the operations of the block that `path` ends with.

    `foreign` says what is not simulated of all that stands here.
    """
    entries = data.get(str(path[-1]), ())
    return tuple(
        _operation(reading, one, (*path, place), foreign) for place, one in enumerate(entries)
    )


def _operation(
    reading: Reading, data: Mapping[str, Json], path: Path, foreign: str
) -> ChainsawOperation:
    name = next(name for name in data if name not in _ABOUT_OPERATIONS)
    spec = data[name]
    return ChainsawOperation(
        name,
        spec,
        reading.document.locate((*path, name)),
        bindings_in(spec),
        continues=data.get("continueOnError") is True,
        foreign=foreign or foreign_in(data) or foreign_in(spec),
    )


def bindings_in(data: Mapping[str, Json]) -> tuple[ChainsawBinding, ...]:
    """Return the bindings that a block sets."""
    return tuple(
        ChainsawBinding(one["name"], one.get("value"), one.get("compiler", ""))
        for one in data.get("bindings", ())
    )


def foreign_in(data: Mapping[str, Json]) -> str:
    """Return what a block wants that no simulated cluster has, "" for nothing."""
    if data.get("cluster"):
        return f"the cluster `{data['cluster']}`, which is another one"
    return foreign_language(text_field(data, "compiler"))


def foreign_language(name: str) -> str:
    """Return that expressions of a language are not evaluated, "" where they are."""
    if name in {"", _USUAL_LANGUAGE}:
        return ""
    return f"expressions of the language `{name}`"


def timeouts_in(data: Mapping[str, Json]) -> dict[str, float]:
    """Return the timeouts that a block sets, in seconds, by field of `Timeouts`."""
    given = data.get("timeouts", {})
    return {_TIMEOUTS[name]: seconds(text) for name, text in given.items()}


def seconds(text: str) -> float:
    """Return the seconds of a duration whose form has been checked."""
    return (parse_duration(text) or 0) / SECOND
