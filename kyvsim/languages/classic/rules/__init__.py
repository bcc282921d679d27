"""Rule types, a module each; `kyvsim/languages/classic/rule_type.py` has the table of them."""
