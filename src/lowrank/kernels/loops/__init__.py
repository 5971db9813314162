"""The compiled loops: arrays and numbers in, arrays out; only the doors of `lowrank.kernels` call them."""
