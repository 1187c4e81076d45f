"""The parts that systems are made of."""
