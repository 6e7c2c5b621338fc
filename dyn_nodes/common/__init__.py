"""Utilities for every package: compiled loops and their cache, processes, optional dependencies. No machine model."""
