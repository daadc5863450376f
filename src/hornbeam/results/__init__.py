"""What people see: how good the scores are, and why a pair got its score."""
