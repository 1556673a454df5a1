"""What a reader sees: figures, and the equation behind each number. Alone imports matplotlib."""
