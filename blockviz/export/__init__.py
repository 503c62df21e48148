"""Runs as files for others: tables, JSON, a page in one file, GIF, MP4, pictures. Knows traces and views, no torch."""
