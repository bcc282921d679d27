"""The data model: frozen values and enums that all stages share."""
