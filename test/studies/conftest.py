"""Fixtures of the study tests."""

from log_loader_fixtures import machine, planar

__all__ = ['machine', 'planar']
