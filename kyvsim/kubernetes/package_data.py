"""Tables and texts of the package, in the folders of the modules that read them."""

import json
import os

from kyvsim.kubernetes.objects import Json


def read_table(module_file: str, *path: str) -> Json:
    """Return the JSON file at `path`, relative to the folder of a module's `__file__`."""
    return json.loads(read_text(module_file, *path))


def read_text(module_file: str, *path: str) -> str:
    """Return the text file at `path`, relative to the folder of a module's `__file__`."""
    # Importing pathlib would take as long as starting the interpreter.
    with open(os.path.join(os.path.dirname(module_file), *path), encoding="utf-8") as file:
        return file.read()
