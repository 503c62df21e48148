"""The network, its attention masks, its tokenizer and its checkpoints."""
