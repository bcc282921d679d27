"""Bytes to documents, documents to the model."""
