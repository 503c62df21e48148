"""The benchmark of BlockViz: ratios measured in one run, never absolute times alone (`make bench`)."""
