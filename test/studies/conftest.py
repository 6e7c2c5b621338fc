"""Fixtures of this room."""

from log_loader_fixtures import machine, planar

__all__ = ['machine', 'planar']
