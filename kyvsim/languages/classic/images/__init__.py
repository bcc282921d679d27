"""Image verification from recorded data: which images a rule means, and what is known of them."""
