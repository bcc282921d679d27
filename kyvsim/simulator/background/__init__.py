"""The background controller: UpdateRequests and the attempts at them."""
