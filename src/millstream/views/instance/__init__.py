"""One instance of views: copies of stores, how they are filled, and what others hear of them."""
