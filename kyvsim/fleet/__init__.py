"""Policies over more than one machine holds: plan → pieces evaluated anywhere → partial reports.

Optional packages (`fsspec`, `distributed`, `pyarrow`) are imported when they are used.
"""


class FleetError(Exception):
    """A run cannot start or continue; the message is one line that explains why."""


class ReadError(Exception):
    """A file cannot be read; the message explains why."""


class OtherVersionError(Exception):
    """A worker has another version of kyvsim than the run; the text names both."""
