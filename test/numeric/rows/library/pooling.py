"""More pools and normalizations."""
from torch.nn import functional as F

from rows.library.called import UNIT, pair

pair("adaptive_avg_pool3d", "adaptive_avg_pool3d(x0, (2, 3, 4))",
     lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), shapes=(("N", 2, 5, 6, 7), ),
     result=("N", 2, 2, 3, 4))
pair("adaptive_max_pool3d", "adaptive_max_pool3d(x0, (2, 3, 4))",
     lambda x: F.adaptive_max_pool3d(x, (2, 3, 4)), shapes=(("N", 2, 5, 6, 7), ),
     result=("N", 2, 2, 3, 4), count=0)
pair("local_response_norm", "local_response_norm(x0, 3, alpha=0.5)",
     lambda x: F.local_response_norm(x, 3, alpha=0.5), shapes=((2, 5, "N", 2), ),
     result=(2, 5, "N", 2))
pair("lp_pool1d", "lp_pool1d(x0, 3, 2)", lambda x: F.lp_pool1d(x, 3, 2), shapes=(("N", 2, 7), ),
     result=("N", 2, 3), values=UNIT)
pair("lp_pool2d", "lp_pool2d(x0, 2, (2, 3), 2)", lambda x: F.lp_pool2d(x, 2, (2, 3), 2),
     shapes=(("N", 2, 7, 8), ), result=("N", 2, 3, 3))
