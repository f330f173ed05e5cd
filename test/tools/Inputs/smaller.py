"""smaller.py A.npy B.npy A.bin B.bin PART: both arrays hold the same numbers but for 1e-3, and file
A has at most this part of the bytes of B."""
import os
import sys

import numpy as np

a, b = np.load(sys.argv[1]), np.load(sys.argv[2])
difference = np.abs(a - b).max()
part = os.path.getsize(sys.argv[3]) / os.path.getsize(sys.argv[4])
print(f"largest difference {difference:.2e}, {part:.3f} of the bytes")
sys.exit(not (difference <= 1e-3 and part <= float(sys.argv[5])))
