"""The policies, rules and resources that a row names, and the selection of rows."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from kyvsim.engine.compile import CompiledPolicy, CompiledRule, PolicySet
from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.diagnostic import likely, listed
from kyvsim.model.policy import Policy
from kyvsim.model.suite import ExpectedRow
from kyvsim.suite.compare import RowVerdict, is_derived, means_rule
from kyvsim.suite.run import SuiteInputs, leads_to_payload, object_keys

_NO_RESOURCE = "Resource not found"


class TargetPolicy(NamedTuple):
    """A policy that a row selects, with the selected rules."""

    compiled: CompiledPolicy
    rules: tuple[CompiledRule, ...]


class RowIndex(NamedTuple):
    """Policies, rules and resources that rows can name."""

    policies: PolicySet
    policies_by_name: Mapping[str, Sequence[CompiledPolicy]]
    """The policies by name, and by key if that is different."""
    resources: tuple[ObjectKey, ...]
    resources_by_name: Mapping[str, Sequence[int]]
    """The indexes of resources in `resources`, by NAME and by NAMESPACE/NAME."""
    rules: Mapping[Policy, Sequence[CompiledRule]]
    """The distinct rules of a policy, without derived ones that no resource matches."""
    payloads: tuple[int, ...]
    """The indexes of payloads, which can be named by path, too."""


def row_index(inputs: SuiteInputs) -> RowIndex:
    """Return the policies, rules and resources of a manifest by name."""
    policies_by_name: dict[str, list[CompiledPolicy]] = {}
    for compiled in inputs.policies.policies:
        for name in {compiled.policy.name, compiled.policy.key}:
            policies_by_name.setdefault(name, []).append(compiled)
    keys = object_keys(inputs)
    named: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        for name in {key.name, f"{key.namespace}/{key.name}"}:
            named.setdefault(name, []).append(place)
    payloads = tuple(place for place, key in enumerate(keys) if not key.kind)
    kinds = frozenset(key.kind for key in keys)
    rules: dict[Policy, Sequence[CompiledRule]] = {}
    for compiled in inputs.policies.policies:
        # Derived rules count only if resources have one of their kinds.
        derives = compiled.derivation is not None and any(map(compiled.derivation.concerns, kinds))
        rules[compiled.policy] = _every(compiled) if derives else compiled.plain
    return RowIndex(inputs.policies, policies_by_name, keys, named, rules, payloads)


def target_policies(row: ExpectedRow, index: RowIndex) -> tuple[TargetPolicy, ...]:
    """Return the policies that have the row's name and its rule."""
    targets = []
    for compiled in index.policies_by_name.get(row.policy, ()):
        policy = compiled.policy
        rules = index.rules[policy] if not is_derived(row.rule) else _every(compiled)
        meant = [rule for rule in rules if means_rule(row, policy, rule.rule.name)]
        if meant:
            targets.append(TargetPolicy(compiled, tuple(meant)))
    return tuple(targets)


def _every(compiled: CompiledPolicy) -> Sequence[CompiledRule]:
    return tuple({(rule.rule, rule.stage): rule for rule in compiled.every}.values())


def missing_target(row: ExpectedRow, index: RowIndex, refused: Mapping[str, str]) -> RowVerdict:
    """Return why no policy has the row's name and rule."""
    named = index.policies_by_name.get(row.policy)
    if named:
        rules = [rule.rule.name for compiled in named for rule in compiled.rules]
        text = f"policy `{row.policy}` has no rule `{row.rule}`{likely(row.rule, rules)}"
        return RowVerdict(False, "Rule not found", text)
    name = row.policy.rpartition("/")[2]
    invalid = refused.get(name)
    if invalid is not None:
        return RowVerdict(False, "Invalid policy", invalid)
    keys = [compiled.policy.key for compiled in index.policies.policies]
    hint = likely(row.policy, keys) or likely(name, keys)
    hint = hint or (f": there are {listed(keys)}" if keys else "")
    return RowVerdict(False, "Policy not found", f"no policy is named `{row.policy}`{hint}")


