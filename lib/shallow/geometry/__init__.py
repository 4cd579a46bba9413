"""What moves a hidden layer at first: the vectors of early alignment, and the push toward a hidden direction."""
