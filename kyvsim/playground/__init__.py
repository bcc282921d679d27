"""`kyvsim playground`: a local web page that evaluates policies as they are typed."""
