"""The ONNX target: a math program becomes one graph of plain operators."""
