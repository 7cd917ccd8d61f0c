"""Drives one step to its end: sessions, attempts, interrupts, retries. Imports the SDK when it is used, not before."""
