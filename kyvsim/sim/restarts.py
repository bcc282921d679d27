"""The controllers of Kyverno that can be started anew, by what calls them so."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.sim.background.restart import restart_background_controller
from kyvsim.sim.cleanup.restart import restart_cleanup_controller
from kyvsim.sim.kyverno.installed import Kyverno

RESTARTS: Mapping[str, Callable[[Kyverno], None]] = MappingProxyType(
    {
        "background-controller": restart_background_controller,
        "cleanup-controller": restart_cleanup_controller,
    }
)
