//===- CpBatch.h - Parts of the batch sharder -------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call goes through four steps:
//
//   readInput       all that one rank can know to be wrong      ReadInput.cpp,
//                                                               Documents.cpp
//   agreeOnInput    the first error of any rank, the length     Agree.cpp
//   layOut          which results there are, their memory       LayOut.cpp
//   fillOutput      writes them; cannot fail                    Fill.cpp
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_BATCH_CPBATCH_H
#define DSV4_RUNTIME_BATCH_CPBATCH_H

#include "dsv4/Runtime/Batch.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace dsv4::rt {

/// Longer rows are refused, so that sums of columns cannot overflow.
constexpr int64_t kMaxColumns = int64_t(1) << 40;

constexpr int64_t kIgnoredLabel = -100;

/// What went wrong; false when nothing did.
struct Problem {
  int32_t status = DSV4RT_OK;
  int32_t code = DSV4RT_CP_NO_CODE;
  std::string text;

  explicit operator bool() const { return status != DSV4RT_OK; }
};

/// "CP-E08".
std::string formatCode(int32_t code);
/// A broken rule; `text` is what was got, expected, and the smallest change.
Problem refuse(int32_t code, const std::string &text);
/// "i64 [2, 8]".
std::string describe(const dsv4rt_tensor &tensor);
/// "document 1 of row 0".
std::string describeDocument(int64_t row, int64_t index);

/// Elements of the shape, -1 when it is not legal or cannot be addressed.
int64_t countElements(const dsv4rt_tensor &tensor);
/// Elements of one column of [B, S, ...], from axis `axis` on.
int64_t countTrailing(const dsv4rt_tensor &tensor, uint32_t axis);
bool isSignedInteger(uint32_t dtype);
bool isInteger(uint32_t dtype);

inline int64_t roundUp(int64_t value, int64_t multiple) {
  int64_t rest = value % multiple;
  return rest ? value + (multiple - rest) : value;
}

/// A run of tokens of one row.
struct Document {
  int64_t from;    ///< first column in the input
  int64_t to;      ///< first column in the aligned row
  int64_t length;  ///< tokens
  int64_t ordinal; ///< from 1, absent documents counted
};

/// The documents of all rows, ascending in both kinds of columns. An unpacked
/// row is one document.
struct Rows {
  std::vector<Document> documents;
  std::vector<size_t> begins; ///< of each row, and the end
  int64_t batch = 0;
  int64_t inputLength = 0;
  int64_t width = 0; ///< columns of an aligned row

  const Document *begin(int64_t row) const {
    return documents.data() + begins[row];
  }
  const Document *end(int64_t row) const {
    return documents.data() + begins[row + 1];
  }
  /// Position in its document of the last column; 0 where it has none.
  int64_t lastPosition(int64_t row) const {
    if (begin(row) == end(row))
      return 0;
    const Document &last = end(row)[-1];
    return last.to + last.length == width && last.length ? last.length - 1 : 0;
  }

  /// Visit columns [first, last) in order, which may reach beyond the width:
  /// token(document, lo, hi), gap(lo, hi) between documents, tail(lo, hi)
  /// from the width on.
  template <typename Token, typename Gap, typename Tail>
  void visit(int64_t row, int64_t first, int64_t last, Token token, Gap gap,
             Tail tail) const {
    int64_t cursor = first;
    for (const Document *it = begin(row); it != end(row); ++it) {
      int64_t lo = std::max(it->to, first);
      int64_t hi = std::min(it->to + it->length, last);
      if (lo >= hi)
        continue;
      if (cursor < lo)
        gap(cursor, lo);
      token(*it, lo, hi);
      cursor = hi;
    }
    if (int64_t end = std::min(last, width); cursor < end) {
      gap(cursor, end);
      cursor = end;
    }
    if (cursor < last)
      tail(cursor, last);
  }
};

