"""How a run ends, as a text that two runs share where a user could tell no difference."""

import json
import re

from kyvsim.kube.lasting import lasting
from kyvsim.kube.objects import metadata, text_field
from kyvsim.model.simulation import Simulation
from kyvsim.sim.exploration.run import FOLLOWING

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def text_of(simulation: Simulation) -> str:
    """Return what a user would compare: objects, hazards, what was expected."""
    told = [
        *(lasting(obj) for obj in simulation.objects if obj["kind"] not in FOLLOWING),
        *sorted({hazard.code for hazard in simulation.hazards}),
        *((one.text, one.met) for one in simulation.expectations),
    ]
    lines = "\n".join(json.dumps(one, sort_keys=True) for one in told)
    text = _UID.sub("UID", lines)
    for name, base in sorted(_generated_names(simulation).items()):
        text = text.replace(name, f"{base}*")
    return "\n".join(sorted(text.splitlines()))


def _generated_names(simulation: Simulation) -> dict[str, str]:
    """Return names that chance has completed, and what they begin with."""
    every = [metadata(obj) for obj in simulation.objects]
    return {
        text_field(meta, "name"): text_field(meta, "generateName")
        for meta in every
        if text_field(meta, "generateName")
    }
