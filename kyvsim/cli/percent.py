"""Options that are a number of percent."""

from decimal import Decimal, InvalidOperation
from typing import Any

from kyvsim.cli import declared


def percent_option(_call: declared.Call, _spelled: str, value: str | None) -> Any:
    """Return a number of percent, with or without its sign; None where it is not given."""
    if value is None:
        return None
    try:
        percent = Decimal(value.removesuffix("%"))
    except InvalidOperation:
        raise declared.BadValueError(f"`{value}` is no number") from None
    if not percent.is_finite() or not 0 <= percent <= 100:
        raise declared.BadValueError(f"`{value}` is not in the range from 0 to 100")
    return percent
