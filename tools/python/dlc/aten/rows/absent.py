"""Overloads that have no row, and why. The list may only shrink."""

from ..table import without

without(
    "draws numbers of a distribution that dlc does not have",
    "poisson binomial",
)
without(
    "a gradient: dlc compiles inference",
    "_adaptive_avg_pool2d_backward avg_pool2d_backward convolution_backward "
    "embedding_dense_backward max_pool2d_with_indices_backward native_group_norm_backward "
    "native_layer_norm_backward",
)
without(
    "complex numbers, which dlc does not compute with",
    "_fft_c2r _fft_r2c _fft_c2c complex polar view_as_complex view_as_real _conj_physical",
)
without(
    "a factorization, which dlc does not have",
    "_linalg_svd _linalg_eigh linalg_eig linalg_qr linalg_lu linalg_lu_factor_ex linalg_lu_solve "
    "linalg_ldl_factor_ex linalg_ldl_solve lu_unpack geqrf ormqr linalg_householder_product "
    "linalg_matrix_exp linalg_matrix_sqrth linalg_polar linalg_pinv.atol_rtol_tensor",
)
without(
    "a function that dlc does not have",
    "igamma igammac gcd lcm frexp.Tensor nextafter i0 special_i0e special_i1 special_i1e "
    "special_zeta special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 "
    "special_bessel_y1 special_modified_bessel_i0 special_modified_bessel_i1 "
    "special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 "
    "special_scaled_modified_bessel_k1 special_spherical_bessel_j0 "
    "special_chebyshev_polynomial_t special_chebyshev_polynomial_u "
    "special_chebyshev_polynomial_v special_chebyshev_polynomial_w "
    "special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
    "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w "
    "special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l "
    "special_legendre_polynomial_p",
)
without(
    "a kind of counting or pooling that dlc does not have",
    "mode histogram.bin_ct histogram.bins_tensor _histogramdd_bin_edges "
    "_histogramdd_from_bin_cts _histogramdd_from_bin_tensors segment_reduce hash_tensor "
    "fractional_max_pool2d fractional_max_pool3d",
)
without(
    "a loss in parts, for training",
    "torch_nn::_linear_cross_entropy_batch_chunked "
    "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction",
)
without("sparse tensors, which dlc does not have", "_to_sparse _to_sparse.sparse_dim")
without(
    "a stride or an offset of memory, which dlc chooses",
    "sym_storage_offset sym_stride.int sym_is_contiguous",
)
without(
    "writes to its argument; PyTorch's functional graphs have another overload",
    "resize_ atan2.out",
)
