"""Make `kyvsim/sim/server/definitions.json`: how an API server checks Kyverno's own kinds.

    python tests/package_data/make_definitions.py ../shared/schemas/kyverno.json

Prints the file's text. `kinds` holds the structural schema of each apiVersion/kind, in Kubernetes'
own words, `shared` what occurs more than once; a number in a schema's place points into it.
"""

import json
import runpy
import sys
from pathlib import Path

MINIMUM_SHARED_TEXT = 60
HERE = Path(__file__).parent
share_repeated = runpy.run_path(str(HERE / "repeated_schemas.py"))["share_repeated"]


def make(source):
    """Return the text of the package data for the CRD schemas in `source`."""
    kinds = {name: entry["schema"] for name, entry in sorted(source.items())}
    kinds = json.loads(json.dumps(kinds, sort_keys=True))
    shared = []

    def refer(schema):
        shared.append(schema)
        return len(shared) - 1

    kinds = share_repeated(kinds, MINIMUM_SHARED_TEXT, refer)
    return json.dumps({"kinds": kinds, "shared": shared}, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    sys.stdout.write(make(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
