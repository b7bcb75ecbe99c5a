"""What a reader says of parts that it leaves out."""

NO_PROBABILITIES = "the model has Platt probabilities; they are not compiled yet in this version"
NO_DENSITY = "the model has density marks for probabilities; they are not compiled yet in this version"
NO_NOISE = "the model has a noise scale (probA); it is not compiled"
