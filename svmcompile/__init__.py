"""svmcompile: trained support vector machines become small, fast, checked C and ONNX."""

__version__ = "0.1.0"
