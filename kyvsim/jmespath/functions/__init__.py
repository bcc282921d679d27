"""The JMESPath functions: one file a family; `table.py` joins them.

The table is no part of this file because loading every family takes as long as starting the
interpreter, and most expressions call no function.
"""
