//===- dsv4-compare.cpp - Compare the tensors of two files ----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH llvm-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/SafeTensors.h"
#include "dsv4/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>

using namespace mlir::dsv4;
namespace cl = llvm::cl;

static cl::OptionCategory category("dsv4-compare options");

static cl::opt<std::string> gotFilename(cl::Positional, cl::Required,
                                        cl::desc("<got>"), cl::cat(category));
static cl::opt<std::string> expectedFilename(cl::Positional, cl::Required,
                                             cl::desc("<expected>"),
                                             cl::cat(category));

static cl::list<std::string> tensors(
    "tensors", cl::CommaSeparated,
    cl::desc("What to compare; A=B if the second file names it B; A* for all "
             "that begin with A (default: all, which both files must have)"),
    cl::value_desc("names"), cl::cat(category));

static cl::opt<double> maxAbs("max-abs",
                              cl::desc("Largest difference of an element"),
                              cl::cat(category));
static cl::opt<double>
    maxRel("max-rel",
           cl::desc("The same, relative to the largest expected magnitude"),
           cl::cat(category));
static cl::opt<double> maxMeanAbs("max-mean-abs",
                                  cl::desc("Largest mean difference"),
                                  cl::cat(category));
static cl::opt<double>
    maxNormRel("max-norm-rel",
               cl::desc("Largest norm of all differences, relative to the "
                        "norm of the expected tensor"),
               cl::cat(category));
static cl::opt<double> maxStepsOff(
    "max-bf16-steps-off",
    cl::desc("Largest part of elements, bf16 values, off by one bf16 step"),
    cl::value_desc("fraction"), cl::cat(category));
static cl::opt<bool> bitwise("bitwise",
                             cl::desc("Same element types and same bits"),
                             cl::cat(category));
static cl::opt<bool>
    sets("sets",
         cl::desc("The last dimension is a set of integers; -1 is no member"),
         cl::cat(category));

static cl::extrahelp
    details("\nWithout a limit values must be equal. A NaN equals a NaN only. "
            "Element types may differ except with --bitwise.\n"
            "\nEXIT CODES:\n\n"
            "  0  the tensors agree\n"
            "  1  they do not: values, shapes, types or names differ\n"
            "  2  the command line is not valid, or a file\n");

static bool hasLimit() {
  return maxAbs.getNumOccurrences() || maxRel.getNumOccurrences() ||
         maxMeanAbs.getNumOccurrences() || maxNormRel.getNumOccurrences() ||
         maxStepsOff.getNumOccurrences();
}

/// Holds every f64 and every i64 exactly.
using Number = long double;

static llvm::raw_ostream &emitError() {
  return llvm::WithColor::error(llvm::errs(), "dsv4-compare");
}

static std::string formatNumber(Number value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.17Lg", value);
  return text;
}

static std::string formatShape(llvm::ArrayRef<int64_t> shape) {
  return "[" + llvm::join(llvm::map_range(shape, llvm::itostr), ", ") + "]";
}

static std::string formatIndex(int64_t linear, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> index(shape);
  for (size_t dim = shape.size(); dim-- > 0; linear /= shape[dim])
    index[dim] = linear % shape[dim];
  return formatShape(index);
}

/// Exactly zero means equal.
static Number getDifference(Number got, Number expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected)))
    return 0;
  Number difference = std::abs(got - expected);
  return std::isnan(difference) ? HUGE_VALL : difference;
}

/// The place of a bf16 value in the order of all; none for other values.
static std::optional<int32_t> findBf16Rank(Number value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(float(value));
  if (Number(float(value)) != value || (bits & 0xffff) != 0)
    return std::nullopt;
  int32_t magnitude = (bits >> 16) & 0x7fff;
  return bits >> 31 ? -magnitude : magnitude;
}

static bool isFloat(TensorType type) {
  return type == TensorType::F64 || type == TensorType::F32 ||
         type == TensorType::F16 || type == TensorType::BF16;
}

