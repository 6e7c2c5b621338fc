"""Compiled loops over the links of a tree; a separate package, so that other changes cause no recompilation."""
