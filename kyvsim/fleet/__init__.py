"""Runs on more resources than one machine can hold: items are evaluated anywhere, reports merged.

Optional packages (`fsspec`, `distributed`, `pyarrow`) are imported when they are used.
"""


class FleetError(Exception):
    """A run cannot start or continue; the message is one line that explains why."""


class ReadError(Exception):
    """A file cannot be read; the message explains why."""


class OtherVersionError(Exception):
    """A worker has another version of kyvsim than the run; the message names both."""
