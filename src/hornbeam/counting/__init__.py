"""Counting groundings: what engines find, and all that learners know of the facts."""
