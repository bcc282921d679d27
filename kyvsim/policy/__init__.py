"""Policies as typed trees: ClusterPolicies, cleanup policies, exceptions."""
