"""How a MutatingPolicy changes the objects that are in a cluster already.

Requests that it matches are triggers of that. Then each variant of the policy changes each target,
one after the other, whatever kind the variant was made for: in the background nothing is matched.

Source of the rules: upstream pkg/background/mpol/processor.go, pkg/cel/policies/mpol (engine,
compiler/policy.go).
"""

from collections.abc import Sequence
from typing import NamedTuple

from kyvsim.engine.compile.compiled import Evaluation, Outcome, skipped
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.exceptions import Matched, excepted
from kyvsim.languages.cel.expressions import EvaluationError, all_hold
from kyvsim.languages.cel.mutating_policy import (
    KIND,
    MutatingPolicy,
    mutation_outcome,
    values_on_existing,
)
from kyvsim.languages.cel.mutation_targets import Targets


class TargetError(Exception):
    """Targets that an expression does not name; the text is upstream's."""


class ExistingChange(NamedTuple):
    """What one variant of a policy makes of existing objects."""

    policy: MutatingPolicy
    targets: Targets

    def wants(self, evaluation: Evaluation) -> bool:
        """Return whether the conditions for triggers hold; where one has no value they do not."""
        try:
            return all_hold(self.policy.conditions, self.policy.values.of(evaluation))
        except EvaluationError:
            return False

    def find(self, evaluation: Evaluation) -> Sequence[Json]:
        """Return the targets that the expression names for a trigger; raises TargetError."""
        values = values_on_existing(self.policy, evaluation)
        try:
            if not all_hold(self.policy.conditions, values):
                return ()
        except EvaluationError:
            return ()
        try:
            found = self.targets.named(values)
        except EvaluationError as error:
            raise TargetError(str(error)) from None
        for one in found:
            if one.__class__ is not dict:
                raise TargetError(f"item is not a valid Kubernetes object: {one}")
        return found

    def change(self, evaluation: Evaluation) -> Outcome:
        """Return the result for a target, with the object that the variant leaves of it."""
        exceptions = self.policy.exceptions
        try:
            matched = exceptions.matching(evaluation) if exceptions else Matched()
            if matched.is_full:
                return excepted(matched)
            seen = evaluation._replace(exceptions=matched.partial)
            values = values_on_existing(self.policy, seen)
            if not self.targets.take(values):
                return skipped("skip")
        except EvaluationError as error:
            return KIND.unevaluated(error)
        return mutation_outcome(self.policy, values, seen.object)
