"""Fixtures of this room."""

from log_loader_fixtures import machine, system

__all__ = ['machine', 'system']
