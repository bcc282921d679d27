"""Rule types, one module each; `kyvsim/languages/classic/rule_type.py` has the table of them."""
