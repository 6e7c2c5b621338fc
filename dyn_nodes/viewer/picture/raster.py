"""Rasterization of triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.common.loops import kernels_of

kernel = kernels_of(__file__)


@kernel
def fill_triangles(corners: Any, colours: Any, depth: Any, image: Any) -> None:
    """Draw triangles with a depth buffer.

    Args:
        corners: (n, 3, 3) float64: x and y of every corner, pixels, and its inverse depth, 1/m, which is not positive
            behind the camera. Triangles with such a corner are skipped.
        colours: (n, 3) float64, 0 to 255.
        depth: (height, width) float64, inverse depth of the drawn pixels, 0 for none; modified.
        image: (height, width, 3) float64; modified.
    """
    height, width = depth.shape
    for k in range(corners.shape[0]):
        x0, y0, d0 = corners[k, 0]
        x1, y1, d1 = corners[k, 1]
        x2, y2, d2 = corners[k, 2]
        if d0 <= 0.0 or d1 <= 0.0 or d2 <= 0.0:
            continue
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if not abs(area) > 1e-12:
            continue
        left, right = max(int(np.floor(min(x0, x1, x2))), 0), min(int(np.ceil(max(x0, x1, x2))), width - 1)
        top, bottom = max(int(np.floor(min(y0, y1, y2))), 0), min(int(np.ceil(max(y0, y1, y2))), height - 1)
        for row in range(top, bottom + 1):
            y = row + 0.5
            for column in range(left, right + 1):
                x = column + 0.5
                b1 = ((x - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area
                b2 = ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / area
                b0 = 1.0 - b1 - b2
                if b0 < 0.0 or b1 < 0.0 or b2 < 0.0:
                    continue
                nearness = b0 * d0 + b1 * d1 + b2 * d2  # linear in the image
                if nearness > depth[row, column]:
                    depth[row, column] = nearness
                    image[row, column, 0] = colours[k, 0]
                    image[row, column, 1] = colours[k, 1]
                    image[row, column, 2] = colours[k, 2]
