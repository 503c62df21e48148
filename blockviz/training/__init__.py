"""Training: corpora, the objective over a mixture of block sizes, and the loop."""
