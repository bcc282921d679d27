"""Image rules → policies on images: which are meant, who has to have signed what."""
