"""Tests of policies: compare expected rows with results of the engine, without I/O."""
