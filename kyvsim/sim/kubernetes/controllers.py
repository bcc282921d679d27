"""The controllers of Kubernetes; `CONTROLLERS` lists them.

Each is started with the cluster's parts, watches the store, and schedules its own steps.
"""

from collections.abc import Callable

from kyvsim.sim.kubernetes.cluster_roles import start_cluster_roles
from kyvsim.sim.parts import Parts

CONTROLLERS: tuple[Callable[[Parts], None], ...] = (start_cluster_roles,)
