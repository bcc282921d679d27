"""Policies over more than one machine holds: plan → pieces evaluated anywhere → partial reports.

What is loaded of other packages (`fsspec`, `distributed`, `pyarrow`) is loaded when it is used.
"""


class FleetError(Exception):
    """A run cannot begin or go on; the text is one line for people that says why."""


class ReadError(Exception):
    """A file cannot be read; the text says why."""


class OtherVersionError(Exception):
    """A worker has another version of kyvsim than the run; the text names both."""
