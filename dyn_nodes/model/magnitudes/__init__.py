"""Checks of the magnitudes of a machine's numbers for wrong units."""

from dyn_nodes.model.magnitudes.relation import Doubt, Quantity, Relation, doubts, relation

__all__ = ['Doubt', 'Quantity', 'Relation', 'doubts', 'relation']
