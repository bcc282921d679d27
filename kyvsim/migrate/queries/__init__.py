"""JMESPath as policies write it → values and tests in CEL."""
