"""How worlds are played, in worker processes that never load JAX."""
