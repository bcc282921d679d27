"""The vocabulary: frozen values and enums that every stage shares."""
