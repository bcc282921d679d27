"""Tables that are part of the package, kept as JSON beside the modules that read them."""

import json
import os

from kyvsim.kube.objects import Json


def read_table(module_file: str, *way: str) -> Json:
    """Return the JSON file at `way` from the folder of the module whose `__file__` is given."""
    # pathlib is not used on the way to a plain apply: it takes as long as the interpreter's start.
    with open(os.path.join(os.path.dirname(module_file), *way), "rb") as file:
        return json.load(file)
