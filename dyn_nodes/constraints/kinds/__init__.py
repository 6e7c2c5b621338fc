"""Kinds of constraints in a machine YAML, one file each: a record with keys, checks and rows."""
