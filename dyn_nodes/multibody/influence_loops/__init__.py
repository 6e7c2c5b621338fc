"""Compiled loops for influence coefficients: a separate package, so changes elsewhere require no compilation."""
