"""accelerate: an SVM (and data, where a method needs some) becomes a Program, see `registry`."""
