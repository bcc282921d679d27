"""Tests of policies: expected rows beside what the engine says; data in, data out."""
