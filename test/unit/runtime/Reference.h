//===- Reference.h - Expected values, computed another way ------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalars are decoded to double by the definition of the format and rounded
// back by std::nearbyint on a scaled value; nothing is shared with the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_TEST_RUNTIME_REFERENCE_H
#define DSV4_TEST_RUNTIME_REFERENCE_H

#include <cstdint>
#include <vector>

namespace dsv4::test {

using Bytes = std::vector<unsigned char>;

int64_t getWidth(uint32_t dtype);
bool isFloat(uint32_t dtype);

/// A 16-bit float with `exponentBits` exponent bits, decoded and encoded.
double decode16(uint16_t bits, int exponentBits);
uint16_t encode16(double value, int exponentBits);

/// `count` elements that differ by rank and place, with values for which the
/// order of a sum matters. With `special`, also NaN, infinities and zeros of
/// both signs.
Bytes makeData(uint32_t dtype, int rank, int64_t count, bool special);

/// The reduction of elements [begin, begin + count) of `operands`, in order.
Bytes reduceInOrder(uint32_t dtype, uint32_t redop,
                    const std::vector<Bytes> &operands, int64_t begin,
                    int64_t count);

/// Equal bits, or both NaN.
bool haveEqualElements(uint32_t dtype, const unsigned char *a,
                       const unsigned char *b, int64_t count);

} // namespace dsv4::test

#endif // DSV4_TEST_RUNTIME_REFERENCE_H
