"""Singletons that the environment of a worker declares; see jobs."""
