"""Models as ONNX graphs, and back."""
