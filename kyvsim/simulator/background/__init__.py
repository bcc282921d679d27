"""The background controller: what policies want done, attempted later and again."""
