"""The Learn tab: chapters and glossary as data, and what reads their numbers out of recorded runs. No torch."""
