"""kubectl, in this process: its commands on the simulated cluster."""

from kyvsim.chainsaw.kubectl.program import kubectl

__all__ = ["kubectl"]
