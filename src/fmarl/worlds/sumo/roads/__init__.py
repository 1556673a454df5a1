"""Roads: `description.py` is what they look like, `network.py` what SUMO drives on."""
