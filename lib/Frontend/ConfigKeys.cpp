//===- ConfigKeys.cpp - Keys of a config.json -----------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConfigKeys.h"

#include "dsv4/Support/Json.h"

using namespace mlir::dsv4;

using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

std::optional<int64_t> KeyReader::findInteger(const Section &section,
                                              StringRef key, int64_t min,
                                              int64_t max) {
  const Value *value = find(section, key);
  if (!value)
    return std::nullopt;
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= min && *number <= max)
    return number;
  failKey(section.getPath(key),
          llvm::formatv("an integer from {0} to {1}", min, max).str(), *value);
  return std::nullopt;
}

int64_t KeyReader::getInteger(const Section &section, StringRef key,
                              int64_t min, int64_t max) {
  if (!find(section, key))
    failMissing(section.getPath(key),
                llvm::formatv("an integer from {0} to {1}", min, max).str());
  return findInteger(section, key, min, max).value_or(min);
}

std::optional<double> KeyReader::findNumber(const Section &section,
                                            StringRef key,
                                            const NumberRange &range) {
  const Value *value = find(section, key);
  if (!value)
    return std::nullopt;
  std::optional<double> number = value->getAsNumber();
  if (number && range.contains(*number))
    return number;
  failKey(section.getPath(key), range.describe(), *value);
  return std::nullopt;
}

double KeyReader::getNumber(const Section &section, StringRef key,
                            const NumberRange &range) {
  if (!find(section, key))
    failMissing(section.getPath(key), range.describe());
  return findNumber(section, key, range).value_or(range.max);
}

bool KeyReader::getBoolean(const Section &section, StringRef key) {
  const Value *value = find(section, key);
  if (!value)
    failMissing(section.getPath(key), "true or false");
  else if (!value->getAsBoolean())
    failKey(section.getPath(key), "true or false", *value);
  return !hasFailed() && *value->getAsBoolean();
}

std::optional<StringRef> KeyReader::findText(const Section &section,
                                             StringRef key) {
  const Value *value = find(section, key);
  if (value && !value->getAsString())
    failKey(section.getPath(key), "a string", *value);
  return value ? value->getAsString() : std::nullopt;
}

const Array *KeyReader::findArray(const Section &section, StringRef key) {
  const Value *value = find(section, key);
  if (value && !value->getAsArray())
    failKey(section.getPath(key), "an array", *value);
  return value ? value->getAsArray() : nullptr;
}

Section KeyReader::findSection(const Section &section, StringRef key) {
  const Value *value = find(section, key);
  if (value && !value->getAsObject())
    failKey(section.getPath(key), "an object", *value);
  return {value ? value->getAsObject() : nullptr, section.getPath(key) + "."};
}

/// Whether a value states that a feature is off.
static bool isNothing(const Value &value) {
  if (const Array *array = value.getAsArray())
    return array->empty();
  if (const Object *object = value.getAsObject())
    return object->empty();
  return value.getAsBoolean() == false || value.getAsNumber() == 0.0;
}

void KeyReader::checkFixed(const Section &section, const FixedKey &fixed) {
  const Value *value = find(section, fixed.key);
  if (!value)
    return;
  std::string path = section.getPath(fixed.key);
  switch (fixed.kind) {
  case FixedKey::False:
    if (value->getAsBoolean() != false)
      failKey(path, "false", *value);
    return;
  case FixedKey::True:
    if (value->getAsBoolean() != true)
      failKey(path, "true", *value);
    return;
  case FixedKey::Zero:
    if (value->getAsNumber() != 0.0)
      failKey(path, "0", *value);
    return;
  case FixedKey::One:
    if (value->getAsNumber() != 1.0)
      failKey(path, "1", *value);
    return;
  case FixedKey::Text:
    if (value->getAsString() != fixed.text)
      failKey(path, "\"" + fixed.text + "\"", *value);
    return;
  case FixedKey::Nothing:
    if (!isNothing(*value))
      fail("'" + path +
           "' belongs to a model that is not supported; expected "
           "no such key, got " +
           describeJson(*value));
    return;
  }
}
