"""Reads files as documents, and documents as objects of the model."""
