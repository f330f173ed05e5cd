//===- CpuModel.h - What estimates of kernels know of a CPU ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_MACHINE_CPUMODEL_H
#define DLC_IR_MACHINE_CPUMODEL_H

namespace dlc {

/// The rates of a CPU that estimates use: those of one core, in a nanosecond.
struct CpuModel {
  double floatProducts;  // multiply-adds of f32 in panels of weights
  double blockProducts;  // the same where only blocks of weights that are not zero are stored
  double fewChannels;    // of floatProducts, of an image of few channels, which lie apart in memory
  double byteProducts;   // of u8 by i8, four neighbours at a time
  double looseFloats;    // multiply-adds of f32 where channels share no sum (depthwise)
  double looseIntegers;  // the same of integers
  double memoryBytes;    // of weights that caches do not hold
  double cacheBytes;     // what they hold
  double roundedNumbers; // f32 that become bytes, as a part of the kernel that makes them
  double scaledSums;     // i32 that become f32 again, at the end of a product
  double unpackedBytes;  // weights of 8 bits that a product makes f32
  double unpackedHalves; // weights of 4 bits
  double rowsAtOnce;     // rows that share weights which have been unpacked
  double launch;         // microseconds of a kernel that has nothing to do
  double ownCache;       // bytes of the cache that no other core shares
  double usualThreads;   // that share a launch
  double stepWeights;    // bytes of a recurrence's weights from which on threads share its steps
  double stepRows;       // rows of a recurrence up to which they do
  double meetings;       // times it takes with its units shared out where either does not hold
};

/// An AMD EPYC with AVX-512 VNNI, fitted to what `dlc bench --profile` said of the kernels of
/// resnet20 and of products of 2048 x 2048; rounding and scaling anew to twelve linear layers (docs/compression.md says
/// how well). Those of depthwise convolutions and of a launch are guesses.
extern const CpuModel kAvx512Vnni;

} // namespace dlc

#endif // DLC_IR_MACHINE_CPUMODEL_H