/// A batch that keeps all rules one rank can check.
struct Input {
  bool mesh = false;
  bool packed = false;
  const dsv4rt_tensor *inputIds = nullptr;
  const dsv4rt_tensor *labels = nullptr;
  const dsv4rt_tensor *lossMask = nullptr;
  const dsv4rt_tensor *positions = nullptr;
  const dsv4rt_tensor *attentionMask = nullptr; ///< unless there is the other
  const dsv4rt_tensor *paddingMask = nullptr;
  bool labelsAreMask = false;   ///< the loss mask stands in for labels
  bool lossMaskIsWhole = false; ///< not cut over the group
  Rows rows;                    ///< without their width
  int64_t length = 0;           ///< columns this rank needs
};

/// How an output is computed.
enum class Rule {
  Alias,     ///< the caller's tensor
  Tokens,    ///< moved by column; gaps and tail filled
  Positions, ///< of each token in its document, continued in the tail
  GivenPositions,
  Documents, ///< number of each token's document
  Mask,      ///< true on tokens
  InvertMask ///< bits of an integer padding mask inverted
};

struct Output {
  Rule rule = Rule::Alias;
  const dsv4rt_tensor *source = nullptr;
  int64_t gapFill = 0;
  int64_t tailFill = 0;
  int64_t begin = 0, end = 0; ///< columns
  int64_t bytes = 0;
};

/// Memory that grows and is reused.
class Storage {
public:
  Storage() = default;
  ~Storage() { std::free(memory); }
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  /// At least `bytes` bytes aligned to 64, former content lost; null when
  /// there are not that many.
  char *reserve(int64_t bytes);
  /// Room for `count` pieces.
  char *reserve(int64_t count, int64_t bytes) {
    int64_t total = 0;
    return __builtin_mul_overflow(count, bytes, &total) ? nullptr
                                                        : reserve(total);
  }

private:
  char *memory = nullptr;
  int64_t capacity = 0;
};

Problem readInput(const dsv4rt_cp_desc &desc, Input &input);
/// Fills the rows of `input`, and the length they need. `input.inputIds` is
/// legal, or null when there are none.
Problem readDocuments(const dsv4rt_cp_desc &desc, Input &input);

/// The value of that name; null when there is none.
const dsv4rt_batch_entry *findEntry(const dsv4rt_cp_desc &desc,
                                    const char *name);
const dsv4rt_tensor *findTensor(const dsv4rt_cp_desc &desc, const char *name);

/// `mine`, or the error of another rank. On success `length` becomes that of
/// all ranks where it is shared.
Problem agreeOnInput(const dsv4rt_cp_desc &desc, const Input &input,
                     const Problem &mine, int64_t &length);
/// `mine`, or the error of another rank.
Problem agreeOnMemory(const dsv4rt_cp_desc &desc, const Problem &mine);

/// Decide the columns, the outputs and their memory.
Problem layOut(const dsv4rt_cp_desc &desc, Input &input, int64_t length,
               dsv4rt_cp_batch &batch);

/// Write `count` elements of the type with an integer value, wrapped where it
/// does not fit.
void fillElements(uint32_t dtype, int64_t value, void *dst, int64_t count);
/// Write `count` copies of an element of `width` bytes; null = zero.
void fillCopies(const void *element, int64_t width, char *dst, int64_t count);
void fillOutput(const Rows &rows, const Output &output,
                const dsv4rt_tensor &result);

} // namespace dsv4::rt

struct dsv4rt_cp_batch {
  bool valid = false;
  dsv4rt_cp_layout layout = {};
  dsv4::rt::Rows rows;
  std::vector<dsv4rt_batch_entry> entries;
  std::vector<dsv4::rt::Output> outputs; ///< parallel to the entries
  dsv4::rt::Storage storage;
  dsv4::rt::Problem problem;
};

#endif // DSV4_RUNTIME_BATCH_CPBATCH_H
