"""Closed forms of one target's density: integrals, hinges, moments."""
