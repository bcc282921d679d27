"""The kinds of changes, one file each; which comes first decides nothing."""

from kyvsim.mutants.change import Kind
from kyvsim.mutants.changes import (
    anchors,
    any_or_all,
    cel_constants,
    cel_operators,
    condition_operators,
    constants,
    left_out,
    pattern_operators,
    pattern_values,
    pod_security_levels,
)

KINDS: tuple[Kind, ...] = (
    left_out.KIND,
    any_or_all.KIND,
    condition_operators.KIND,
    constants.KIND,
    anchors.KIND,
    pattern_operators.KIND,
    pattern_values.KIND,
    pod_security_levels.KIND,
    cel_operators.KIND,
    cel_constants.KIND,
)
