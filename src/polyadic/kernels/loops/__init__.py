"""The compiled loops: arrays and numbers in, arrays out; only the doors of `polyadic.kernels` call them."""
