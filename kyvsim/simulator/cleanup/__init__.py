"""The cleanup controller: deletion by schedules and by lifetimes."""