using Elements = llvm::SmallVector<Number, 0>;
static Elements readElements(const SafeTensorsFile &file,
                             const TensorRef &tensor) {
  if (isFloat(tensor.type))
    return llvm::to_vector_of<Number, 0>(
        llvm::cantFail(file.readFloats(tensor.name)));
  return llvm::to_vector_of<Number, 0>(
      llvm::cantFail(file.readIntegers(tensor.name)));
}

/// The dimensions but the last one, which may be a set.
static llvm::ArrayRef<int64_t> getRows(const TensorRef &tensor) {
  return llvm::ArrayRef(tensor.shape).drop_back(tensor.shape.empty() ? 0 : 1);
}

namespace {
struct Comparison {
  std::string name;
  const TensorRef &got, &expected;
  Elements gotElements, expectedElements;

  bool fail(const llvm::Twine &message) const {
    emitError() << "tensor '" << name << "' " << message << "\n";
    return false;
  }
  bool failAt(size_t element, const llvm::Twine &reason) const {
    return fail("at " + formatIndex(element, got.shape) + ": got " +
                formatNumber(gotElements[element]) + ", expected " +
                formatNumber(expectedElements[element]) + "; " + reason);
  }
  bool isWithin(const cl::opt<double> &limit, Number value, size_t element,
                llvm::StringRef what) const {
    return !limit.getNumOccurrences() || value <= limit ||
           failAt(element, what + " " + formatNumber(value) + " exceeds --" +
                               limit.ArgStr + "=" + formatNumber(limit));
  }
  bool compareBits() const {
    const auto *mismatch = llvm::mismatch(got.data, expected.data).first;
    if (mismatch != got.data.end())
      return failAt((mismatch - got.data.begin()) / getTensorTypeSize(got.type),
                    "the bits must be equal");
    llvm::outs() << name << ": equal in every bit\n";
    return true;
  }
  bool compareSets() const;
  bool compareNumbers() const;
  bool compareBf16Steps() const;
  bool run() const;
};
} // namespace

bool Comparison::compareSets() const {
  size_t rows = 1;
  for (int64_t size : getRows(got))
    rows *= size;
  auto getMembers = [rows](llvm::ArrayRef<Number> elements, size_t row) {
    size_t width = elements.size() / rows;
    llvm::SmallVector<int64_t> members(elements.slice(row * width, width));
    llvm::erase(members, -1);
    llvm::sort(members);
    return members;
  };
  for (size_t row = 0; row < rows; ++row) {
    auto gotSet = getMembers(gotElements, row);
    auto expectedSet = getMembers(expectedElements, row);
    if (gotSet != expectedSet)
      return fail("at " + formatIndex(row, getRows(got)) + ": got the set " +
                  formatShape(gotSet) + ", expected " +
                  formatShape(expectedSet));
  }
  llvm::outs() << name << ": equal as sets\n";
  return true;
}

bool Comparison::compareNumbers() const {
  Number largest = 0, sum = 0, scale = 0, squares = 0, expectedSquares = 0;
  size_t worst = 0, count = gotElements.size();
  for (size_t i = 0; i < count; ++i) {
    Number difference = getDifference(gotElements[i], expectedElements[i]);
    sum += difference;
    squares += difference * difference;
    expectedSquares += expectedElements[i] * expectedElements[i];
    if (std::isfinite(expectedElements[i]))
      scale = std::max(scale, std::abs(expectedElements[i]));
    if (difference > largest)
      worst = i;
    largest = std::max(largest, difference);
  }
  Number mean = count ? sum / count : 0;
  llvm::outs() << name << ": largest difference "
               << llvm::format("%.3Lg, mean %.3Lg\n", largest, mean);
  if (largest > 0 && !hasLimit())
    return failAt(worst, "the values must be equal");
  bool agree = isWithin(maxAbs, largest, worst, "difference");
  agree &= isWithin(maxRel, largest > 0 ? largest / scale : 0, worst,
                    "relative difference");
  agree &= isWithin(maxMeanAbs, mean, worst, "mean difference");
  agree &= isWithin(maxNormRel,
                    largest > 0 ? std::sqrt(squares / expectedSquares) : 0,
                    worst, "relative norm of the differences");
  return agree && (!maxStepsOff.getNumOccurrences() || compareBf16Steps());
}

