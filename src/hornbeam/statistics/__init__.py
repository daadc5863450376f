"""Step 3: statistics, the narrow waist between engines and learners."""
