"""Many runs, and the tables made of them."""
