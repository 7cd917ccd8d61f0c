"""Transcripts for tests: recorded ones, and a builder of more."""
