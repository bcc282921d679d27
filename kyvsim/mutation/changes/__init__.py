"""The kinds of changes; their order has no effect."""

from kyvsim.mutation.change import Kind
from kyvsim.mutation.changes import cel, conditions, constants, patterns

KINDS: tuple[Kind, ...] = (
    conditions.LEFT_OUT,
    conditions.ANY_OR_ALL,
    conditions.CONDITION_OPERATORS,
    constants.CONSTANTS,
    patterns.ANCHORS,
    patterns.PATTERN_OPERATORS,
    patterns.PATTERN_VALUES,
    constants.POD_SECURITY_LEVELS,
    cel.CEL_OPERATORS,
    cel.CEL_CONSTANTS,
)
