"""Step 1 of the data flow: facts and labelled targets, read and interned."""
