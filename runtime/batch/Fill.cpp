//===- Fill.cpp - Writing the outputs of a batch --------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpBatch.h"

#include <cstring>

using namespace dsv4::rt;

namespace {

/// One element of up to 8 bytes.
struct Element {
  unsigned char bytes[8];
};

template <typename T>
Element toElement(T value) {
  Element element = {};
  std::memcpy(element.bytes, &value, sizeof(T));
  return element;
}

/// The integer in the type, wrapped where it does not fit. Floats of 16 bits
/// serve 0 and the ignored label only.
Element makeElement(uint32_t dtype, int64_t value) {
  switch (dtype) {
  case DSV4RT_I1:
    return toElement<uint8_t>(value != 0);
  case DSV4RT_F32:
    return toElement(static_cast<float>(value));
  case DSV4RT_F64:
    return toElement(static_cast<double>(value));
  case DSV4RT_F16:
    return toElement<uint16_t>(value == kIgnoredLabel ? 0xD640 : 0);
  case DSV4RT_BF16:
    return toElement<uint16_t>(value == kIgnoredLabel ? 0xC2C8 : 0);
  default:
    // Of a narrower integer the low bytes; little-endian machines only.
    return toElement(value);
  }
}

/// `count` values first, first + 1, ...
template <typename T>
void fillAscending(T *dst, T first, int64_t count) {
  using Unsigned = std::make_unsigned_t<T>;
  for (int64_t i = 0; i < count; ++i)
    dst[i] =
        static_cast<T>(static_cast<Unsigned>(first) + static_cast<Unsigned>(i));
}
void fillAscending(float *dst, float first, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dst[i] = first + static_cast<float>(i);
}
void fillAscending(double *dst, double first, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dst[i] = first + static_cast<double>(i);
}

template <typename T>
void continueFrom(const char *last, char *dst, int64_t skipped, int64_t count) {
  T value;
  std::memcpy(&value, last, sizeof(T));
  T step = static_cast<T>(skipped + 1);
  fillAscending(reinterpret_cast<T *>(dst), static_cast<T>(value + step),
                count);
}

/// Write `count` positions after `last`, beginning with the one `skipped`
/// places further.
void continuePositions(uint32_t dtype, const char *last, int64_t skipped,
                       char *dst, int64_t count) {
  switch (dtype) {
  case DSV4RT_F32:
    return continueFrom<float>(last, dst, skipped, count);
  case DSV4RT_F64:
    return continueFrom<double>(last, dst, skipped, count);
  default:
    break;
  }
  // Wrapping arithmetic is the same for both signs.
  switch (dsv4rt_dtype_size(dtype)) {
  case 1:
    return continueFrom<uint8_t>(last, dst, skipped, count);
  case 4:
    return continueFrom<uint32_t>(last, dst, skipped, count);
  case 8:
    return continueFrom<uint64_t>(last, dst, skipped, count);
  }
}

void fillTokens(const Rows &rows, const Output &output,
                const dsv4rt_tensor &result, char *dst) {
  const dsv4rt_tensor &source = *output.source;
  int64_t inner = countTrailing(source, 2);
  int64_t column = inner * dsv4rt_dtype_size(source.dtype);
  if (!column)
    return;
  const char *src = static_cast<const char *>(source.data);
  auto fill = [&](int64_t value, int64_t lo, int64_t hi) {
    fillElements(result.dtype, value, dst + (lo - output.begin) * column,
                 (hi - lo) * inner);
  };
  for (int64_t row = 0; row < rows.batch; ++row) {
    rows.visit(
        row, output.begin, output.end,
        [&](const Document &document, int64_t lo, int64_t hi) {
          std::memcpy(dst + (lo - output.begin) * column,
                      src + (document.from + lo - document.to) * column,
                      (hi - lo) * column);
        },
        [&](int64_t lo, int64_t hi) { fill(output.gapFill, lo, hi); },
        [&](int64_t lo, int64_t hi) { fill(output.tailFill, lo, hi); });
    src += rows.inputLength * column;
    dst += (output.end - output.begin) * column;
  }
}

void fillPositions(const Rows &rows, const Output &output, int64_t *dst) {
  for (int64_t row = 0; row < rows.batch; ++row) {
    auto at = [&](int64_t column) { return dst + (column - output.begin); };
    rows.visit(
        row, output.begin, output.end,
        [&](const Document &document, int64_t lo, int64_t hi) {
          fillAscending(at(lo), lo - document.to, hi - lo);
        },
        [&](int64_t lo, int64_t hi) { std::fill(at(lo), at(hi), 0); },
        [&](int64_t lo, int64_t hi) {
          int64_t first = rows.lastPosition(row) + 1 + lo - rows.width;
          fillAscending(at(lo), first, hi - lo);
        });
    dst += output.end - output.begin;
  }
}

/// Unpacked rows only, of [B, S], [1, S] or [planes, B, S].
void fillGivenPositions(const Rows &rows, const Output &output,
                        const dsv4rt_tensor &result, char *dst) {
  const dsv4rt_tensor &source = *output.source;
  int64_t size = dsv4rt_dtype_size(source.dtype);
  int64_t length = rows.inputLength;
  int64_t local = output.end - output.begin;
  int64_t numRows = 1;
  for (uint32_t axis = 0; axis + 1 < result.rank; ++axis)
    numRows *= result.shape[axis];
  bool isShared = source.rank == 2 && source.shape[0] == 1;
  const char *src = static_cast<const char *>(source.data);
  for (int64_t row = 0; row < numRows; ++row) {
    int64_t split = std::clamp(length, output.begin, output.end);
    int64_t given = split - output.begin;
    if (given)
      std::memcpy(dst, src + output.begin * size, given * size);
    if (given < local)
      continuePositions(source.dtype, src + (length - 1) * size, split - length,
                        dst + given * size, local - given);
    dst += local * size;
    if (!isShared)
      src += length * size;
  }
}

void fillDocuments(const Rows &rows, const Output &output, int64_t *dst) {
  for (int64_t row = 0; row < rows.batch; ++row) {
    auto at = [&](int64_t column) { return dst + (column - output.begin); };
    auto clear = [&](int64_t lo, int64_t hi) { std::fill(at(lo), at(hi), 0); };
    rows.visit(
        row, output.begin, output.end,
        [&](const Document &document, int64_t lo, int64_t hi) {
          std::fill(at(lo), at(hi), document.ordinal);
        },
        clear, clear);
    dst += output.end - output.begin;
  }
}

/// dst[i] = (src[i * stride] is not zero) == expected
template <typename T>
void compareBits(const char *src, int64_t stride, T mask, bool expected,
                 uint8_t *dst, int64_t count) {
  const T *values = reinterpret_cast<const T *>(src);
  for (int64_t i = 0; i < count; ++i)
    dst[i] = ((values[i * stride] & mask) != 0) == expected;
}

void compareZero(uint32_t dtype, const char *src, int64_t stride, bool expected,
                 uint8_t *dst, int64_t count) {
  // A float of either zero is zero: leave out its sign.
  bool isFloat = !isInteger(dtype) && dtype != DSV4RT_I1;
  switch (dsv4rt_dtype_size(dtype)) {
  case 1:
    return compareBits<uint8_t>(src, stride, isFloat ? 0x7f : 0xff, expected,
                                dst, count);
  case 2:
    return compareBits<uint16_t>(src, stride, isFloat ? 0x7fff : 0xffff,
                                 expected, dst, count);
  case 4:
    return compareBits<uint32_t>(src, stride, isFloat ? INT32_MAX : UINT32_MAX,
                                 expected, dst, count);
  case 8:
    return compareBits<uint64_t>(src, stride, isFloat ? INT64_MAX : UINT64_MAX,
                                 expected, dst, count);
  }
}

/// Which columns of the input are tokens, by a mask of [B, S] or the diagonal
/// of [B, heads, S, S].
void convertMask(const dsv4rt_tensor &mask, bool expected, int64_t row,
                 int64_t column, uint8_t *dst, int64_t count) {
  bool isSquare = mask.rank == 4;
  int64_t length = mask.shape[mask.rank - 1];
  int64_t stride = isSquare ? length + 1 : 1;
  int64_t rowStride = isSquare ? mask.shape[1] * length * length : length;
  int64_t offset = row * rowStride + column * stride;
  const char *src = static_cast<const char *>(mask.data) +
                    offset * dsv4rt_dtype_size(mask.dtype);
  compareZero(mask.dtype, src, stride, expected, dst, count);
}

void fillMask(const Rows &rows, const Output &output, uint8_t *dst) {
  // gapFill says what the source's nonzero elements are: 1 tokens, 0 padding.
  bool expected = output.gapFill;
  for (int64_t row = 0; row < rows.batch; ++row) {
    auto at = [&](int64_t column) { return dst + (column - output.begin); };
    auto clear = [&](int64_t lo, int64_t hi) {
      std::memset(at(lo), 0, hi - lo);
    };
    rows.visit(
        row, output.begin, output.end,
        [&](const Document &document, int64_t lo, int64_t hi) {
          if (output.source)
            convertMask(*output.source, expected, row,
                        document.from + lo - document.to, at(lo), hi - lo);
          else
            std::memset(at(lo), 1, hi - lo);
        },
        clear, clear);
    dst += output.end - output.begin;
  }
}

void fillInvertedMask(const Rows &rows, const Output &output,
                      const dsv4rt_tensor &result, char *dst) {
  fillTokens(rows, output, result, dst);
  for (int64_t i = 0; i < output.bytes; ++i)
    dst[i] = static_cast<char>(~dst[i]);
}

} // namespace

