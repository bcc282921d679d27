"""`kyvsim lsp`: policies in editors that speak the Language Server Protocol."""
