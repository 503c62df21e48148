"""What every package may use: files written whole or not at all, and arguments checked while they are read."""
