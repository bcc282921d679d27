"""The webhook configurations that Kyverno writes for the policies there are."""
