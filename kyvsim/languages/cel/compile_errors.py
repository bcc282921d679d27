"""What is wrong with a policy's expressions, in upstream's one text.

Source of the form: k8s.io/apimachinery pkg/util/validation/field (Error), util/errors (Aggregate).
"""

from collections.abc import Mapping, Sequence

from kyvsim.kubernetes.go_text import quote
from kyvsim.languages.cel.expressions import ExpressionProblem
from kyvsim.model.source import Path

_SECTIONS = ("matchImageReferences", "matchConditions", "images", "variables", "attestors")
"""The fields that are compiled as a whole, in this order; the first that is wrong is told."""
_FIRST_ONLY = frozenset({"images", "attestors"})


def listed(problems: Sequence[ExpressionProblem], offsets: Mapping[str, int]) -> str:
    """Return what upstream says of the problems of one policy.

    `offsets` has for the name of a field how many entries upstream puts before those written.
    """
    for section in _SECTIONS:
        found = [one for one in problems if one.path[1] == section and not one.document]
        if found:
            taken = found[:1] if section in _FIRST_ONLY else found
            text = _joined([_shown(one, offsets) for one in taken])
            if section != "matchImageReferences":
                return text
            text = text.replace("spec.match", "spec.Match")
            return f"<nil>: Internal error: failed to compile matches: {text}"
    return _shown(problems[0], offsets)


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _shown(problem: ExpressionProblem, offsets: Mapping[str, int]) -> str:
    path, value = problem.shown or (problem.path, quote(problem.text))
    return f"{_field(path, offsets)}: Invalid value: {value}: {problem.message}"


def _field(path: Path, offsets: Mapping[str, int]) -> str:
    start = offsets.get(str(path[1]), 0)
    parts = (f"[{one + start}]" if isinstance(one, int) else f".{one}" for one in path)
    return "".join(parts).removeprefix(".")
