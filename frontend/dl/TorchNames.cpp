//===- TorchNames.cpp - Functions and layers of PyTorch that the language lacks --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of torch, torch.nn.functional, torch.linalg, torch.fft, torch.special and torchvision.ops, methods of its tensors, and
// layers of torch.nn, as PyTorch 1.13 and 2 have them. Who asks has looked among those of dlc first, so that a name may stay here
// when dlc learns it.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Hints.h"

#include "llvm/ADT/Twine.h"

using llvm::StringRef;

namespace dlc::frontend {

/// Each between two spaces.
static constexpr StringRef kFunctions =
    " adaptive_avg_pool3d adaptive_max_pool3d addbmm addr adjoint affine_grid airy_ai allclose "
    "alpha_dropout aminmax angle as_strided as_strided_scatter as_tensor asarray atleast_1d "
    "atleast_2d atleast_3d bartlett_window batched_nms bernoulli binary_cross_entropy "
    "binary_cross_entropy_with_logits bincount binomial bitwise_left_shift bitwise_right_shift "
    "blackman_window block_diag box_area box_convert box_iou broadcast_tensors bucketize "
    "cartesian_prod chain_matmul channel_shuffle cholesky cholesky_ex cholesky_inverse "
    "cholesky_solve clip_boxes_to_image combinations complete_box_iou complex cond conj "
    "conj_physical copysign corrcoef cosine_embedding_loss cov cross cross_entropy ctc_loss "
    "cummax cummin cumulative_trapezoid deg2rad dequantize diag diag_embed diagflat "
    "diagonal_scatter diff digamma dist distance_box_iou drop_block2d dropout1d dropout2d "
    "dropout3d dsplit eig eigh eigvals eigvalsh empty empty_like empty_strided entr equal erfcx "
    "erfinv expit fft fft2 fftfreq fftn fftshift fill flex_attention fliplr flipud float_power "
    "fmax fmin fractional_max_pool2d fractional_max_pool3d frexp frobenius_norm gammainc "
    "gammaincc gammaln gaussian_nll_loss gcd generalized_box_iou ger gradient gru_cell "
    "gumbel_softmax hamming_window hann_window heaviside hfft hfft2 hfftn hinge_embedding_loss "
    "histc histogram histogramdd hsplit huber_loss hypot i0 i0e i1 i1e ifft ifft2 ifftn "
    "ifftshift igamma igammac ihfft ihfft2 ihfftn imag index_fill index_put index_reduce inner "
    "inv inv_ex inverse irfft irfft2 irfftn is_complex is_floating_point is_tensor isclose isin "
    "isneginf isposinf isreal istft item kaiser_window kl_div kron kthvalue l1_loss lcm ldexp "
    "lgamma lobpcg local_response_norm log_ndtr logaddexp2 logcumsumexp logdet logit logspace "
    "lp_pool1d lp_pool2d lstm_cell lstsq lu margin_ranking_loss masked_scatter masks_to_boxes "
    "matrix_exp matrix_norm matrix_power matrix_rank median mode mse_loss msort multi_dot "
    "multi_margin_loss multigammaln multilabel_margin_loss multilabel_soft_margin_loss "
    "multinomial mvlgamma nanmean nanmedian nanquantile nansum ndimension ndtr ndtri "
    "nested_tensor new_empty new_empty_strided new_full new_ones new_tensor new_zeros nextafter "
    "nll_loss normal nuclear_norm pca_lowrank pdist pinv pinverse poisson poisson_nll_loss "
    "polar polygamma positive ps_roi_align ps_roi_pool psi put qr quantile quantize_per_channel "
    "quantize_per_tensor quantize_per_tensor_dynamic rad2deg rand rand_like randint "
    "randint_like randn randn_like randperm ravel real remove_small_boxes renorm rfft rfft2 "
    "rfftfreq rfftn rot90 rrelu rsub searchsorted segment_reduce select_scatter sgn "
    "sigmoid_focal_loss signbit sinc slice_scatter slogdet smooth_l1_loss soft_margin_loss "
    "softmin solve solve_ex solve_triangular split_with_sizes std_mean stft stochastic_depth "
    "sum_to_size svd svd_lowrank svdvals take tensor_split tensordot tensorinv tensorsolve "
    "to_dense tolist trace trapezoid trapz triangular_solve tril_indices triplet_margin_loss "
    "triplet_margin_with_distance_loss triu_indices unique_consecutive unravel_index "
    "upsample_bilinear upsample_nearest vander vdot vecdot vector_norm view_as_complex "
    "view_as_real vmap vsplit xlog1py xlogy zeta ";
static constexpr StringRef kLayers =
    " AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool3d BCELoss BCEWithLogitsLoss "
    "CTCLoss ConstantPad3d ConvTranspose3d CosineEmbeddingLoss CrossEntropyLoss CrossMapLRN2d "
    "DataParallel FeatureAlphaDropout Fold FractionalMaxPool2d FractionalMaxPool3d GRUCell "
    "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LPPool1d LPPool2d LSTMCell "
    "LocalResponseNorm MSELoss MarginRankingLoss MaxUnpool1d MaxUnpool2d MaxUnpool3d "
    "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d "
    "PoissonNLLLoss RNNCell RReLU ReflectionPad3d ReplicationPad3d SmoothL1Loss SoftMarginLoss "
    "SyncBatchNorm Transformer TransformerDecoder TransformerEncoder TripletMarginLoss "
    "TripletMarginWithDistanceLoss Unfold ";

static bool holds(StringRef names, StringRef name) {
  return !name.contains(' ') && names.contains((" " + llvm::Twine(name) + " ").str());
}

bool isTorchFunction(StringRef name) { return holds(kFunctions, name); }

bool isTorchLayer(StringRef name) { return holds(kLayers, name); }

} // namespace dlc::frontend
