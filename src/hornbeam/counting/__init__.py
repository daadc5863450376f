"""Counting groundings: the narrow waist between engines and learners."""
