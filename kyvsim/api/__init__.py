"""For library users and commands: from paths to responses."""

from kyvsim.api.apply import Application, open_application
from kyvsim.api.inputs import ApplyInputs

__all__ = ["Application", "ApplyInputs", "open_application"]
