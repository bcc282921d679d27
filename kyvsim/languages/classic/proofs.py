"""Proofs: they determine results of rules without evaluating them.

Plans use them. A proof must agree with the body that the module of its rule type compiles.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kyvsim.engine.compile.compiled import Proof, Proofs
from kyvsim.engine.conditions.shape import (
    confirming_shape,
    elements_shape,
    is_seen_whole,
    reads_only,
    refuting_shape,
)
from kyvsim.engine.pattern.shape import PatternShape, alternative_shapes, pattern_shape
from kyvsim.engine.prefilter import Shape, ValueShape, together
from kyvsim.jmespath import compile_template
from kyvsim.languages.classic.rule_type import (
    LOOPS_PASSED,
    RuleContext,
    chosen_pass,
    has_fixed_message,
    usual_pass,
    validation_of,
)
from kyvsim.policy.read import with_data
from kyvsim.policy.tree import Pattern, PatternMap


def prove(field: tuple[str, ...], context: RuleContext) -> Proofs:
    """Return the proofs for a rule whose type has this field, as in `RuleType.field`."""
    preconditions = context.rule.tree.preconditions
    of_body = PROOFS.get(field) or (lambda _: ())
    if reads_only(preconditions, "request", "operation"):
        return Proofs(of_body(context), after_preconditions=preconditions is not None)
    shape = confirming_shape(preconditions, ("request", "object"))
    if shape is None:
        return Proofs((), after_preconditions=False)
    joined = (proof._replace(shape=together((shape, proof.shape))) for proof in of_body(context))
    return Proofs(tuple(joined), after_preconditions=False)


def _pattern(context: RuleContext) -> tuple[Proof, ...]:
    found = _fixed_pattern_shape(context, validation_of(context.rule.tree).pattern)
    if found is None:
        return ()
    shape, exact = found
    return (Proof(shape, usual_pass(context), exact, exact and has_fixed_message(context)),)


def _any_pattern(context: RuleContext) -> tuple[Proof, ...]:
    """Return proofs that one of the patterns matches: the first, or one after exact ones."""
    patterns = validation_of(context.rule.tree).any_pattern or ()
    template = compile_template([one.data for one in patterns], context.system)
    if not template.constant:
        return ()
    found: list[Proof] = []
    for index, known in enumerate(alternative_shapes(map(with_data, patterns, template.value))):
        if known is None:
            break
        shape, exact = known
        found.append(Proof(shape, chosen_pass(context, index), exact))
        if not exact:
            break
    are_all = len(found) == len(patterns) and all(one.exact for one in found)
    is_all = are_all and has_fixed_message(context)
    return tuple(one._replace(is_all=is_all) for one in found)


def _deny(context: RuleContext) -> tuple[Proof, ...]:
    deny = validation_of(context.rule.tree).deny
    denied = deny and deny.conditions
    shape = refuting_shape(denied, ("request", "object"))
    is_all = is_seen_whole(denied) and has_fixed_message(context)
    return (Proof(shape, usual_pass(context), is_all=is_all),) if shape else ()


def _foreach(context: RuleContext) -> tuple[Proof, ...]:
    """Return the proof that loops pass for some elements; they have only `pattern` or `deny`."""
    shapes: list[Shape] = []
    is_all = True
    for loop in validation_of(context.rule.tree).foreach or ():
        if any(loop._replace(path=(), list="", deny=None, pattern=None)):
            return ()
        if loop.pattern is None:
            denied = loop.deny and loop.deny.conditions
            element = refuting_shape(denied, ("element",))
            is_all = is_all and is_seen_whole(denied) and has_fixed_message(context)
        # Only maps are matched with patterns themselves; for other elements it is the whole object.
        elif (
            loop.deny is None
            and loop.element_scope is None
            and isinstance(loop.pattern.root, PatternMap)
        ):
            found = _fixed_pattern_shape(context, loop.pattern)
            # For an empty map, the pattern checks the whole object.
            element = found and together((ValueShape(_is_filled), found[0]))
            is_all = is_all and bool(found and found[1]) and has_fixed_message(context)
        else:
            return ()
        shape = element and elements_shape(loop.list, element, "request", "object")
        if shape is None:
            return ()
        shapes.append(shape)
    return (Proof(together(shapes), LOOPS_PASSED, is_all=is_all),) if shapes else ()


def _is_filled(value: object) -> bool | None:
    return bool(value) or None


def _fixed_pattern_shape(context: RuleContext, pattern: Pattern | None) -> PatternShape | None:
    template = compile_template(pattern and pattern.data, context.system)
    if pattern is None or not template.constant:
        return None
    return pattern_shape(with_data(pattern, template.value).root)


PROOFS: Final[Mapping[tuple[str, ...], Callable[[RuleContext], tuple[Proof, ...]]]] = {
    ("validate", "pattern"): _pattern,
    ("validate", "anyPattern"): _any_pattern,
    ("validate", "deny"): _deny,
    ("validate", "foreach"): _foreach,
}
"""Functions that compile proofs, by body path; only without `context`, and for CREATE requests."""
