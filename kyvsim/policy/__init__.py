"""Policies as typed trees: what a ClusterPolicy, a cleanup policy or an exception says."""
