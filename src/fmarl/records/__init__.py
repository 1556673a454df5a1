"""What a run leaves on disk. Plain arrays and JSON; nothing is ever unpickled."""
