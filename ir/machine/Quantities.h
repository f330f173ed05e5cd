//===- Quantities.h - Sizes of memory and rates of processors -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_QUANTITIES_H
#define DLC_IR_MACHINE_QUANTITIES_H

namespace dlc {

/// A rate of a processor, such as bytes, multiply-adds or elements per nanosecond. Dividing an
/// amount by a rate gives nanoseconds.
struct Rate {
  double perNanosecond;
};
constexpr double operator/(double amount, Rate rate) { return amount / rate.perNanosecond; }
constexpr Rate operator*(double factor, Rate rate) { return {factor * rate.perNanosecond}; }

/// A size of memory in bytes. Amounts of bytes can be compared with it, but not divided by it.
struct Bytes {
  double count;
};
constexpr bool operator<=(double bytes, Bytes size) { return bytes <= size.count; }
constexpr bool operator>(double bytes, Bytes size) { return bytes > size.count; }
constexpr bool operator>=(double bytes, Bytes size) { return bytes >= size.count; }

} // namespace dlc

#endif // DLC_IR_MACHINE_QUANTITIES_H
