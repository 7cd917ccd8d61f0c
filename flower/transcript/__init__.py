"""Pure functions over the entries of a session transcript: no input or output, no other room imported."""
