"""What networks are trained on."""
