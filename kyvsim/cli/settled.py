"""What is set for a command outside of its line: by variables, and by a project's configuration.

What stands on the line counts first, then `KYVSIM_COMMAND_OPTION`, `KYVSIM_OPTION`, the command's
part of the configuration, and its keys for all commands. Where nothing is set, nothing is loaded.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kyvsim.cli.declared import PREFIX, Call, Command, Settled
from kyvsim.cli.plain_arguments import NO, is_flag
from kyvsim.load.project_file import project_files

_FILE = f"{PREFIX}CONFIG"
"""Names another configuration; empty for none."""
_OTHERS = frozenset({_FILE, f"{PREFIX}TRACEBACK"})


def settled(call: Call, words: Sequence[str]) -> Settled:
    """Return what is set for a call, but for flags that its words switch off, and what is wrong."""
    files, variables = configuration_files(), variables_now()
    if not (files or variables):
        return Settled()
    from kyvsim.cli.settings import every_setting  # noqa: PLC0415 — slow, where something is set

    every = every_setting(tuple(call.path.split()[1:]), call.command, files, variables)
    off = set(_switched_off(call.command, words))
    return every._replace(
        settings={name: one for name, one in every.settings.items() if name not in off}
    )


def configuration_files() -> tuple[str, ...]:
    """Return the configuration that counts here and now; two where it is not clear which."""
    file = os.environ.get(_FILE)
    if file is None:
        return project_files()
    return (file,) if file else ()


def variables_now() -> Mapping[str, str]:
    """Return the variables that are there to set something."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(PREFIX) and name not in _OTHERS
    }


def _switched_off(command: Command, words: Iterable[str]) -> Iterator[str]:
    """Yield the flags of which a line says, as in Go, that they do not hold."""
    flags = {name: one for one in command.parameters if is_flag(one) for name in one.spellings}
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in flags and value.lower() in NO:
            yield flags[name].name
