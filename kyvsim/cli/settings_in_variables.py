"""What environment variables set for a command.

Codes: KV095 a key or variable that sets nothing, KV096 a value that does not fit its key.
"""

from collections.abc import Iterable, Iterator, Mapping

from kyvsim.cli.commands import every_command
from kyvsim.cli.declared import NO, PREFIX, YES, Command, Parameter, Setting, Settled, is_flag
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.source import Location


def variables_of(path: Iterable[str], parameter: Parameter) -> tuple[str, ...]:
    """Return the variables that set a parameter of a command, the weaker ones first."""
    keys = [key.replace("-", "_").upper() for key in parameter.keys]
    own = "_".join(path).upper()
    shared = [f"{PREFIX}{key}" for key in keys] if parameter.shared else []
    return (*shared, *(f"{PREFIX}{own}_{key}" for key in keys))


def settings_in_variables(
    path: tuple[str, ...], command: Command, variables: Mapping[str, str]
) -> Settled:
    """Return what variables, by their names, set for a command, and what is wrong with them."""
    settings: dict[str, Setting] = {}
    remarks: list[Diagnostic] = []
    left = dict(variables)
    for parameter in command.parameters:
        for name in variables_of(path, parameter):
            value = left.pop(name, None)
            if value is None:
                continue
            if is_flag(parameter) and value.lower() not in {*YES, *NO}:
                text = f"`{value}` is neither true nor false"
                remarks.append(Diagnostic("KV096", Severity.ERROR, text, Location(name)))
            settings[parameter.name] = Setting((value,), Location(name))
    return Settled(settings, (*remarks, *_misspelt(left)))


def _misspelt(variables: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield those that look like one of ours and set nothing in any command.

    Others may be anybody's, and are no business of ours.
    """
    if not variables:
        return
    known = {
        name
        for path, command in every_command().items()
        for parameter in command.parameters
        for name in variables_of(path, parameter)
    }
    for name in sorted(variables.keys() - known):
        hint = likely(name, known)
        if hint:
            text = f"the variable sets nothing{hint}"
            yield Diagnostic("KV095", Severity.WARNING, text, Location(name))
