"""Roads on SUMO."""
