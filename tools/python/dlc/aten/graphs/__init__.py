"""PyTorch's higher-order ops: branches, loops, and other ops that have graphs."""
