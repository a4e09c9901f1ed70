//===- ConfigKeys.h - Keys of a config.json ---------------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this library: typed and bounded access to JSON keys with one
// message per file, which says what was found and what is legal.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_LIB_FRONTEND_CONFIGKEYS_H
#define DSV4_LIB_FRONTEND_CONFIGKEYS_H

#include "dsv4/Support/Json.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace mlir::dsv4 {

/// The largest legal size.
inline constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

/// Legal numbers of a floating-point key.
struct NumberRange {
  double min;
  double max;
  bool isMinLegal = true;

  bool contains(double value) const {
    return (isMinLegal ? value >= min : value > min) && value <= max;
  }
  std::string describe() const {
    return llvm::formatv(isMinLegal ? "a number from {0} to {1}"
                                    : "a number above {0}, at most {1}",
                         llvm::json::Value(min), llvm::json::Value(max));
  }
};

inline constexpr double kMaxNumber = 1e30; // well inside f32
inline constexpr NumberRange kPositive{0, kMaxNumber, false};
inline constexpr NumberRange kAboveOne{1, kMaxNumber, false};
inline constexpr NumberRange kAtLeastOne{1, kMaxNumber};
inline constexpr NumberRange kUpToOne{0, 1};
inline constexpr NumberRange kPositiveUpToOne{0, 1, false};
inline constexpr NumberRange kRotations{1e-6, 1e6};

/// A key that may be absent or null, and otherwise has one legal value.
struct FixedKey {
  llvm::StringLiteral key;
  enum Kind { False, True, Zero, One, Text, Nothing } kind;
  llvm::StringLiteral text = "";
};

/// An object of the file; `prefix` leads from the top level to it.
struct Section {
  const llvm::json::Object *object;
  std::string prefix;

  std::string getPath(llvm::StringRef key) const { return prefix + key.str(); }
};

/// Reads keys and keeps the first error; after it, results mean nothing.
class KeyReader {
public:
  explicit KeyReader(llvm::StringRef filename) : filename(filename) {}

  bool hasFailed() const { return !message.empty(); }

  void fail(const llvm::Twine &what) {
    if (!hasFailed())
      message = (filename + ": " + what).str();
  }
  void failKey(llvm::StringRef path, const llvm::Twine &expected,
               const llvm::json::Value &got) {
    fail("'" + path + "' must be " + expected + ", got " + describeJson(got));
  }
  void failMissing(llvm::StringRef path, const llvm::Twine &expected) {
    fail("'" + path + "' is missing, expected " + expected);
  }

  llvm::Error takeError() {
    return hasFailed() ? llvm::createStringError(message)
                       : llvm::Error::success();
  }

  /// Null if the key is absent or has the value null.
  const llvm::json::Value *find(const Section &section,
                                llvm::StringRef key) const {
    const llvm::json::Value *value =
        section.object ? section.object->get(key) : nullptr;
    return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
  }

  std::optional<int64_t> findInteger(const Section &section,
                                     llvm::StringRef key, int64_t min,
                                     int64_t max = kMaxSize);
  int64_t getInteger(const Section &section, llvm::StringRef key, int64_t min,
                     int64_t max = kMaxSize);
  std::optional<double> findNumber(const Section &section, llvm::StringRef key,
                                   const NumberRange &range);
  double getNumber(const Section &section, llvm::StringRef key,
                   const NumberRange &range);
  bool getBoolean(const Section &section, llvm::StringRef key);
  std::optional<llvm::StringRef> findText(const Section &section,
                                          llvm::StringRef key);
  const llvm::json::Array *findArray(const Section &section,
                                     llvm::StringRef key);
  /// The object under `key`; its `object` is null if there is none.
  Section findSection(const Section &section, llvm::StringRef key);

  void checkFixed(const Section &section, const FixedKey &fixed);

private:
  std::string filename;
  std::string message;
};

/// A fact that several keys may state: all that do must agree.
template <typename T>
class Agreement {
public:
  explicit Agreement(KeyReader &reader) : reader(reader) {}

  void add(std::optional<T> other, const llvm::Twine &path) {
    if (!other)
      return;
    if (!value) {
      value = other;
      source = path.str();
    } else if (*value != *other) {
      reader.fail(llvm::formatv("'{0}' is {1}, which contradicts '{2}' = {3}",
                                path, llvm::json::Value(*other), source,
                                llvm::json::Value(*value))
                      .str());
    }
  }

  const std::optional<T> &get() const { return value; }

private:
  KeyReader &reader;
  std::optional<T> value;
  std::string source;
};

} // namespace mlir::dsv4

#endif // DSV4_LIB_FRONTEND_CONFIGKEYS_H
