//===- Quantities.h - Sizes of memory and rates of processors --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_QUANTITIES_H
#define DLC_IR_MACHINE_QUANTITIES_H

namespace dlc {

/// What a processor does in a nanosecond: bytes that it moves, multiply-adds, elements. An amount
/// divided by it is nanoseconds.
struct Rate {
  double perNanosecond;
};
constexpr double operator/(double amount, Rate rate) { return amount / rate.perNanosecond; }
constexpr Rate operator*(double factor, Rate rate) { return {factor * rate.perNanosecond}; }

/// A size of memory. Amounts of bytes are compared with it; there is no time in it.
struct Bytes {
  double count;
};
constexpr bool operator<=(double bytes, Bytes size) { return bytes <= size.count; }
constexpr bool operator>(double bytes, Bytes size) { return bytes > size.count; }
constexpr bool operator>=(double bytes, Bytes size) { return bytes >= size.count; }

} // namespace dlc

#endif // DLC_IR_MACHINE_QUANTITIES_H
