"""All that is set for a command, by a configuration and by variables."""

from collections.abc import Mapping

from kyvsim.cli.declared import Command, Setting, Settled
from kyvsim.cli.settings_in_file import settings_in_file
from kyvsim.cli.settings_in_variables import settings_in_variables
from kyvsim.load.configuration import read_configuration
from kyvsim.load.project_file import ConfigurationFiles
from kyvsim.model.diagnostic import Diagnostic


def every_setting(
    path: tuple[str, ...], command: Command, files: ConfigurationFiles, variables: Mapping[str, str]
) -> Settled:
    """Return all that is set for the command to which the words `path` lead, and what is wrong."""
    settings: dict[str, Setting] = {}
    remarks: list[Diagnostic] = []
    parts: list[Settled] = []
    if files.paths:
        configuration, problems = read_configuration(files)
        remarks += problems
        if configuration is not None:
            parts += settings_in_file(path, command, configuration)
    if variables:
        parts.append(settings_in_variables(path, command, variables))
    for one in parts:
        settings |= one.settings
        remarks += one.remarks
    outputs = tuple(output for one in parts for output in one.outputs)
    return Settled(settings, tuple(remarks), outputs=outputs)
