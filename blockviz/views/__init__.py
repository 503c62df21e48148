"""Trace -> Plotly figures: fill map, confidence, re-noising and attention mask. Knows no torch and no page."""
