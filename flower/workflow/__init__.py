"""Steps and the chain: who does what, in which order, when it counts as done."""
