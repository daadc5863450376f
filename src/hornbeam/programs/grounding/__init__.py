"""Grounding: from the rules and atoms of a program to potentials and constraints."""
