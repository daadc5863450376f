"""PSL programs: read, checked, grounded, solved, and models exported as such."""
