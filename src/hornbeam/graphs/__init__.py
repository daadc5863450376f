"""Whole graphs: rules for every relation in both directions, and a ranking of missing answers."""
