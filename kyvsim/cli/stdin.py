"""Standard input where an option asks for it by `-`."""

from collections.abc import Mapping, Sequence

import click

from kyvsim.cli.streams import read_stdin


def stdin_of(given: Mapping[str, str | Sequence[str]], ctx: click.Context) -> bytes | None:
    """Return all of standard input where one of some parameters asks for it, else None.

    Raises UsageError where more than one does: what is read once cannot serve two purposes.
    """
    asking = [
        name
        for name, paths in given.items()
        if "-" in ((paths,) if isinstance(paths, str) else paths)
    ]
    if not asking:
        return None
    if len(asking) > 1:
        shown = " and ".join(_spelled(name, ctx) for name in asking)
        raise click.UsageError(f"standard input (-) can hold only one of {shown}", ctx)
    return read_stdin()


def _spelled(name: str, ctx: click.Context) -> str:
    """Return a parameter as the user spells it."""
    found = next(one for one in ctx.command.params if one.name == name)
    if isinstance(found, click.Argument):
        return "the policies"
    return next(one for one in found.opts if one.startswith("--"))