def _others(kind: str, names: Sequence[str]) -> str:
    verb = "are" if names[1:] else "is"
    return f": there {verb} {listed(names)} of kind {kind}" if names else ""


def target_resources(
    row: ExpectedRow, index: RowIndex
) -> tuple[tuple[ObjectKey, ...], list[tuple[str, RowVerdict]]]:
    """Return the resources that a row names, all if it names none, and names that do not exist.

    If several resources have the same name, those of the row's kind are preferred.
    """
    every = index.resources
    if row.resources is None and not row.specs:
        return every, []
    named_keys: list[ObjectKey] = []
    unknown: list[tuple[str, RowVerdict]] = []
    for name in row.resources or ():
        # The resources with a name, in order.
        led = (place for place in index.payloads if leads_to_payload(name, index.resources[place]))
        places = sorted({*chain(index.resources_by_name.get(name, ()), led)})
        keys = [index.resources[place] for place in places]
        named_keys += [key for key in keys if key.kind == row.kind] or keys
        if not keys:
            names = [
                key.name if "/" not in name else f"{key.namespace}/{key.name}" for key in every
            ]
            of_kind = [one for one, key in zip(names, every, strict=True) if key.kind == row.kind]
            hint = likely(name, names) or _others(row.kind, of_kind)
            text = f"no resource is named `{name}`{hint}"
            unknown.append((name, RowVerdict(False, _NO_RESOURCE, text)))
    for spec in row.specs:
        pairs = ((key, zip(spec, key, strict=True)) for key in every)
        keys = [key for key, parts in pairs if all(part in {"", own} for part, own in parts)]
        named_keys += keys
        if not keys:
            shown = "/".join(filter(None, spec))
            text = f"no resource matches `{shown}`"
            unknown.append((shown, RowVerdict(False, _NO_RESOURCE, text)))
    return tuple(dict.fromkeys(named_keys)), unknown


# The test case selector: `policy=…,rule=…,resource=…` with wildcards.
#
# Source of the rules: upstream cmd/cli/kubectl-kyverno/test/filter


class RowSelectorError(ValueError):
    """Text that is not a selector."""


class RowSelector(NamedTuple):
    """Patterns that must all match; an empty field of a row matches every pattern."""

    policies: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()

    def narrow(self, row: ExpectedRow, *, lenient: bool) -> ExpectedRow | None:
        """Return the row with the selected resources, None if it is not selected.

        Kyverno's CLI replaces the row's resources by the patterns, literally.
        """
        if row.policy and not all(matches(pattern, row.policy) for pattern in self.policies):
            return None
        if row.rule and not all(matches(pattern, row.rule) for pattern in self.rules):
            return None
        narrow = [pattern for pattern in self.resources if pattern != "*"]
        if not narrow:
            return row
        named = row.resources or ()
        if named and not all(any(matches(pattern, name) for name in named) for pattern in narrow):
            return None
        if lenient:
            return row._replace(resources=tuple(narrow))
        if not named:
            return row
        chosen = tuple(name for name in named if any(matches(pattern, name) for pattern in narrow))
        return row._replace(resources=chosen)


def parse_selector(text: str) -> RowSelector:
    """Parse a selector; raise RowSelectorError if it is invalid."""
    patterns_by_field: dict[str, list[str]] = {"policy": [], "rule": [], "resource": []}
    for part in text.split(",") if text else ():
        name, _, value = (piece.strip() for piece in part.partition("="))
        if "=" not in part or "=" in value:
            raise RowSelectorError(f"{part}: not of the form name=pattern")
        if name not in patterns_by_field:
            raise RowSelectorError(f"{part}: it can only be policy, rule or resource")
        patterns_by_field[name].append(value)
    return RowSelector(*(tuple(patterns) for patterns in patterns_by_field.values()))
