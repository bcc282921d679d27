"""Policies over more than one machine holds: plan → pieces evaluated anywhere → partial reports.

What is loaded of other packages (`fsspec`, `distributed`, `pyarrow`) is loaded when it is used.
"""
