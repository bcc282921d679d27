"""What a command's exit status says."""

OK = 0
FAILED = 1
"""A rule failed or ended in error."""
UNUSABLE = 2
"""Usage, an input that could not be used, an output that could not be written, a defect."""
INTERRUPTED = 130
TERMINATED = 143
