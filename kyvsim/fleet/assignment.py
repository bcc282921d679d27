"""What every worker of a run is told: policies and options, under a name that their content makes.

They travel as pickled texts inside of tasks, which are pickled, too, and are read by nobody else.
"""

import hashlib
import pickle
import zlib
from functools import lru_cache
from typing import NamedTuple

from kyvsim import __version__
from kyvsim.api.carried import Ready, carried, made_ready
from kyvsim.api.inputs import ApplyInputs
from kyvsim.fleet.errors import OtherVersionError
from kyvsim.fleet.plan import Cluster


class Assignment(NamedTuple):
    """Policies and options that can travel."""

    digest: str
    """Equal for the same texts under the same names, the same options and the same version."""
    version: str
    packed: bytes
    everything: bool
    """Whether all rows are told, not only those that people want to see."""


def assigned(
    inputs: ApplyInputs, stdin: bytes | None, *, everything: bool, per: Cluster
) -> Assignment:
    """Return what workers need of the inputs of a run; their resources are not part of it."""
    texts = carried(inputs, stdin)
    told = repr((__version__, everything, per.value, texts))
    return Assignment(
        digest=hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest(),
        version=__version__,
        packed=zlib.compress(pickle.dumps(texts)),
        everything=everything,
    )


@lru_cache(maxsize=4)
def ready_for(assignment: Assignment) -> Ready:
    """Return the policies of an assignment compiled, which a process does once.

    Raises OtherVersionError where it comes from another version of kyvsim.
    """
    if assignment.version != __version__:
        text = f"the run is of kyvsim {assignment.version}, its worker has kyvsim {__version__}"
        raise OtherVersionError(text)
    texts: ApplyInputs = pickle.loads(zlib.decompress(assignment.packed))  # noqa: S301 — as tasks are
    return made_ready(texts)
