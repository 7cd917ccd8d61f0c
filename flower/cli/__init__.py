"""What a person types and sees. Everything else in flower works without a terminal."""
