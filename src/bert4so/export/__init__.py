"""Export models to ONNX, and load exported models for fine-tuning."""
