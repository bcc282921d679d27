"""Standard input where an option asks for it by `-`."""

from collections.abc import Mapping, Sequence

from kyvsim.cli import declared
from kyvsim.cli.streams import read_stdin


def stdin_of(given: Mapping[str, str | Sequence[str]], call: declared.Call) -> bytes | None:
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
        shown = " and ".join(_spelled(name, call) for name in asking)
        raise declared.UsageError(f"standard input (-) can hold only one of {shown}", call)
    return read_stdin()


def _spelled(name: str, call: declared.Call) -> str:
    """Return a parameter as the user spells it."""
    found = next(one for one in call.command.parameters if one.name == name)
    if not found.is_option:
        return "the policies"
    return next(one for one in found.spellings if one.startswith("--"))
