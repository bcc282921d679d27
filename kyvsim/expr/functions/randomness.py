"""The function that makes random texts.

upstream: pkg/engine/jmespath/functions.go.
"""

from functools import lru_cache

from kyvsim.expr.environment import Environment
from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.random_text import Maker, compile_random
from kyvsim.expr.functions.record import STRING, Example, Function


def random(env: Environment, pattern: str) -> str:
    """Return a random text that fits `pattern`."""
    if not pattern:
        raise QueryError("no pattern provided")
    return _maker(pattern)(env.entropy)


@lru_cache(maxsize=64)
def _maker(pattern: str) -> Maker:
    return compile_random(pattern)


FUNCTIONS = (
    Function(
        "random",
        (STRING,),
        STRING,
        "a random text that fits a regular expression without Perl syntax, such as `[0-9a-z]{8}`",
        random,
        needs_environment=True,
        examples=(Example("random('[a]{5}')", "aaaaa"),),
    ),
)
