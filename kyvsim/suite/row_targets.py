"""Which policies, rules and resources a row names, and which rows are selected."""

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
    """A policy that a row means, and those of its rules that the row means."""

    compiled: CompiledPolicy
    rules: tuple[CompiledRule, ...]


class RowIndex(NamedTuple):
    """What the rows of a manifest can mean, by its names."""

    policies: PolicySet
    called: Mapping[str, Sequence[CompiledPolicy]]
    """The policies by their names, and by their keys where these are others."""
    resources: tuple[ObjectKey, ...]
    named: Mapping[str, Sequence[int]]
    """The places of resources in `resources`, by NAME and by NAMESPACE/NAME."""
    rules: Mapping[Policy, Sequence[CompiledRule]]
    """By the id of a policy its rules, each once, but for derived ones that no resource meets."""
    payloads: tuple[int, ...]
    """The indexes of payloads, which paths lead to as well."""


def row_index(inputs: SuiteInputs) -> RowIndex:
    """Return what rows can mean of what a manifest names."""
    called: dict[str, list[CompiledPolicy]] = {}
    for one in inputs.policies.policies:
        for name in {one.policy.name, one.policy.key}:
            called.setdefault(name, []).append(one)
    keys = object_keys(inputs)
    named: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        for name in {key.name, f"{key.namespace}/{key.name}"}:
            named.setdefault(name, []).append(place)
    payloads = tuple(place for place, key in enumerate(keys) if not key.kind)
    kinds = frozenset(key.kind for key in keys)
    rules: dict[Policy, Sequence[CompiledRule]] = {}
    for one in inputs.policies.policies:
        # Rules that derivation adds count only if resources of these kinds can meet them.
        derives = one.derivation is not None and any(map(one.derivation.concerns, kinds))
        rules[one.policy] = _every(one) if derives else one.plain
    return RowIndex(inputs.policies, called, keys, named, rules, payloads)


def target_policies(row: ExpectedRow, known: RowIndex) -> tuple[TargetPolicy, ...]:
    """Return the policies that have the row's name and its rule."""
    found = [TargetPolicy(one, _meant(one, row, known)) for one in known.called.get(row.policy, ())]
    return tuple([one for one in found if one.rules])


def _meant(one: CompiledPolicy, row: ExpectedRow, known: RowIndex) -> tuple[CompiledRule, ...]:
    rules = known.rules[one.policy] if not is_derived(row.rule) else _every(one)
    return tuple([rule for rule in rules if means_rule(row, one.policy, rule.rule.name)])


def _every(compiled: CompiledPolicy) -> Sequence[CompiledRule]:
    return tuple({(rule.rule, rule.stage): rule for rule in compiled.every}.values())


def missing_target(row: ExpectedRow, known: RowIndex, refused: Mapping[str, str]) -> RowVerdict:
    """Return why no policy has the row's name and rule."""
    named = known.called.get(row.policy)
    if named:
        rules = [rule.rule.name for one in named for rule in one.rules]
        text = f"policy `{row.policy}` has no rule `{row.rule}`{likely(row.rule, rules)}"
        return RowVerdict(False, "Rule not found", text)
    name = row.policy.rpartition("/")[2]
    invalid = refused.get(name)
    if invalid is not None:
        return RowVerdict(False, "Invalid policy", invalid)
    keys = [one.policy.key for one in known.policies.policies]
    hint = likely(row.policy, keys) or likely(name, keys)
    hint = hint or (f": there are {listed(keys)}" if keys else "")
    return RowVerdict(False, "Policy not found", f"no policy is named `{row.policy}`{hint}")


def target_resources(
    row: ExpectedRow, known: RowIndex
) -> tuple[tuple[ObjectKey, ...], list[tuple[str, RowVerdict]]]:
    """Return the resources that a row names, all where it names none, and what nobody is called.

    Of several resources with one name those of the row's kind are meant, if there are any.
    """
    every = known.resources
    if row.resources is None and not row.specs:
        return every, []
    found: list[ObjectKey] = []
    unknown: list[tuple[str, RowVerdict]] = []
    for name in row.resources or ():
        # The resources that a name is for, in their order.
        led = (place for place in known.payloads if leads_to_payload(name, known.resources[place]))
        places = sorted({*chain(known.named.get(name, ()), led)})
        keys = [known.resources[place] for place in places]
        found += [key for key in keys if key.kind == row.kind] or keys
        if not keys:
            names = [
                key.name if "/" not in name else f"{key.namespace}/{key.name}" for key in every
            ]
            unknown.append(
                (
                    name,
                    RowVerdict(
                        False, _NO_RESOURCE, f"no resource is named `{name}`{likely(name, names)}"
                    ),
                )
            )
    for spec in row.specs:
        keys = [
            key
            for key in every
            if all(part in {"", own} for part, own in zip(spec, key, strict=True))
        ]
        found += keys
        if not keys:
            shown = "/".join(filter(None, spec))
            unknown.append(
                (shown, RowVerdict(False, _NO_RESOURCE, f"no resource matches `{shown}`"))
            )
    return tuple(dict.fromkeys(found)), unknown


# The test case selector: `policy=…,rule=…,resource=…` with wildcards.
#
# Source of the rules: upstream cmd/cli/kubectl-kyverno/test/filter


class RowSelectorError(ValueError):
    """Text that is no selector."""


class RowSelector(NamedTuple):
    """Patterns that all must fit; a row that leaves a field empty fits every pattern."""

    policies: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()

    def narrow(self, row: ExpectedRow, *, lenient: bool) -> ExpectedRow | None:
        """Return the row with the resources that are selected, None where it is not.

        The reference program checks the patterns in place of the row's resources, literally.
        """
        if row.policy and not all(matches(one, row.policy) for one in self.policies):
            return None
        if row.rule and not all(matches(one, row.rule) for one in self.rules):
            return None
        narrow = [one for one in self.resources if one != "*"]
        if not narrow:
            return row
        named = row.resources or ()
        if named and not all(any(matches(one, name) for name in named) for one in narrow):
            return None
        if lenient:
            return row._replace(resources=tuple(narrow))
        if not named:
            return row
        chosen = tuple(name for name in named if any(matches(one, name) for one in narrow))
        return row._replace(resources=chosen)


def parse_selector(text: str) -> RowSelector:
    """Return the selector that a text means; raise SelectorError where it is none."""
    found: dict[str, list[str]] = {"policy": [], "rule": [], "resource": []}
    for part in text.split(",") if text else ():
        name, _, value = (piece.strip() for piece in part.partition("="))
        if "=" not in part or "=" in value:
            raise RowSelectorError(f"{part}: not of the form name=pattern")
        if name not in found:
            raise RowSelectorError(f"{part}: it can only be policy, rule or resource")
        found[name].append(value)
    return RowSelector(*(tuple(patterns) for patterns in found.values()))
