//===- dlc_math.cuh - the part of the vocabulary that is plain C++ --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors, integers with defined overflow, index arithmetic and the exact float primitives, written
// once for the GPU and the emulator. C++ leaves signed overflow, wide shifts and INT_MIN / -1
// undefined where the IR defines them, so emitted code says these through functions.
// Included by dlc_device.cuh; do not include it alone.
//===----------------------------------------------------------------------===//
#pragma once

/// +infinity and a quiet NaN. (NVRTC has no __builtin_inff.)
#define DLC_INF (dlc::f32_from_bits(0x7f800000))
#define DLC_NAN (dlc::f32_from_bits(0x7fc00000))
#define DLC_INF_F64 (dlc::f64_from_bits(0x7ff0000000000000ll))
#define DLC_NAN_F64 (dlc::f64_from_bits(0x7ff8000000000000ll))

namespace dlc {

//===-- Vectors -----------------------------------------------------------===//

/// N values; aligned to its size up to 16 bytes, so that one is one memory access.
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec {
  T v[N];
  DLC_DEV T &operator[](int i) { return v[i]; }
  DLC_DEV const T &operator[](int i) const { return v[i]; }
};

/// Reads or writes N values at `p`, which must be aligned to the vector.
template <int N, class T> DLC_DEV vec<T, N> load(const T *p) {
  const vec<T, N> *q = reinterpret_cast<const vec<T, N> *>(p);
  note_load(q);
  return *q;
}
template <int N, class T> DLC_DEV void store(T *p, const vec<T, N> &v) {
  vec<T, N> *q = reinterpret_cast<vec<T, N> *>(p);
  note_store(q);
  *q = v;
}
/// N copies of one value.
template <int N, class T> DLC_DEV vec<T, N> splat(T value) {
  vec<T, N> r;
#pragma unroll
  for (int i = 0; i < N; ++i)
    r.v[i] = value;
  return r;
}

//===-- Integers ----------------------------------------------------------===//

template <class T> struct unsigned_of;
template <> struct unsigned_of<i8> {
  using type = u8;
};
template <> struct unsigned_of<i16> {
  using type = u16;
};
template <> struct unsigned_of<i32> {
  using type = u32;
};
template <> struct unsigned_of<i64> {
  using type = u64;
};
template <class T> using unsigned_t = typename unsigned_of<T>::type;

/// Two's complement arithmetic that wraps around. T: i8, i16, i32, i64.
template <class T> DLC_DEV T add_wrap(T a, T b) { return (T)((unsigned_t<T>)a + (unsigned_t<T>)b); }
template <class T> DLC_DEV T sub_wrap(T a, T b) { return (T)((unsigned_t<T>)a - (unsigned_t<T>)b); }
// Narrow types are promoted to int: there the product of two u16 would overflow, of two i16 not.
template <class T> DLC_DEV T mul_wrap(T a, T b) {
  return sizeof(T) < 4 ? (T)((i32)a * (i32)b) : (T)((unsigned_t<T>)a * (unsigned_t<T>)b);
}
template <class T> DLC_DEV T neg_wrap(T a) { return (T)(0 - (unsigned_t<T>)a); }
template <class T> DLC_DEV T abs_wrap(T a) { return a < 0 ? neg_wrap(a) : a; }

/// Shifts whose amount may be anything: past the width, all bits have left.
template <class T> DLC_DEV T shl(T a, T by) {
  return (unsigned_t<T>)by < sizeof(T) * 8 ? (T)((unsigned_t<T>)a << by) : (T)0;
}
template <class T> DLC_DEV T shr_unsigned(T a, T by) {
  return (unsigned_t<T>)by < sizeof(T) * 8 ? (T)((unsigned_t<T>)a >> by) : (T)0;
}
template <class T> DLC_DEV T shr_signed(T a, T by) {
  return (T)(a >> ((unsigned_t<T>)by < sizeof(T) * 8 ? by : (T)(sizeof(T) * 8 - 1)));
}

/// Division of integer data, defined for all inputs: INT_MIN / -1 wraps; x / 0 is 0 and x rem 0 is
/// x, so that quotient * divisor + remainder is x always. `trunc` rounds to zero, `floor` down.
template <class T> DLC_DEV T div_trunc(T a, T b) {
  return b == 0 ? (T)0 : b == -1 ? neg_wrap(a) : (T)(a / b);
}
template <class T> DLC_DEV T rem_trunc(T a, T b) {
  return b == 0 ? a : b == -1 ? (T)0 : (T)(a % b);
}
template <class T> DLC_DEV T rem_floor(T a, T b) {
  T r = rem_trunc(a, b);
  return b != 0 && r != 0 && ((r < 0) != (b < 0)) ? (T)(r + b) : r;
}
template <class T> DLC_DEV T div_floor(T a, T b) {
  T q = div_trunc(a, b);
  T r = rem_trunc(a, b);
  return b != 0 && r != 0 && ((r < 0) != (b < 0)) ? (T)(q - 1) : q;
}

/// Unsigned division of index values. The result is signed again: `x % 30u` in the text would turn
/// the whole expression around it unsigned. The divisor is never 0.
DLC_DEV i32 udiv(i32 a, i32 b) { return (i32)((u32)a / (u32)b); }
DLC_DEV i32 umod(i32 a, i32 b) { return (i32)((u32)a % (u32)b); }
DLC_DEV i64 udiv(i64 a, i64 b) { return (i64)((u64)a / (u64)b); }
DLC_DEV i64 umod(i64 a, i64 b) { return (i64)((u64)a % (u64)b); }
DLC_DEV i64 udiv(i64 a, i32 b) { return udiv(a, (i64)b); }
DLC_DEV i64 umod(i64 a, i32 b) { return umod(a, (i64)b); }
DLC_DEV i64 udiv(i32 a, i64 b) { return udiv((i64)a, b); }
DLC_DEV i64 umod(i32 a, i64 b) { return umod((i64)a, b); }
/// Comparison of signed values as unsigned ones.
DLC_DEV bool ult(i32 a, i32 b) { return (u32)a < (u32)b; }
DLC_DEV bool ult(i64 a, i64 b) { return (u64)a < (u64)b; }
DLC_DEV bool ule(i32 a, i32 b) { return (u32)a <= (u32)b; }
DLC_DEV bool ule(i64 a, i64 b) { return (u64)a <= (u64)b; }

DLC_DEV i32 max(i32 a, i32 b) { return a > b ? a : b; }
DLC_DEV i32 min(i32 a, i32 b) { return a < b ? a : b; }
DLC_DEV i64 max(i64 a, i64 b) { return a > b ? a : b; }
DLC_DEV i64 min(i64 a, i64 b) { return a < b ? a : b; }
DLC_DEV u32 max(u32 a, u32 b) { return a > b ? a : b; }
DLC_DEV u32 min(u32 a, u32 b) { return a < b ? a : b; }
DLC_DEV u64 max(u64 a, u64 b) { return a > b ? a : b; }
DLC_DEV u64 min(u64 a, u64 b) { return a < b ? a : b; }

//===-- Floats: exact primitives ------------------------------------------===//

DLC_DEV i16 bits_of(f16 v) { return (i16)v.x; }
DLC_DEV i16 bits_of(bf16 v) { return (i16)v.x; }
DLC_DEV f16 f16_from_bits(i16 b) { return f16{(u16)b}; }
DLC_DEV bf16 bf16_from_bits(i16 b) { return bf16{(u16)b}; }

/// from_bits<T>(bits): the inverse of bits_of.
template <class T> struct from_bits_of;
template <> struct from_bits_of<float> {
  static DLC_DEV float get(i32 b) { return f32_from_bits(b); }
};
template <> struct from_bits_of<double> {
  static DLC_DEV double get(i64 b) { return f64_from_bits(b); }
};
template <> struct from_bits_of<f16> {
  static DLC_DEV f16 get(i16 b) { return f16_from_bits(b); }
};
template <> struct from_bits_of<bf16> {
  static DLC_DEV bf16 get(i16 b) { return bf16_from_bits(b); }
};
template <class T, class B> DLC_DEV T from_bits(B b) { return from_bits_of<T>::get(b); }

/// Unlike 0 - v, this turns 0 into -0 and keeps a NaN's payload.
DLC_DEV float neg(float v) { return f32_from_bits(bits_of(v) ^ (i32)0x80000000u); }
DLC_DEV double neg(double v) { return f64_from_bits(bits_of(v) ^ (i64)0x8000000000000000ull); }
DLC_DEV float copysign(float mag, float sign) {
  return f32_from_bits((bits_of(mag) & 0x7fffffff) | (bits_of(sign) & (i32)0x80000000u));
}
DLC_DEV double copysign(double mag, double sign) {
  return f64_from_bits((bits_of(mag) & 0x7fffffffffffffffll) |
                       (bits_of(sign) & (i64)0x8000000000000000ull));
}
DLC_DEV bool is_nan(float v) { return v != v; }
DLC_DEV bool is_nan(double v) { return v != v; }

/// As for float: NaN if either is NaN; +0 above -0. (PTX has no max.NaN.f64.)
DLC_DEV double max(double a, double b) {
  return a != a || b != b ? DLC_NAN_F64
         : a == b         ? f64_from_bits(bits_of(a) & bits_of(b))
         : a > b          ? a
                          : b;
}
DLC_DEV double min(double a, double b) {
  return a != a || b != b ? DLC_NAN_F64
         : a == b         ? f64_from_bits(bits_of(a) | bits_of(b))
         : a < b          ? a
                          : b;
}
/// Selecting one of two stored values needs no rounding.
template <class T> DLC_DEV T max_stored(T a, T b) { return from_f<T>(max(to_f(a), to_f(b))); }
DLC_DEV f16 max(f16 a, f16 b) { return max_stored(a, b); }
DLC_DEV bf16 max(bf16 a, bf16 b) { return max_stored(a, b); }
template <class T> DLC_DEV T min_stored(T a, T b) { return from_f<T>(min(to_f(a), to_f(b))); }
DLC_DEV f16 min(f16 a, f16 b) { return min_stored(a, b); }
DLC_DEV bf16 min(bf16 a, bf16 b) { return min_stored(a, b); }

/// One of two evaluated values, without a branch in the meaning.
template <class T> DLC_DEV T select(bool cond, T a, T b) { return cond ? a : b; }

DLC_DEV double to_d(double v) { return v; }
DLC_DEV double to_d(float v) { return (double)v; }
DLC_DEV double to_d(f16 v) { return (double)to_f(v); }
DLC_DEV double to_d(bf16 v) { return (double)to_f(v); }

/// double to T with a single rounding. The way to the 16-bit types leads over a float rounded to
/// odd: it keeps two bits more than they need and marks inexactness in its last bit, so the second
/// rounding decides as one from the double would.
DLC_DEV float to_odd(double v) {
  float r = (float)v;
  if (v != v || (double)r == v)
    return r;
  i32 bits = bits_of(r);
  if (abs((double)r) > abs(v))
    bits -= 1;
  return f32_from_bits(bits | 1);
}
template <class T> DLC_DEV T from_d(double v) { return from_f<T>(to_odd(v)); }
template <> DLC_DEV float from_d<float>(double v) { return (float)v; }
template <> DLC_DEV double from_d<double>(double v) { return v; }

} // namespace dlc
