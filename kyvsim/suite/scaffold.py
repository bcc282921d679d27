"""Create rows and files of expected objects from the current results of policies.

INVARIANT: a row is only written if it passes the strict check, one resource at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, object_key
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.suite import ExpectedRow
from kyvsim.suite.check import check_row
from kyvsim.suite.compare import Files, RowContext, status_of, unmarked
from kyvsim.suite.row_targets import row_index
from kyvsim.suite.run import Observed, SuiteInputs

_AUTOGEN = ("autogen-cronjob-", "autogen-")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


class Scaffold(NamedTuple):
    """The content of a new manifest."""

    rows: tuple[ExpectedRow, ...]
    files: Mapping[str, tuple[KubernetesObject, ...]]
    """The expected objects by the name of their file."""
    notes: tuple[str, ...]
    """Notes for users: about rows, and about results that cannot have a row."""
    row_count: int
    """How many rows `kyvsim test` counts: an entry has one for each of its resources."""


class _CurrentRow(NamedTuple):
    """A current result as a row for one resource, and the objects for its file."""

    row: ExpectedRow
    key: ObjectKey
    result: RuleResult
    objects: tuple[KubernetesObject, ...]


def scaffold(
    inputs: SuiteInputs,
    observed: Observed,
    reread: Callable[[Mapping[str, tuple[KubernetesObject, ...]]], Files],
) -> Scaffold:
    """Return rows for the current results; `reread` returns files as a test reads them."""
    every = tuple(_results(observed))
    context = RowContext(observed, reread(_files(every)), {}, {})
    index = row_index(inputs)
    passing: list[_CurrentRow] = []
    notes: list[str] = []
    for current in every:
        if current.key.name and all(
            outcome.result == "Pass" for outcome in check_row(current.row, index, context)
        ):
            passing.append(current)
            result = current.result
            if result.status is RuleStatus.ERROR:
                # Manifests under `resources` answer no lookups, unlike those of `apply`.
                notes.append(
                    f"{_title(current)}: the row expects an error (what a rule looks up must be "
                    f"under `values` or `clusterResources` of the test): {result.message}"
                )
            passed = result.status is RuleStatus.PASS
            if passed and result.phase is Phase.GENERATE and not result.generated:
                reason = result.note or "no object was generated"
                notes.append(f"{_title(current)}: the row has no expected object: {reason}")
        else:
            notes.append(
                f"{_title(current)}: omitted, since a row cannot expect {current.row.result}"
            )
    policies_with_rows = {current.row.policy for current in every}
    notes += [
        f"{compiled.policy.key}: no row, since it has no result for these resources"
        for compiled in inputs.policies.policies
        if compiled.policy.key not in policies_with_rows
    ]
    rows = _grouped(passing)
    count = sum(sum(1 for _ in check_row(row, index, context)) for row in rows)
    return Scaffold(rows, _files(passing), tuple(dict.fromkeys(notes)), count)


def _results(observed: Observed) -> Iterator[_CurrentRow]:
    triggers = observed.triggers[""]
    names = Counter(key.name for key in triggers)
    for key, answers in triggers.items():
        short = key.name if names[key.name] == 1 or not key.namespace else ""
        name = short or f"{key.namespace}/{key.name}"
        for response in (responses for every in answers.responses.values() for responses in every):
            for result in response.results:
                yield _now(key, name, response, result)


def _now(key: ObjectKey, name: str, response: PolicyResponse, result: RuleResult) -> _CurrentRow:
    policy = response.policy
    patched = result.phase is Phase.MUTATE and result.status is RuleStatus.PASS
    objects: tuple[KubernetesObject, ...] = tuple(map(unmarked, result.generated))
    if patched:
        objects = tuple(target.object for target in result.targets) or (response.object,)
    # For a derived rule, the row names the original rule.
    name_of_rule, written = result.rule.name, {rule.name for rule in policy.rules}
    bases = [
        name_of_rule,
        *(name_of_rule.removeprefix(p) for p in _AUTOGEN if name_of_rule.startswith(p)),
    ]
    stem = "".join(character if character in _SAFE else "_" for character in policy.key)[:200]
    row = ExpectedRow(
        policy=policy.key,
        rule=next((base for base in bases if base in written), name_of_rule),
        result=status_of(policy, result),
        resources=(name,),
        kind=key.kind,
        patched=f"{stem}-patched.yaml" if patched else "",
        generated=(f"{stem}-generated.yaml",) if result.generated else (),
    )
    return _CurrentRow(row, key, result, objects)


def _files(rows: Iterable[_CurrentRow]) -> dict[str, tuple[KubernetesObject, ...]]:
    """Return the distinct objects of each file; the first state of an object counts."""
    files: dict[str, dict[ObjectKey, KubernetesObject]] = {}
    for current in rows:
        for file in filter(None, (current.row.patched, *current.row.generated)):
            known = files.setdefault(file, {})
            for obj in current.objects:
                known.setdefault(object_key(obj), obj)
    return {file: tuple(known.values()) for file, known in files.items()}


def _grouped(current_rows: Iterable[_CurrentRow]) -> tuple[ExpectedRow, ...]:
    """Return one row for all resources with the same expectation, policy by policy."""
    groups: dict[ExpectedRow, dict[str, None]] = {}
    for current in current_rows:
        names = groups.setdefault(current.row._replace(resources=None), {})
        names.update(dict.fromkeys(current.row.resources or ()))
    rows = [row._replace(resources=tuple(names)) for row, names in groups.items()]
    order = {row.policy: n for n, row in reversed(list(enumerate(rows)))}
    return tuple(sorted(rows, key=lambda row: order[row.policy]))


def _title(current: _CurrentRow) -> str:
    key = current.key
    resource = "/".join(filter(None, (key.namespace, key.kind, key.name or "?")))
    return f"{current.row.policy} / {current.row.rule} on {resource}"


def row_data(row: ExpectedRow) -> dict[str, object]:
    """Return a row as an entry under `results`."""
    entry: dict[str, object] = {
        "policy": row.policy,
        "rule": row.rule,
        "kind": row.kind,
        "resources": list(row.resources or ()),
        "result": row.result,
    }
    if row.patched:
        entry["patchedResources"] = row.patched
    if row.generated:
        entry["generatedResource"] = row.generated[0]
    return entry
