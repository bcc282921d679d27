"""Commands that need packages which are not installed with kyvsim itself."""

import contextlib
from collections.abc import Iterator

import click


@contextlib.contextmanager
def of_extra(extra: str) -> Iterator[None]:
    """Let imports within need the packages of an extra; raises CommandError for one missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("kyvsim"):
            raise
        text = f"this needs the package {error.name}: pip install 'kyvsim[{extra}]'"
        raise click.ClickException(text) from None
