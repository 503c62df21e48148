"""Noise processes and their maths: tensors in, tensors out. Knows no network and no page."""
