"""The paper's evidence: its numbers as data, and the commands that recompute them."""
