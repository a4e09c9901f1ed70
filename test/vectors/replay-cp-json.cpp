//===- replay-cp-json.cpp - Values of vector files ------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "replay-cp-json.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace dsv4::replay;

namespace {

class Parser {
public:
  explicit Parser(const std::string &text) : text(text) {}

  std::string parse(Json &value) {
    bool good = parseValue(value, 0);
    skipSpace();
    if (good && at == text.size())
      return "";
    return "not JSON at byte " + std::to_string(at);
  }

private:
  void skipSpace() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]))
      ++at;
  }
  bool take(const char *word) {
    size_t length = std::strlen(word);
    if (text.compare(at, length, word))
      return false;
    at += length;
    return true;
  }
  bool takeAfterSpace(const char *word) {
    skipSpace();
    return take(word);
  }
  bool setReal(Json &value, double real) {
    value.kind = Json::Real;
    value.real = real;
    return true;
  }

  bool parseValue(Json &value, int depth) {
    skipSpace();
    if (at == text.size() || depth > 200)
      return false;
    switch (text[at]) {
    case '{':
      return parseObject(value, depth);
    case '[':
      return parseArray(value, depth);
    case '"':
      value.kind = Json::String;
      return parseString(value.string);
    default:
      return parseWord(value);
    }
  }

  bool parseWord(Json &value) {
    double infinity = std::numeric_limits<double>::infinity();
    if (take("null"))
      return true;
    if (take("NaN"))
      return setReal(value, std::numeric_limits<double>::quiet_NaN());
    if (take("Infinity"))
      return setReal(value, infinity);
    if (take("-Infinity"))
      return setReal(value, -infinity);
    bool isTrue = take("true");
    if (isTrue || take("false")) {
      value.kind = Json::Bool;
      value.integer = isTrue;
      value.real = isTrue;
      return true;
    }
    return parseNumber(value);
  }

  bool parseNumber(Json &value) {
    const char *begin = text.c_str() + at;
    size_t length = std::strspn(begin, "+-0123456789.eE");
    std::string word(begin, length);
    char *end = nullptr;
    value.real = std::strtod(word.c_str(), &end);
    if (!length || *end)
      return false;
    value.kind = Json::Real;
    if (word.find_first_of(".eE") == std::string::npos) {
      value.kind = Json::Integer;
      value.integer = std::strtoll(word.c_str(), nullptr, 10);
    }
    at += length;
    return true;
  }

  bool parseString(std::string &string) {
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] != '\\') {
        string += text[at];
        continue;
      }
      if (++at == text.size())
        return false;
      static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
      const char *found = std::strchr(from, text[at]);
      if (text[at] == 'u') // kept as it is: names and notes only
        string += "\\u";
      else
        string += found ? to[found - from] : text[at];
    }
    return take("\"");
  }

  bool parseArray(Json &value, int depth) {
    value.kind = Json::Array;
    ++at;
    if (takeAfterSpace("]"))
      return true;
    do {
      if (!parseValue(value.items.emplace_back(), depth + 1))
        return false;
    } while (takeAfterSpace(","));
    return takeAfterSpace("]");
  }

  bool parseObject(Json &value, int depth) {
    value.kind = Json::Object;
    ++at;
    if (takeAfterSpace("}"))
      return true;
    do {
      skipSpace();
      auto &member = value.members.emplace_back();
      if (at == text.size() || text[at] != '"' || !parseString(member.first) ||
          !takeAfterSpace(":") || !parseValue(member.second, depth + 1))
        return false;
    } while (takeAfterSpace(","));
    return takeAfterSpace("}");
  }

  const std::string &text;
  size_t at = 0;
};

void printInto(const Json &value, std::string &text) {
  if (text.size() > 200)
    return;
  const char *separator = "";
  switch (value.kind) {
  case Json::Null:
    text += "null";
    break;
  case Json::Bool:
    text += value.integer ? "true" : "false";
    break;
  case Json::Integer:
    text += std::to_string(value.integer);
    break;
  case Json::Real:
    text += printNumber(value.real);
    break;
  case Json::String:
    text += "\"" + value.string + "\"";
    break;
  case Json::Array:
    text += "[";
    for (const Json &item : value.items) {
      text += separator;
      printInto(item, text);
      separator = ", ";
    }
    text += "]";
    break;
  case Json::Object:
    text += "{";
    for (const auto &[name, member] : value.members) {
      text += separator + ("\"" + name + "\": ");
      printInto(member, text);
      separator = ", ";
    }
    text += "}";
    break;
  }
}

} // namespace

const Json &Json::operator[](const std::string &name) const {
  static const Json null;
  for (const auto &member : members)
    if (member.first == name)
      return member.second;
  return null;
}

bool Json::has(const std::string &name) const {
  for (const auto &member : members)
    if (member.first == name)
      return true;
  return false;
}

std::string dsv4::replay::parseJson(const std::string &text, Json &value) {
  return Parser(text).parse(value);
}

std::string dsv4::replay::printNumber(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string dsv4::replay::print(const Json &value) {
  std::string text;
  printInto(value, text);
  return text.size() > 200 ? text.substr(0, 200) + "..." : text;
}
