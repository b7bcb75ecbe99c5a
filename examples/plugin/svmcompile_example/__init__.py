"""One of each: a reader, a method, a target and a kit for svmcompile."""
