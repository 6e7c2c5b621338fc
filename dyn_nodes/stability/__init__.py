"""Tip-over stability: support polygon and stability measures, on plain arrays.

Inputs common to all measures: `feet` (n, 3), the contact points counter-clockwise seen from above
(:func:`support_order` sorts them); `com` (3,); the net load without ground reactions (gravity, inertia, external) as
`force` (3,) and `moment` (3,) about `com`; `up` (3,). Every input may have a leading dimension (t, ...); one call then
handles all states. Each measure has its module; :func:`margins` evaluates measures by name (table in
`dyn_nodes.measures`), :func:`all_measures` evaluates many states on all cores.

A lifted wheel keeps its corner of the polygon: pass the ground point below it.
"""

from dyn_nodes.stability.admissible import AdmissibleReactions, admissible_reactions
from dyn_nodes.stability.batch import BatchMargin, all_measures
from dyn_nodes.stability.conservative import ConservativeMargin, conservative_margin
from dyn_nodes.stability.energy import (
    EnergyLevel,
    PlanarEnergyLevel,
    energy_level,
    energy_level_of_loads,
    extended_energy_level,
    planar_energy_level,
)
from dyn_nodes.stability.force_angle import ForceAngle, force_angle
from dyn_nodes.stability.load_share import LoadShare, load_share
from dyn_nodes.stability.moment_height import MomentHeight, moment_height
from dyn_nodes.stability.net_moment import NetMoment, PlanarEdgeMoments, net_moment, planar_edge_moments
from dyn_nodes.stability.normalized_energy import NormalizedEnergy, normalized_energy
from dyn_nodes.stability.polygon import PolygonError, name_edges, support_order
from dyn_nodes.stability.static import LongitudinalMargin, StaticMargin, longitudinal_margin, static_margin
from dyn_nodes.stability.support import Margin, Support, margins
from dyn_nodes.stability.zmp import ZmpDegree, zmp_degree

__all__ = [
    'AdmissibleReactions',
    'BatchMargin',
    'ConservativeMargin',
    'EnergyLevel',
    'ForceAngle',
    'LoadShare',
    'LongitudinalMargin',
    'Margin',
    'MomentHeight',
    'NetMoment',
    'NormalizedEnergy',
    'PlanarEdgeMoments',
    'PlanarEnergyLevel',
    'PolygonError',
    'StaticMargin',
    'Support',
    'ZmpDegree',
    'admissible_reactions',
    'all_measures',
    'conservative_margin',
    'energy_level',
    'energy_level_of_loads',
    'extended_energy_level',
    'force_angle',
    'load_share',
    'longitudinal_margin',
    'margins',
    'moment_height',
    'name_edges',
    'net_moment',
    'normalized_energy',
    'planar_edge_moments',
    'planar_energy_level',
    'static_margin',
    'support_order',
    'zmp_degree',
]
