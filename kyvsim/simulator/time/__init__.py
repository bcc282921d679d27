"""Virtual time: nothing sleeps."""

from kyvsim.simulator.time.scheduler import Scheduler, Task, VirtualClock

__all__ = ["Scheduler", "Task", "VirtualClock"]
