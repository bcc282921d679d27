"""Tables and texts that are part of the package, kept beside the modules that read them."""

import json
import os

from kyvsim.kubernetes.objects import Json


def read_table(module_file: str, *way: str) -> Json:
    """Return the JSON file at `way` from the folder of the module whose `__file__` is given."""
    return json.loads(read_text(module_file, *way))


def read_text(module_file: str, *way: str) -> str:
    """Return the text file at `way` from the folder of the module whose `__file__` is given."""
    # pathlib is not used on the way to a plain apply: it takes as long as the interpreter's start.
    with open(os.path.join(os.path.dirname(module_file), *way), encoding="utf-8") as file:
        return file.read()
