"""KH008: `background: false` beside rules that work in the background."""

from collections.abc import Iterator

from kyvsim.compile import Model
from kyvsim.languages.classic.checks.user_variables import user_dependencies
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts

_RIGHT = "`background: true` is right under both"
_REFUSED = (
    "`background: true` would be refused, since the policy asks who makes a request: rules that do "
    "so and rules that work in the background belong into two policies"
)


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield policies whose switch people read in two ways, and what each reading makes of it."""
    gates = facts.parts.settings.model is Model.BACKGROUND_GATES_GENERATE
    for policy in facts.policies:
        rules = [one for one in policy.rules if one.generates or one.mutates_existing]
        if policy.background or not rules:
            continue
        names = ", ".join(f"`{one.name}`" for one in rules)
        here = (
            "this run follows the other reading (model background-gates-generate): "
            "they do nothing for new objects"
            if gates
            else "this run follows Kyverno 1.19 (model kyverno-1.19): they work all the same"
        )
        asks = any(True for _ in user_dependencies(policy))
        advice = f"; {_REFUSED if asks else _RIGHT}"
        message = (
            f"`background: false` stands beside {names}: the code of Kyverno 1.19 does not ask it "
            "for generate and mutate existing rules, a report from the field says that it stops "
            f"them; {here}{advice}"
        )
        yield Hazard(
            "KH008",
            HazardLevel.ERROR if gates else HazardLevel.INFO,
            message,
            policies=tuple(f"{policy.key}/{one.name}" for one in rules),
            location=facts.place(policy, rules[0]),
        )
