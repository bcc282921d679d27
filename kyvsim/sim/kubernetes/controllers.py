"""The controllers of Kubernetes; `CONTROLLERS` lists them.

Each is started with the cluster's parts, watches the store, and schedules its own steps.
"""

from collections.abc import Callable

from kyvsim.sim.kubernetes.definitions import establish_definitions
from kyvsim.sim.parts import Parts

CONTROLLERS: tuple[Callable[[Parts], None], ...] = (establish_definitions,)
