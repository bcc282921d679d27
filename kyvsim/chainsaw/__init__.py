"""Chainsaw tests: steps and assertions on a simulated cluster."""
