"""Losses."""
from torch.nn import functional as F

from rows.library.called import UNIT, pair

CLASSES = {1: ("i64", [0, 1, 2, 3, 4, -100])}
FIVE = {1: ("i64", range(5))}
SIGNS = [-1.0, 1.0]

for reduction, result in (("mean", ()), ("sum", ()), ("none", ("N", 5))):
    more = dict(result=result, note=reduction, count=32 if reduction != "sum" else 200)
    said = f'reduction="{reduction}"'
    pair("mse_loss", f"mse_loss(x0, x1, {said})",
         lambda x, t, r=reduction: F.mse_loss(x, t, reduction=r), **more)
    pair("l1_loss", f"l1_loss(x0, x1, {said})",
         lambda x, t, r=reduction: F.l1_loss(x, t, reduction=r), **more)
    pair("smooth_l1_loss", f"smooth_l1_loss(x0, x1, {said}, beta=0.5)",
         lambda x, t, r=reduction: F.smooth_l1_loss(x, t, reduction=r, beta=0.5), **more)
    pair("huber_loss", f"huber_loss(x0, x1, {said}, delta=0.7)",
         lambda x, t, r=reduction: F.huber_loss(x, t, reduction=r, delta=0.7), **more)
    pair("binary_cross_entropy", f"binary_cross_entropy(x0, x1, {said})",
         lambda x, t, r=reduction: F.binary_cross_entropy(x, t, reduction=r), values=UNIT, **more)
    pair("binary_cross_entropy_with_logits", f"binary_cross_entropy_with_logits(x0, x1, {said})",
         lambda x, t, r=reduction: F.binary_cross_entropy_with_logits(x, t, reduction=r),
         values=UNIT, **more)
    pair("kl_div", f"kl_div(x0, x1, {said})", lambda x, t, r=reduction: F.kl_div(x, t, reduction=r),
         values=UNIT, **more)
    classes = dict(more, result=result[:1], shapes=(("N", 5), ("N",)), kinds=CLASSES)
    if reduction == "mean":  # of ignored classes alone it is NaN
        classes["kinds"] = FIVE
    pair("nll_loss", f"nll_loss(x0, x1, {said})",
         lambda x, t, r=reduction: F.nll_loss(x, t, reduction=r), **classes)
    pair("cross_entropy", f"cross_entropy(x0, x1, {said})",
         lambda x, t, r=reduction: F.cross_entropy(x, t, reduction=r), **classes)
    pair("cross_entropy", f"cross_entropy(x0, x1, {said}, label_smoothing=0.2)",
         lambda x, t, r=reduction: F.cross_entropy(x, t, reduction=r, label_smoothing=0.2),
         **dict(classes, note=f"smoothed, {reduction}"))
WEIGHTED = dict(shapes=(("N", 5), ("N", ), (5, )),
                kinds={1: ("i64", [0, 1, 2, 3, 4, 4, 4, 2]), 2: ("f32", UNIT)})
pair("nll_loss", "nll_loss(x0, x1, x2, ignore_index=2)",
     lambda x, t, w: F.nll_loss(x, t, w.double(), ignore_index=2), note="weights",
     **dict(WEIGHTED, sizes=(17, 33)))
pair("cross_entropy", "cross_entropy(x0, x1, x2, label_smoothing=0.1)",
     lambda x, t, w: F.cross_entropy(x, t, w.double(), label_smoothing=0.1), note="weights",
     **WEIGHTED)
pair("cross_entropy", "cross_entropy(x0, x1, label_smoothing=0.1)",
     lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), note="probabilities", values=UNIT)
pair("cross_entropy", "cross_entropy(x0, x1)", lambda x, t: F.cross_entropy(x, t), note="images",
     shapes=((2, 5, "N", 3), (2, "N", 3)), kinds=FIVE)
pair("cross_entropy", "cross_entropy(x0, x1)", lambda x, t: F.cross_entropy(x, t), note="no batch",
     shapes=((5, ), ()), kinds=FIVE)
pair("binary_cross_entropy_with_logits",
     "binary_cross_entropy_with_logits(x0, x1, x2, pos_weight=x3)",
     lambda x, t, w, p: F.binary_cross_entropy_with_logits(x, t, w, pos_weight=p), note="weights",
     values=UNIT, shapes=(("N", 5), ("N", 5), (5, ), (5, )))
