"""`kyvsim playground`: a page of this machine on which policies are tried while somebody types."""
