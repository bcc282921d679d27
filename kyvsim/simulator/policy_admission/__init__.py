"""What Kyverno says of its own kinds before they are stored."""
