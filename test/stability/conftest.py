"""Compiling a kernel takes longer than hypothesis lets an example take: no deadline here."""

from hypothesis import settings

settings.register_profile('compiled', deadline=None)
settings.load_profile('compiled')
