"""The reports controller: what admission said, and what scans of existing objects find."""
