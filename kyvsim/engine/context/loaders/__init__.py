"""Loaders of context entries, one module for each source; `json_context.LOADERS` lists them."""
