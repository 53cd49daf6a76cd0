"""What tests/bench/migrate is made of."""
