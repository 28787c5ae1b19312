"""What a model sees of what was said before."""
