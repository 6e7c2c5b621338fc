"""Formulations of multibody dynamics that only studies of several sources use, and independent checks of the engine."""
