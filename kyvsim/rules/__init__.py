"""Rule types: one file each; `RULE_TYPES` lists them."""
