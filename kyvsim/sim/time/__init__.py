"""Virtual time: nothing sleeps."""

from kyvsim.sim.time.clock import VirtualClock
from kyvsim.sim.time.scheduler import Scheduler, Task

__all__ = ["Scheduler", "Task", "VirtualClock"]
