"""Tables and texts that are part of the package, kept beside the modules that read them."""

import json
import os

from kyvsim.kubernetes.objects import Json


def read_table(module_file: str, *path: str) -> Json:
    """Return the JSON file at `path` from the folder of the module whose `__file__` is given."""
    return json.loads(read_text(module_file, *path))


def read_text(module_file: str, *path: str) -> str:
    """Return the text file at `path` from the folder of the module whose `__file__` is given."""
    # A plain apply does without pathlib: it takes as long as the interpreter's start.
    with open(os.path.join(os.path.dirname(module_file), *path), encoding="utf-8") as file:
        return file.read()
