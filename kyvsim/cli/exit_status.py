"""Exit statuses of commands; that of a run follows from its verdict (`model/result.py`)."""

OK = 0
FAILED = 1
"""A rule failed or ended in error."""
UNUSABLE = 2
"""Usage, an input that could not be used, an output that could not be written, a defect."""
INTERRUPTED = 130
TERMINATED = 143


class Interrupted(SystemExit):
    """SIGINT or SIGTERM ended the command; `code` is the exit status that shells give for it.

    No KeyboardInterrupt: after one that came while `eval` or `exec` ran, as in declarations of
    named tuples, `python -m` ends by SIGINT whatever status it is given.
    """
