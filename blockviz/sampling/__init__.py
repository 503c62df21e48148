"""Samplers and what they record: settings, the loop, the trace. Import the modules directly; this file imports nothing."""
