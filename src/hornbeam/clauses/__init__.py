"""Step 2: clauses, their text, and the candidates."""
