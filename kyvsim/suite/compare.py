"""Compare results and objects with expected rows, and compute the content of expected files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import (
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.quantities import deep_equal, with_floats
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import PolicyResponse, ReportedReason, RuleResult, RuleStatus
from kyvsim.model.suite import ExpectedRow, Golden, GoldenDifference, RowOutcome
from kyvsim.suite.run import Observed, ResourceAnswers

# Objects compared with files of expected objects.
#
# Source of the rules: upstream cmd/cli/kubectl-kyverno/resource (labels.go, tidy.go, compare.go)

_GENERATE_LABEL = "generate.kyverno.io/"

Files: TypeAlias = Mapping[str, tuple[KubernetesObject, ...] | str]
"""The objects in each file of rows, or why it cannot be read."""


class FileComparison(NamedTuple):
    """The comparison of an object with a file."""

    equal: bool
    problem: str = ""
    """Why there was nothing to compare with."""
    missing: bool = False
    """Whether that is because the file has no such object."""
    difference: GoldenDifference | None = None
    file: str = ""
    """The file with the object, or the only file; "" if it is ambiguous."""


def compare(actual: KubernetesObject, file: str, files: Files) -> FileComparison:
    """Return whether the object of that name in `file` is equal to `actual`.

    Labels of generated objects, nulls, empty mappings and empty lists are ignored.
    """
    documents = files[file]
    if isinstance(documents, str):
        return FileComparison(False, documents, file=file)
    key = object_key(actual)
    expected = next((obj for obj in documents if object_key(obj) == key), None)
    if expected is None:
        problem = f"resource with name {key.name} not found in manifest"
        return FileComparison(False, problem, True, file=file)
    required, actual_object = comparable(expected), comparable(actual)
    if deep_equal(with_floats(required), with_floats(actual_object)):
        return FileComparison(True, file=file)
    difference = GoldenDifference(file, required, actual_object)
    return FileComparison(False, difference=difference, file=file)


def compare_any(actual: KubernetesObject, names: Sequence[str], files: Files) -> FileComparison:
    """Return the first equal comparison, or the last one with the object, or any."""
    closest = FileComparison(False)
    for file in names:
        comparison = compare(actual, file, files)
        if comparison.equal:
            return comparison
        if comparison.difference or not closest.difference:
            closest = comparison
    return closest if closest.difference or len(names) == 1 else closest._replace(file="")


def comparable(obj: KubernetesObject) -> object:
    """Return an object without parts that are ignored in comparisons."""
    all_labels = labels(obj).items()
    own = {name: text for name, text in all_labels if not name.startswith(_GENERATE_LABEL)}
    marked = {"app.kubernetes.io/managed-by": "kyverno", **own}
    return _tidy({**obj, "metadata": {**metadata(obj), "labels": marked}})


def _tidy(value: object) -> object:
    """Return a value without nulls and empty members; None if nothing is left."""
    if isinstance(value, dict):
        return {
            key: tidy for key, member in value.items() if (tidy := _tidy(member)) is not None
        } or None
    if isinstance(value, list):
        return [tidy for member in value if (tidy := _tidy(member)) is not None] or None
    return value


# Compare the result of a rule with a row.
#
# Source of the rules: upstream cmd/cli/kubectl-kyverno/commands/test/command.go

_PATCHED = "Patched resource didn't match the patched resource in the test"
_GENERATED = "Generated resource didn't match the expected resource"
_AUTOGEN = "autogen-"
_PREFIXES = (_AUTOGEN, "autogen-cronjob-")


class ResultObject(NamedTuple):
    """An object after the evaluation of a rule."""

    policy: Policy
    result: RuleResult
    object: KubernetesObject


class RowVerdict(NamedTuple):
    """Whether a result is as expected, with reason and message."""

    passed: bool
    reason: str
    message: str = ""
    difference: GoldenDifference | None = None
    missing: bool = False
    """Whether the object was not among those of the row's file."""
    goldens: tuple[Golden, ...] = ()
    """The expected content of files, if the status is as expected."""


def means_rule(row: ExpectedRow, policy: Policy, name: str) -> bool:
    """Return whether a row selects a policy's rule with this name."""
    return not policy.facts.has_rules or names_rule(row, name)


def names_rule(row: ExpectedRow, name: str) -> bool:
    """Return whether a row names a rule: itself, or the one from which it is derived."""
    own = row.rule
    if not own or name == own:
        return True
    return is_derived(name) and name in [prefix + own for prefix in _PREFIXES]


def is_derived(name: str) -> bool:
    """Return whether a rule may be derived, by its name."""
    return name.startswith(_AUTOGEN)


def compare_result(row: ExpectedRow, left: ResultObject, files: Files) -> RowVerdict:
    """Compare a result and its object with the expected row."""
    status = compare_status(row, left.policy, left.result)
    compared = [
        (compare_any(left.object, names, files), text)
        for names, text in (((row.patched,), _PATCHED), (row.generated, _GENERATED))
        if any(names)
    ]
    files_named = (comparison.file for comparison, _ in compared if status.passed)
    goldens = tuple(Golden(file, left.object) for file in files_named if file)
    comparison, message = next((pair for pair in compared if not pair[0].equal), (None, ""))
    if comparison is None:
        verdict = status
    elif comparison.problem:
        verdict = RowVerdict(
            False, "Resource error", comparison.problem, missing=comparison.missing
        )
    else:
        shown = "\n".join(filter(None, (message, left.result.note)))
        verdict = RowVerdict(False, "Resource diff", shown, comparison.difference)
    return verdict._replace(goldens=goldens)


