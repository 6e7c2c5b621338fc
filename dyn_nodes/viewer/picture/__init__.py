"""Pictures and films of a machine without a browser: triangles with a depth buffer, ground, shadow, gauges."""

from dyn_nodes.viewer.picture.camera import Camera, camera_for
from dyn_nodes.viewer.picture.film import FilmError, film, recorded_film, save
from dyn_nodes.viewer.picture.painter import Painter

__all__ = ['Camera', 'FilmError', 'Painter', 'camera_for', 'film', 'recorded_film', 'save']
