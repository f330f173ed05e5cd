//===- CpuModel.h - What estimates of kernels know of a CPU -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_CPUMODEL_H
#define DLC_IR_MACHINE_CPUMODEL_H

#include "ir/machine/Quantities.h"

namespace dlc {

/// The properties of a CPU that estimates use. Each rate is the rate of one core.
struct CpuModel {
  Rate floatProducts;  // multiply-adds of f32 in panels of weights
  Rate blockProducts;  // the same where only blocks of weights that are not zero are stored
  Rate fewChannels;    // as floatProducts, of an image of few channels, which lie apart in memory
  Rate byteProducts;   // of u8 by i8, four neighbours at a time
  Rate looseFloats;    // multiply-adds of f32 where channels share no sum (depthwise)
  Rate looseIntegers;  // the same of integers
  Rate memory;         // bytes that the core's own caches do not hold
  Rate cache;          // bytes that they hold
  Rate roundedNumbers; // f32 that become bytes, as a part of the kernel that makes them
  Rate scaledSums;     // i32 that become f32 again, at the end of a product
  Rate unpackedBytes;  // weights of 8 bits that a product makes f32
  Rate unpackedHalves; // weights of 4 bits
  Bytes weightCache;   // weights up to which a product reads them from caches
  Bytes ownCache;      // of the cache that no other core shares
  Bytes stepWeights;   // of a recurrence's weights from which on threads share its steps
  double stepRows;     // rows of a recurrence up to which they do
  double meetings;     // times it takes with its units shared out where either does not hold
  double rowsAtOnce;   // rows that share weights which have been unpacked
  double launch;       // microseconds of a kernel that has nothing to do
  double usualThreads; // that share a launch

  /// Nanoseconds of one core to move the bytes that a kernel reads and writes once.
  double nanosecondsToMove(double bytes) const {
    return bytes / (bytes <= ownCache ? cache : memory);
  }
};

/// An AMD EPYC with AVX-512 VNNI, fitted to what `dlc bench --profile` said of the kernels of
/// resnet20 and of products of 2048 x 2048; rounding and scaling anew to twelve linear layers
/// (docs/compression.md says how well). Those of depthwise convolutions and of a launch are
/// guesses.
extern const CpuModel kAvx512Vnni;

} // namespace dlc

#endif // DLC_IR_MACHINE_CPUMODEL_H
