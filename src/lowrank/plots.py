"""Functions that draw onto matplotlib axes and return them."""
