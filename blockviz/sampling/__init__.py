"""Samplers and what they record: settings, the loop, the trace (import the modules directly)."""
