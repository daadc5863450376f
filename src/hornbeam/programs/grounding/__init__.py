"""Rules and atoms of a program in, potentials and constraints out."""
