"""The function that makes random texts.

upstream: pkg/engine/jmespath/functions.go.
"""

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import STRING, Example, Function
from kyvsim.go.random_text import Chance, make_random
from kyvsim.kube.regexes import RegexError
from kyvsim.model.ports import System


def random(system: System, pattern: str) -> str:
    """Return a random text that fits `pattern`."""
    if not pattern:
        raise QueryError("no pattern provided")
    try:
        return make_random(pattern, Chance(system.entropy.below, system.meter.spend))
    except RegexError as error:
        raise QueryError(str(error)) from None


FUNCTIONS = (
    Function(
        "random",
        (STRING,),
        STRING,
        "a random text that fits a regular expression without Perl syntax, such as `[0-9a-z]{8}`",
        random,
        needs_system=True,
        examples=(Example("random('[a]{5}')", "aaaaa"),),
    ),
)
