"""`kyvsim test --mutants`: its options."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import click

from kyvsim.cli.options import seconds_option
from kyvsim.cli.parameters import Decorator, Effect, combined, option
from kyvsim.cli.percent import percent_option

_SECONDS = 120
_OPTIONS = ("mutants", "min_score")


class MutantsWish(NamedTuple):
    """What is asked for."""

    wanted: bool
    score: Decimal
    """Percent; 0 where nothing is asked for."""
    seconds: float


def mutants_options() -> Decorator:
    """Return the options; a least score asks for mutants, too."""
    return combined(
        option(
            "--mutants",
            effect=Effect.NONE,
            is_flag=True,
            help="Change the policies a little, and show which changes no test notices.",
        ),
        option(
            "--min-score",
            effect=Effect.NONE,
            metavar="PERCENT",
            callback=percent_option,
            help="Fail where tests notice less of the mutants.",
        ),
        seconds_option(
            _SECONDS, "With --mutants: stop after this time, and say how many are left."
        ),
    )


def mutants_wish(options: Mapping[str, Any], ctx: click.Context) -> MutantsWish:
    """Return what the options ask for; raise UsageError where another one does not go with it."""
    wanted = asks_for_mutants(options)
    if wanted and options["update"]:
        text = "--mutants does not go with --update: what is written would depend on the mutant"
        raise click.UsageError(text, ctx)
    return MutantsWish(wanted, options["min_score"] or Decimal(), options["seconds"])


def asks_for_mutants(options: Mapping[str, Any]) -> bool:
    """Return whether one of the options is given."""
    return any(options[name] not in {False, None} for name in _OPTIONS)
