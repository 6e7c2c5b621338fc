"""Names of the values of a margin."""

from __future__ import annotations

import numpy as np

from dyn_nodes.stability import Support, margins, support_order
from dyn_nodes.stability.balance import Balance


def balance_of_six(com):
    """Return the balance of six wheels, named in another order than that of the polygon."""
    wheels = ('front_left', 'front_right', 'middle_left', 'middle_right', 'rear_left', 'rear_right')
    points = np.array([(2, 1, 0), (2, -1, 0), (0, 1.5, 0), (0, -1.5, 0), (-2, 1, 0), (-2, -1, 0)], dtype=float)
    order = support_order(points, np.array([0.0, 0.0, 1.0]))
    support = Support(feet=points[order], com=np.array(com), force=np.array([0, 0, -9810.0]), moment=np.zeros(3),
                      mass=1000.0)  # fmt: skip
    return Balance(
        wheels,
        points,
        np.zeros((6, 3)),
        np.tile(np.eye(3), (6, 1, 1)),
        order,
        np.array(com),
        np.zeros(2),
        margins(support, ('conservative', 'static')),
        support.edge_names,
    )


def test_the_conservative_margin_names_the_foot_whose_loss_is_the_worst():
    """With the load over one corner, the loss of that corner's wheel is the worst."""
    for name, com in (('front_left', (1.5, 0.8, 1.0)), ('rear_right', (-1.5, -0.8, 1.0))):
        balance = balance_of_six(com)
        assert balance.critical_edge('conservative') == f'loss of {name}'
        assert len(balance.names('conservative')) == len(balance.margins['conservative'].edges) == 6
