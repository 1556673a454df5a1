"""Many runs at once: on the cores of this machine, or on the hosts of a cluster."""
