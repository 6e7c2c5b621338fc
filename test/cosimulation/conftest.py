"""Fixtures of this folder."""

from log_loader_fixtures import audited, effort_system, machine, system

__all__ = ['audited', 'effort_system', 'machine', 'system']
