"""`sleep`: virtual time passes."""

from collections.abc import Mapping

from kyvsim.chainsaw.durations import seconds_of
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.session import Situation
from kyvsim.kube.objects import Json


def run(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Let everything happen that is due meanwhile."""
    situation.session.wait(seconds_of(situation.filled(spec.get("duration"))))
    return {}


OPERATION = Operation("sleep", run)