bool Comparison::compareBf16Steps() const {
  size_t off = 0, last = 0, count = gotElements.size();
  for (size_t i = 0; i < count; ++i) {
    if (getDifference(gotElements[i], expectedElements[i]) == 0)
      continue;
    std::optional left = findBf16Rank(gotElements[i]);
    std::optional right = findBf16Rank(expectedElements[i]);
    if (!left || !right)
      return failAt(i, "both must be bf16 values");
    if (std::abs(*left - *right) > 1)
      return failAt(i, llvm::Twine(std::abs(*left - *right)) +
                           " bf16 steps apart");
    ++off;
    last = i;
  }
  llvm::outs() << name << ": " << off << " of " << count
               << " elements off by one bf16 step\n";
  return isWithin(maxStepsOff, count ? Number(off) / count : 0, last,
                  "part of the elements off by one bf16 step");
}

bool Comparison::run() const {
  if (bitwise && got.type != expected.type)
    return fail("has type " + getTensorTypeName(got.type) + ", expected " +
                getTensorTypeName(expected.type));
  if (sets && (isFloat(got.type) || isFloat(expected.type)))
    return fail("is not of integers in both files");
  // Empty places of a set may pad it to another size.
  if (sets ? getRows(got) != getRows(expected) : got.shape != expected.shape)
    return fail("has shape " + formatShape(got.shape) + ", expected " +
                formatShape(expected.shape));
  if (bitwise)
    return compareBits();
  return sets ? compareSets() : compareNumbers();
}

/// What is to be compared; a name that stands for none is an error.
static std::set<std::string> getNames(const SafeTensorsFile &got,
                                      const SafeTensorsFile &expected,
                                      bool &agree) {
  std::set<std::string> names;
  auto addAll = [&](llvm::StringRef prefix) {
    size_t before = names.size();
    for (const SafeTensorsFile *file : {&got, &expected})
      for (const TensorRef &tensor : file->getTensors())
        if (llvm::StringRef(tensor.name).starts_with(prefix))
          names.insert(tensor.name);
    return names.size() > before;
  };
  if (tensors.empty())
    addAll("");
  for (llvm::StringRef name : tensors) {
    if (!name.consume_back("*")) {
      names.insert(name.str());
    } else if (!addAll(name)) {
      emitError() << "no tensor begins with '" << name << "'\n";
      agree = false;
    }
  }
  return names;
}

static bool compareFiles(const SafeTensorsFile &got,
                         const SafeTensorsFile &expected) {
  bool agree = true;
  std::set<std::string> names = getNames(got, expected, agree);
  for (const std::string &name : names) {
    auto [left, right] = llvm::StringRef(name).split('=');
    auto first = got.get(left);
    auto second = expected.get(right.empty() ? left : right);
    if (auto error = llvm::joinErrors(first.takeError(), second.takeError())) {
      emitError() << llvm::toString(std::move(error)) << "\n";
      agree = false;
      continue;
    }
    agree &= Comparison{name, **first, **second, readElements(got, **first),
                        readElements(expected, **second)}
                 .run();
  }
  return agree;
}

int main(int argc, char **argv) {
  llvm::InitLLVM initLLVM(argc, argv);
  llvm::errs().tie(&llvm::outs());
  addVersionPrinter();
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "Compares the tensors of two safetensors files\n",
          &llvm::errs()))
    return 2;
  if (bitwise + sets + hasLimit() > 1) {
    emitError() << "--bitwise, --sets and limits exclude each other\n";
    return 2;
  }
  auto got = SafeTensorsFile::open(gotFilename);
  auto expected = SafeTensorsFile::open(expectedFilename);
  if (auto error = llvm::joinErrors(got.takeError(), expected.takeError())) {
    emitError() << llvm::toString(std::move(error)) << "\n";
    return 2;
  }
  return compareFiles(*got, *expected) ? 0 : 1;
}
