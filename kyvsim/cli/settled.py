"""What is set for a command outside of its line: by variables, and by a project's configuration.

What stands on the line counts first, then `KYVSIM_COMMAND_OPTION`, `KYVSIM_OPTION`, the command's
part of the configuration, and its keys for all commands. Where nothing is set, nothing is loaded.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kyvsim.cli.declared import (
    CONFIG,
    CONFIG_OPTIONS,
    NO,
    NO_CONFIG,
    PREFIX,
    Call,
    Command,
    Parameter,
    Settled,
    UsageError,
    is_flag,
)
from kyvsim.load.project_file import ConfigurationFiles, project_files

_FILE = f"{PREFIX}CONFIG"
"""Names a configuration; empty for none."""
_OTHERS = frozenset({_FILE, f"{PREFIX}TRACEBACK"})


def settled(call: Call, words: Sequence[str]) -> Settled:
    """Return what is set for a call, but for flags that its words switch off, and what is wrong."""
    files, variables = configuration_files(call), variables_now()
    if not (files.paths or variables):
        return Settled(config=call.config)
    from kyvsim.cli.settings import every_setting  # noqa: PLC0415 — slow, where something is set

    every = every_setting(tuple(call.path.split()[1:]), call.command, files, variables)
    off = set(_switched_off(call.command, words))
    kept = {name: one for name, one in every.settings.items() if name not in off}
    return every._replace(settings=kept, config=call.config)


def configuration_files(call: Call) -> ConfigurationFiles:
    """Return the configuration that counts here and now, and whether the user named it."""
    file = os.environ.get(_FILE) if call.config is None else call.config
    if file is None:
        return ConfigurationFiles(project_files(), named=False)
    return ConfigurationFiles((file,) if file else ())


def variables_now() -> Mapping[str, str]:
    """Return the variables that are there to set something."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(PREFIX) and name not in _OTHERS
    }


def leading_options(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the options on the configuration before the command, and the other arguments."""
    end = 0
    while end < len(arguments):
        name, equals, _ = arguments[end].partition("=")
        if name == "--no-config" and not equals:
            end += 1
        elif name == "--config" and (equals or end + 1 < len(arguments)):
            end += 1 if equals else 2
        else:
            break
    return arguments[:end], arguments[end:]


def named_configuration(call: Call, leading: Sequence[str], words: Sequence[str]) -> str | None:
    """Return the configuration that a line names, "" for none, None where it does not say.

    Raises UsageError where it says both. `leading` are the options before the command.
    """
    given = [*_given(CONFIG_OPTIONS, leading), *_given(call.command.parameters, words)]
    files = [value for name, value in given if name == CONFIG]
    if len(files) == len(given):
        return files[-1] if files else None
    if files:
        raise UsageError("--config and --no-config exclude each other: give one of them", call)
    return ""


def _given(parameters: Iterable[Parameter], words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options on the configuration that words give, with their values."""
    known = {name: one for one in parameters for name in one.spellings}
    rest = iter(words)
    for word in rest:
        if word == "--":
            return
        name, equals, value = word.partition("=")
        option = known.get(name)
        if option is None or is_flag(option):
            if option is not None and option.name == NO_CONFIG:
                yield NO_CONFIG, ""
            continue
        if not equals and "flag_value" not in option.settings:
            value = next(rest, "")
        if option.name == CONFIG:
            yield CONFIG, value


def _switched_off(command: Command, words: Iterable[str]) -> Iterator[str]:
    """Yield the flags of which a line says, as in Go, that they do not hold."""
    flags = {name: one for one in command.parameters if is_flag(one) for name in one.spellings}
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in flags and value.lower() in NO:
            yield flags[name].name
