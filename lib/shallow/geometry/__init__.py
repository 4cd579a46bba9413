"""What moves a hidden layer at first: the vectors of early alignment."""