pair("kl_div", 'kl_div(x0, x1, reduction="batchmean", log_target=true)',
     lambda x, t: F.kl_div(x, t, reduction="batchmean", log_target=True), note="batchmean")
pair("margin_ranking_loss", "margin_ranking_loss(x0, x1, x2, margin=0.5)",
     lambda x, o, t: F.margin_ranking_loss(x, o, t, margin=0.5), shapes=(("N", ), ) * 3,
     kinds={2: ("f32", SIGNS)})
pair("hinge_embedding_loss", "hinge_embedding_loss(x0, x1)",
     lambda x, t: F.hinge_embedding_loss(x, t), kinds={1: ("f32", SIGNS)})
pair("cosine_embedding_loss", "cosine_embedding_loss(x0, x1, x2, margin=0.2)",
     lambda x, o, t: F.cosine_embedding_loss(x, o, t, margin=0.2),
     shapes=(("N", 5), ("N", 5), ("N", )), kinds={2: ("f32", SIGNS)})
pair("hinge_embedding_loss", "hinge_embedding_loss(x0, x1)",
     lambda x, t: F.hinge_embedding_loss(x, t), kinds={1: ("ui8", [1, 255])}, note="u8")
pair("cosine_embedding_loss", "cosine_embedding_loss(x0, x1, x2, margin=0.2)",
     lambda x, o, t: F.cosine_embedding_loss(x, o, t, margin=0.2),
     shapes=(("N", 5), ("N", 5), ("N", )), kinds={2: ("ui8", [1, 255])}, note="u8")
pair("soft_margin_loss", "soft_margin_loss(x0, x1)", lambda x, t: F.soft_margin_loss(x, t),
     kinds={1: ("f32", SIGNS)})
pair("multilabel_soft_margin_loss", "multilabel_soft_margin_loss(x0, x1)",
     lambda x, t: F.multilabel_soft_margin_loss(x, t), kinds={1: ("f32", [0.0, 1.0])})
# Classes before the first -1, some of them twice.
CLASSES = {1: ("i64", [3, 0, -1, 2, 1, 1, 4, 0, 2, -1, 4, -1, 0, 1, -1])}
pair("multilabel_margin_loss", "multilabel_margin_loss(x0, x1)",
     lambda x, t: F.multilabel_margin_loss(x, t), kinds=CLASSES)
pair("multilabel_margin_loss", 'multilabel_margin_loss(x0, x1, reduction="none")',
     lambda x, t: F.multilabel_margin_loss(x, t, reduction="none"), kinds=CLASSES, result=("N", ),
     note="none")
pair("multilabel_margin_loss", "multilabel_margin_loss(x0, x1)",
     lambda x, t: F.multilabel_margin_loss(x, t), kinds=CLASSES, shapes=((5, ), (5, )),
     note="no batch")
pair("multi_margin_loss", "multi_margin_loss(x0, x1, p=2)",
     lambda x, t: F.multi_margin_loss(x, t, p=2), shapes=(("N", 5), ("N", )), kinds=FIVE)
pair("poisson_nll_loss", "poisson_nll_loss(x0, x1, full=true)",
     lambda x, t: F.poisson_nll_loss(x, t, full=True), values=[0.0, 1.0, 2.0, 5.0])
pair("gaussian_nll_loss", "gaussian_nll_loss(x0, x1, x2, full=true)",
     lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=True), shapes=(("N", 5), ("N", 5), ("N", 1)),
     values=UNIT)
pair("triplet_margin_loss", "triplet_margin_loss(x0, x1, x2, swap=true)",
     lambda a, p, n: F.triplet_margin_loss(a, p, n, swap=True), shapes=(("N", 5), ) * 3)


def focal(x, t, alpha=0.25, gamma=2.0):
    p = x.sigmoid()
    hit = p * t + (1 - p) * (1 - t)
    return F.binary_cross_entropy_with_logits(
        x, t, reduction="none") * (1 - hit)**gamma * (alpha * t + (1 - alpha) * (1 - t))


pair("sigmoid_focal_loss", "sigmoid_focal_loss(x0, x1)", focal, result=("N", 5),
     kinds={1: ("f32", [0.0, 1.0])})
pair("accuracy", "accuracy(x0, x1)", lambda x, t: (x.argmax(1) == t).double().mean(),
     shapes=(("N", 5), ("N", )), result=(), kinds=FIVE, result_dtype="f32")
