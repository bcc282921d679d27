"""The Pod Security Standards, for rules with `validate.podSecurity`."""
