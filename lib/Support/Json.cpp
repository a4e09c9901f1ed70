//===- Json.cpp - Strict JSON for files of unknown origin -----------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace mlir::dsv4;

namespace {

constexpr size_t kMaxDepth = 64;

/// Walks over the tokens of a JSON text, valid or not, and keeps what the
/// parser would not report.
class KeyScanner {
public:
  explicit KeyScanner(llvm::StringRef text) : text(text) {}

  /// Stops early at a level that is too deep.
  void run() {
    while (position < text.size() && !tooDeep) {
      char c = text[position];
      if (c == '"') {
        scanString();
        continue;
      }
      if (c == '{' || c == '[')
        open();
      else if ((c == '}' || c == ']') && !keysOfLevel.empty())
        keysOfLevel.pop_back();
      ++position;
    }
  }

  bool isTooDeep() const { return tooDeep; }

  /// The first key that an object has twice, null if there is none.
  const std::string *getDuplicate() const {
    return hasDuplicate ? &duplicate : nullptr;
  }

private:
  void open() {
    tooDeep = keysOfLevel.size() == kMaxDepth;
    keysOfLevel.emplace_back();
  }

  /// A string before a colon is a key of the innermost level.
  void scanString() {
    size_t begin = position++;
    while (position < text.size() && text[position] != '"')
      position += text[position] == '\\' ? 2 : 1;
    position = std::min(position + 1, text.size());
    llvm::StringRef token = text.slice(begin, position);
    llvm::StringRef rest = text.substr(position).ltrim(" \t\r\n");
    if (rest.starts_with(":") && !keysOfLevel.empty())
      insertKey(token);
  }

  /// Equal keys may be spelt differently: "a" and "\u0061".
  void insertKey(llvm::StringRef token) {
    std::string key = token.drop_front().drop_back().str();
    if (llvm::is_contained(key, '\\')) {
      if (llvm::Expected<llvm::json::Value> value = llvm::json::parse(token))
        key = value->getAsString()->str();
      else
        llvm::consumeError(value.takeError()); // the parser will report it
    }
    if (keysOfLevel.back().insert(key).second || hasDuplicate)
      return;
    hasDuplicate = true;
    duplicate = std::move(key);
  }

  llvm::StringRef text;
  size_t position = 0;
  std::vector<llvm::StringSet<>> keysOfLevel;
  std::string duplicate;
  bool hasDuplicate = false;
  bool tooDeep = false;
};

} // namespace

static llvm::Error makeError(llvm::StringRef filename,
                             const llvm::Twine &what) {
  return llvm::createStringError(filename + ": " + what);
}

llvm::Expected<llvm::json::Object>
mlir::dsv4::parseJsonObject(llvm::StringRef text, llvm::StringRef filename) {
  if (text.trim(" \t\r\n").empty())
    return makeError(filename, "expected a JSON object, got an empty text");
  KeyScanner scanner(text);
  scanner.run();
  if (scanner.isTooDeep())
    return makeError(filename, "JSON is nested deeper than " +
                                   llvm::Twine(kMaxDepth) + " levels");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return makeError(filename,
                     "invalid JSON: " + llvm::toString(value.takeError()));
  if (const std::string *key = scanner.getDuplicate())
    return makeError(filename, "key '" + llvm::StringRef(*key).take_front(100) +
                                   "' appears twice in one object");
  if (llvm::json::Object *object = value->getAsObject())
    return std::move(*object);
  return makeError(filename,
                   "expected a JSON object, got " + describeJson(*value));
}

/// Integers exactly, other numbers with as few digits as give the same value.
static std::string describeNumber(const llvm::json::Value &value) {
  if (!value.getAsInteger() && !value.getAsUINT64())
    for (const char *format : {"%.6g", "%.15g"}) {
      std::string text;
      llvm::raw_string_ostream(text)
          << llvm::format(format, *value.getAsNumber());
      double parsed = 0;
      if (llvm::to_float(text, parsed) && parsed == *value.getAsNumber())
        return text;
    }
  return llvm::formatv("{0}", value);
}

std::string mlir::dsv4::describeJson(const llvm::json::Value &value) {
  constexpr size_t maxLength = 40;
  if (value.getAsObject())
    return "an object";
  if (const llvm::json::Array *array = value.getAsArray())
    return llvm::formatv("an array of {0} element{1}", array->size(),
                         array->size() == 1 ? "" : "s");
  std::string text = value.kind() == llvm::json::Value::Number
                         ? describeNumber(value)
                         : llvm::formatv("{0}", value).str();
  if (text.size() > maxLength) {
    text = llvm::json::fixUTF8(llvm::StringRef(text).take_front(maxLength - 3));
    text += "...";
  }
  return text;
}