void dsv4::rt::fillCopies(const void *element, int64_t width, char *dst,
                          int64_t count) {
  if (count <= 0)
    return;
  auto fillAs = [&](auto value) {
    std::memcpy(&value, element, sizeof(value));
    auto *values = reinterpret_cast<decltype(value) *>(dst);
    std::fill(values, values + count, value);
  };
  if (!element)
    std::memset(dst, 0, count * width);
  else if (width == 1)
    std::memset(dst, *static_cast<const unsigned char *>(element), count);
  else if (width == 2)
    fillAs(uint16_t());
  else if (width == 4)
    fillAs(uint32_t());
  else
    fillAs(uint64_t());
}

void dsv4::rt::fillElements(uint32_t dtype, int64_t value, void *dst,
                            int64_t count) {
  Element element = makeElement(dtype, value);
  fillCopies(element.bytes, dsv4rt_dtype_size(dtype), static_cast<char *>(dst),
             count);
}

void dsv4::rt::fillOutput(const Rows &rows, const Output &output,
                          const dsv4rt_tensor &result) {
  // The memory behind `data` is the batch's own, but for aliases.
  char *dst = static_cast<char *>(const_cast<void *>(result.data));
  switch (output.rule) {
  case Rule::Alias:
    return;
  case Rule::Tokens:
    return fillTokens(rows, output, result, dst);
  case Rule::Positions:
    return fillPositions(rows, output, reinterpret_cast<int64_t *>(dst));
  case Rule::GivenPositions:
    return fillGivenPositions(rows, output, result, dst);
  case Rule::Documents:
    return fillDocuments(rows, output, reinterpret_cast<int64_t *>(dst));
  case Rule::Mask:
    return fillMask(rows, output, reinterpret_cast<uint8_t *>(dst));
  case Rule::InvertMask:
    return fillInvertedMask(rows, output, result, dst);
  }
}
