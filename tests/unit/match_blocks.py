"""Match blocks as they are written, compiled."""

from kyvsim.engine.match import compile_exception_match, compile_rule_match, criteria_of
from kyvsim.policy.read import read_match


def block(written, name="match"):
    return read_match(written, (name,))


def rule_match(match, exclude=None, namespace="", *more, **options):
    excluded = None if exclude is None else block(exclude, "exclude")
    return compile_rule_match(block(match), excluded, namespace, *more, **options)


def exception_match(written, **options):
    return compile_exception_match(block(written), **options)


def criteria(written):
    """The criteria of one filter, compiled."""
    one = block(written).own
    return [criterion.compile(one) for criterion in criteria_of(one)]
