"""Fixtures of this folder."""

from log_loader_fixtures import machine, system

__all__ = ['machine', 'system']
