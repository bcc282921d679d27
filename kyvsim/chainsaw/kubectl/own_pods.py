"""Pods of Kyverno's controllers, of which nothing is simulated but that they are started anew.

They are chosen by the label that its chart gives them.
"""

from collections.abc import Callable

from kyvsim.chainsaw.kubectl.call import Call, named_objects
from kyvsim.chainsaw.streams import STDOUT, Printed, Result
from kyvsim.sim.controllers import RESTARTS
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import NAMESPACE
from kyvsim.sim.latency import RESTART

_LABEL = "app.kubernetes.io/component"


def restarted(call: Call) -> Result | None:
    """Restart the controller whose Pods are to be deleted; None where others are meant."""
    restart = _meant(call)
    if restart is None:
        return None
    session = call.surroundings.situation.session
    restart(session.kyverno)
    return _answer(call, f" deleted from {NAMESPACE} namespace")


def awaited(call: Call) -> Result | None:
    """Wait until a controller's Pods are ready; None where others, or something else, is meant."""
    if _meant(call) is None or call.invocation.value("for").lower() != "condition=ready":
        return None
    call.surroundings.situation.session.wait_until(lambda: False, RESTART)
    return _answer(call, " condition met")


def _meant(call: Call) -> Callable[[Kyverno], None] | None:
    """Return what restarts the controller whose Pods are chosen, and nothing besides them."""
    given = call.invocation
    selectors = given.values("selector")
    if call.namespace != NAMESPACE or len(selectors) != 1 or "filename" in given.flags:
        return None
    key, _, component = selectors[0].replace("==", "=").partition("=")
    named = named_objects(call, given.words)
    if key != _LABEL or [(kind.kind, name) for kind, name in named] != [("Pod", "")]:
        return None
    return RESTARTS.get(component)


def _answer(call: Call, done: str) -> Result:
    component = call.invocation.values("selector")[0].rpartition("=")[2]
    return Result(0, (Printed(STDOUT, f'pod "kyverno-{component}"{done}\n'),))
