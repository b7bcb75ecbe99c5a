"""OpenCV's ml::SVM files: XML, YAML and JSON."""
