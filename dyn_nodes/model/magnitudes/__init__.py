"""Magnitudes of a machine's numbers: which of them are probably in another unit."""

from dyn_nodes.model.magnitudes.relation import Doubt, Quantity, Relation, doubts, relation

__all__ = ['Doubt', 'Quantity', 'Relation', 'doubts', 'relation']
