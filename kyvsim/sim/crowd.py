"""How many Pods one object may want: a simulation makes each of them, step by step."""

from kyvsim.kube.objects import Json
from kyvsim.sim.timeline import Timeline

MOST_PODS = 1_000
_WANTS = ("replicas", "parallelism")


class Crowd:
    """Watches a timeline for objects that want more Pods than are simulated."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._seen = 0
        self.wanted = ""
        """What wants them, in words; "" for nothing so far."""

    def is_wanted(self) -> bool:
        """Return whether any object that was written until now wants so many."""
        events = self._timeline.events
        while self._seen < len(events) and not self.wanted:
            event = events[self._seen]
            self._seen += 1
            count = _pods_of(event.after)
            if count > MOST_PODS:
                self.wanted = (
                    f"{count:,} Pods for {event.object.kind} {event.object.namespace}/"
                    f"{event.object.name} (no more than {MOST_PODS:,} are simulated)"
                )
        return bool(self.wanted)


def _pods_of(obj: Json) -> int:
    spec = obj.get("spec") if obj.__class__ is dict else None
    found = [spec.get(name) for name in _WANTS] if spec.__class__ is dict else []
    return max((int(one) for one in found if one.__class__ in {int, float}), default=0)
