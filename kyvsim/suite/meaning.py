"""Which policies, rules and resources a row means, and what to say where they do not exist."""

from collections.abc import Iterable, Mapping

from kyvsim.compile import CompiledPolicy, CompiledRule, PolicySet
from kyvsim.kube.objects import ObjectKey
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.suite import ExpectedRow, ResourceSpec
from kyvsim.model.wording import likely, listed
from kyvsim.suite.run import SuiteInputs, leads_to_payload, object_keys
from kyvsim.suite.verdict import Verdict, means_rule


class Meant(NamedTuple):
    """A policy that a row means, and those of its rules that the row means."""

    compiled: CompiledPolicy
    rules: tuple[CompiledRule, ...]


def policies_meant(row: ExpectedRow, policies: PolicySet) -> tuple[Meant, ...]:
    """Return the policies that have the row's name and its rule."""
    named = (one for one in policies.policies if _is_called(one, row.policy))
    found = (Meant(one, tuple(_rules(one, row))) for one in named)
    return tuple(one for one in found if one.rules)


def _is_called(compiled: CompiledPolicy, name: str) -> bool:
    return name in {compiled.policy.name, compiled.policy.key}


def _rules(compiled: CompiledPolicy, row: ExpectedRow) -> Iterable[CompiledRule]:
    every = [*compiled.rules, *compiled.validating_others]
    every += [rule for rules in compiled.validating.values() for rule in rules]
    known = {id(rule): rule for rule in every}
    return (rule for rule in known.values() if means_rule(row, compiled.policy, rule.rule.name))


def nothing_meant(row: ExpectedRow, policies: PolicySet, refused: Mapping[str, str]) -> Verdict:
    """Return why no policy has the row's name and rule."""
    named = [one for one in policies.policies if _is_called(one, row.policy)]
    if named:
        rules = [rule.rule.name for one in named for rule in one.rules]
        text = f"policy `{row.policy}` has no rule `{row.rule}`{likely(row.rule, rules)}"
        return Verdict(False, "Rule not found", text)
    name = row.policy.rpartition("/")[2]
    invalid = refused.get(name)
    if invalid is not None:
        return Verdict(False, "Invalid policy", invalid)
    hint = likely(row.policy, (one.policy.key for one in policies.policies))
    hint = hint or likely(name, (one.policy.key for one in policies.policies))
    known = listed(one.policy.key for one in policies.policies)
    hint = hint or (f": there are {known}" if known else "")
    return Verdict(False, "Policy not found", f"there is no policy `{row.policy}`{hint}")


def resources_meant(
    row: ExpectedRow, inputs: SuiteInputs
) -> tuple[tuple[ObjectKey, ...], list[tuple[str, Verdict]]]:
    """Return the resources that a row names, all where it names none, and what nobody is called.

    Of several resources with one name those of the row's kind are meant, if there are any.
    """
    every = object_keys(inputs)
    if row.resources is None and not row.specs:
        return every, []
    found: list[ObjectKey] = []
    unknown: list[tuple[str, Verdict]] = []
    called = _by_name(every) if row.resources else {}
    payloads = [key for key in every if not key.kind]
    for name in row.resources or ():
        keys = called.get(name, [])
        if payloads:  # told by their paths, too
            keys = [key for key in every if key in keys or leads_to_payload(name, key)]
        found += [key for key in keys if key.kind == row.kind] or keys
        if not keys:
            names = [
                key.name if "/" not in name else f"{key.namespace}/{key.name}" for key in every
            ]
            unknown.append((name, _absent(f"no resource is called `{name}`{likely(name, names)}")))
    for spec in row.specs:
        keys = [key for key in every if _fits(key, spec)]
        found += keys
        if not keys:
            shown = "/".join(filter(None, spec))
            unknown.append((shown, _absent(f"no resource is `{shown}`")))
    return tuple(dict.fromkeys(found)), unknown


def _by_name(keys: Iterable[ObjectKey]) -> dict[str, list[ObjectKey]]:
    """Return what bears each name, with its namespace and without."""
    found: dict[str, list[ObjectKey]] = {}
    for key in keys:
        for name in {key.name, f"{key.namespace}/{key.name}"}:
            found.setdefault(name, []).append(key)
    return found


def _absent(text: str) -> Verdict:
    return Verdict(False, "Resource not found", text)


def _fits(key: ObjectKey, spec: ResourceSpec) -> bool:
    return all(not wanted or wanted == own for wanted, own in zip(spec, key, strict=True))