_UNSCORED = 'failures are warnings with the annotation `policies.kyverno.io/scored: "false"` only'


_NOT_SKIPPED = (
    "nothing skips it: all its conditions are met, and no exception of the files under "
    "`exceptions` in the manifest applies"
)


def compare_status(row: ExpectedRow, policy: Policy, result: RuleResult) -> RowVerdict:
    """Compare the status of a result with the expected one."""
    status = status_of(policy, result)
    if status != row.result:
        note = _UNSCORED if (row.result, status) == ("warn", "fail") else ""
        note = _NOT_SKIPPED if (row.result, status) == ("skip", "fail") else note
        shown = "\n".join(filter(None, (result.message, result.note, note)))
        return RowVerdict(False, f"Want {row.result}, got {status}", shown)
    return RowVerdict(True, "Ok", result.message)


def status_of(policy: Policy, result: RuleResult) -> str:
    """Return the status in reports: failures of an unscored policy are warnings."""
    if result.status is RuleStatus.FAIL and not policy.scored:
        return RuleStatus.WARN.value
    return result.status.value


_MANAGED_BY = ("app.kubernetes.io/managed-by", "kyverno")


class ExpectedFile(NamedTuple):
    """The expected content of one file."""

    objects: Mapping[ObjectKey, KubernetesObject]
    """The objects after the evaluation, without the labels that mark generated objects."""
    disputed: tuple[ObjectKey, ...]
    """Objects that rows expect in different states; they are not in `objects`."""


def expected_by_file(goldens: Iterable[Golden]) -> dict[str, ExpectedFile]:
    """Return the expected content of each file, in the order of the rows."""
    objects: dict[str, dict[ObjectKey, KubernetesObject]] = {}
    disputed: dict[str, list[ObjectKey]] = {}
    for file, obj in goldens:
        known = objects.setdefault(file, {})
        key = object_key(obj)
        if key.name and not same(known.setdefault(key, obj), obj):
            disputed.setdefault(file, []).append(key)
    return {
        file: ExpectedFile(
            {key: unmarked(obj) for key, obj in known.items() if key not in disputed.get(file, ())},
            tuple(dict.fromkeys(disputed.get(file, ()))),
        )
        for file, known in objects.items()
    }


def same(left: KubernetesObject, right: KubernetesObject) -> bool:
    """Return whether two objects are equal for a row."""
    return deep_equal(with_floats(comparable(left)), with_floats(comparable(right)))


def unmarked(obj: KubernetesObject) -> KubernetesObject:
    """Return an object without the labels that name the rule that generated it."""
    own = labels(obj)
    if not any(name.startswith(_GENERATE_LABEL) for name in own):
        return obj
    others = {
        name: value
        for name, value in own.items()
        if not name.startswith(_GENERATE_LABEL) and (name, value) != _MANAGED_BY
    }
    rest = {name: value for name, value in metadata(obj).items() if name != "labels"}
    return {**obj, "metadata": {**rest, "labels": others} if others else rest}


FindReasons: TypeAlias = Callable[
    [ResourceAnswers, PolicyResponse, RuleResult], tuple[ReportedReason, ...]
]
FindMismatches: TypeAlias = Callable[
    [ResourceAnswers, Policy, Iterable[Rule]], tuple[ReportedReason, ...]
]


class RowContext(NamedTuple):
    """The results and files with which rows are compared."""

    observed: Observed
    files: Files
    refused: Mapping[str, str]
    """Names of invalid policies, each with the error."""
    unread: Mapping[str, str]
    """Names of policies that could not be read, and why; only the strict check reports them."""
    reasons: FindReasons = lambda _answers, _response, _result: ()
    """Explains a result; only the strict check needs it."""
    mismatches: FindMismatches = lambda _answers, _policy, _rules: ()
    """Explains why rules of a policy do not match a resource."""


def shown_key(key: ObjectKey) -> str:
    """Return the name of a resource, or a payload, in the column of resources."""
    if key.api_version or key.kind:
        return "/".join(key)
    return key.name if "/" in key.name and not key.namespace else f"{key.namespace}/{key.name}"


def generated_name(obj: KubernetesObject) -> str:
    """Return the name of a generated object in the column of resources."""
    return f"/{text_field(metadata(obj), 'name')}"


def outcome(row: ExpectedRow, rule: str, resource: str, verdict: RowVerdict) -> RowOutcome:
    """Return the outcome of a row for a verdict."""
    return RowOutcome(
        policy=row.policy,
        rule=rule,
        resource=resource,
        result="Pass" if verdict.passed else "Fail",
        reason=verdict.reason,
        message=verdict.message,
        difference=verdict.difference,
        goldens=verdict.goldens,
    )
