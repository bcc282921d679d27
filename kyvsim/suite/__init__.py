"""Tests of policies: expected rows compared with results of the engine; data in, data out."""
