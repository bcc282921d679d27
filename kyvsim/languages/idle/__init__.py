"""What a user gives that has no effect: kinds that nothing has, names of nothing, empty values.

`lint`, `apply` and `test` tell it. Apart from `advice`, which only `lint` gives: a run loads less.
"""
