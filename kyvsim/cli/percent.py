"""Options that are a number of percent."""

from decimal import Decimal, InvalidOperation
from typing import Any

import click


def percent_option(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
    """Return a number of percent, with or without its sign; None where it is not given."""
    if value is None:
        return None
    try:
        percent = Decimal(value.removesuffix("%"))
    except InvalidOperation:
        raise click.BadParameter(f"`{value}` is no number") from None
    if not percent.is_finite() or not 0 <= percent <= 100:
        raise click.BadParameter(f"`{value}` is not in the range from 0 to 100")
    return percent
