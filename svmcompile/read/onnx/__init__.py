"""ONNX: graphs with SVM operators become SVMs."""
