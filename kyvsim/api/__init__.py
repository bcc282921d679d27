"""For library users and commands: from paths to responses."""

from kyvsim.api.apply import open_application
from kyvsim.api.inputs import ApplyInputs
from kyvsim.load.files import Source

__all__ = ["ApplyInputs", "Source", "open_application"]
