"""The background controller: UpdateRequests and their processing."""
