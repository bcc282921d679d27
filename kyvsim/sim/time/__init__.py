"""Virtual time: nothing sleeps."""

from kyvsim.sim.time.scheduler import Scheduler, Task, VirtualClock

__all__ = ["Scheduler", "Task", "VirtualClock"]
