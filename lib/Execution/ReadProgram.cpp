//===- ReadProgram.cpp - From module attributes to plain data -------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes may come from a file that anyone has edited: every value is
// checked before it becomes an address.
//
//===----------------------------------------------------------------------===//

#include "ProgramReader.h"

#include "dsv4/Analysis/ArenaPlan.h"
#include "dsv4/IR/Dsv4Dialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dsv4;

static constexpr llvm::StringLiteral kSitesAttr = "dsv4.sites";
static constexpr int64_t kMaxAxes = 32;

bool dsv4::hasProgramTables(mlir::ModuleOp module) {
  return module->hasAttr(kSitesAttr);
}

static std::optional<uint32_t> findRuntimeType(Type type) {
  if (type.isF64())
    return DSV4RT_F64;
  if (type.isF32())
    return DSV4RT_F32;
  if (type.isBF16())
    return DSV4RT_BF16;
  if (type.isF16())
    return DSV4RT_F16;
  if (type.isInteger(64))
    return DSV4RT_I64;
  if (type.isInteger(32))
    return DSV4RT_I32;
  if (type.isInteger(8))
    return DSV4RT_I8;
  if (type.isInteger(1))
    return DSV4RT_I1;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

FailureOr<std::string> ProgramReader::getString(const Entry &entry,
                                                StringRef key) {
  auto attribute = get<StringAttr>(entry, key, "a string");
  if (failed(attribute))
    return failure();
  return attribute->getValue().str();
}

/// A value in [0, limit].
FailureOr<int64_t> ProgramReader::getInteger(const Entry &entry, StringRef key,
                                             int64_t limit) {
  auto attribute = get<IntegerAttr>(entry, key, "an integer");
  if (failed(attribute))
    return failure();
  llvm::APInt value = attribute->getValue();
  if (value.getSignificantBits() > 64 || value.getSExtValue() < 0 ||
      value.getSExtValue() > limit) {
    fail(entry) << "'" << key << "' must be in [0, " << limit << "], got "
                << *attribute;
    return failure();
  }
  return value.getSExtValue();
}

FailureOr<uint32_t> ProgramReader::getElementType(const Entry &entry,
                                                  Type type) {
  if (std::optional<uint32_t> code = findRuntimeType(type))
    return *code;
  return fail(entry) << "element type " << type
                     << " is none that ranks exchange or store";
}

FailureOr<uint32_t>
ProgramReader::getCode(const Entry &entry, StringRef key,
                       ArrayRef<std::pair<StringRef, uint32_t>> codes) {
  auto name = getString(entry, key);
  if (failed(name))
    return failure();
  for (auto [known, code] : codes)
    if (known == *name)
      return code;
  InFlightDiagnostic diagnostic = fail(entry);
  diagnostic << "'" << key << "' must be one of ";
  llvm::interleaveComma(llvm::make_first_range(codes), diagnostic);
  return diagnostic << ", got \"" << *name << "\"";
}

FailureOr<std::vector<unsigned>> ProgramReader::getAxes(const Entry &entry,
                                                        Attribute list) {
  std::vector<unsigned> axes;
  auto names = dyn_cast_or_null<ArrayAttr>(list);
  if (!names)
    return fail(entry) << "must list mesh axes";
  for (Attribute name : names) {
    auto text = dyn_cast<StringAttr>(name);
    auto found = text ? llvm::find(program.axisNames, text.getValue())
                      : program.axisNames.end();
    if (found == program.axisNames.end())
      return fail(entry) << "axis " << name << " is not in the mesh \""
                         << program.getMeshText() << "\"";
    axes.push_back(found - program.axisNames.begin());
    if (llvm::is_contained(ArrayRef(axes).drop_back(), axes.back()))
      return fail(entry) << "axis " << name << " is listed twice";
  }
  return axes;
}

LogicalResult
ProgramReader::forEachEntry(StringRef key,
                            function_ref<LogicalResult(const Entry &)> read) {
  auto list = get<ArrayAttr>(root, key, "an array");
  if (failed(list))
    return failure();
  for (auto [i, attribute] : llvm::enumerate(*list)) {
    Entry entry{dyn_cast<DictionaryAttr>(attribute),
                ("'" + key + "' entry " + Twine(i) + ": ").str()};
    if (!entry.dict)
      return fail(entry) << "must be a dictionary, got " << attribute;
    if (failed(read(entry)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

LogicalResult ProgramReader::readMesh() {
  auto names = get<ArrayAttr>(root, "dsv4.axis_names", "an array of strings");
  auto sizes = get<DenseI64ArrayAttr>(root, "dsv4.axis_sizes",
                                      "an array of 64-bit integers");
  if (failed(names) || failed(sizes))
    return failure();
  if (names->size() != static_cast<size_t>(sizes->size()) ||
      sizes->size() > kMaxAxes)
    return module.emitError()
           << "'dsv4.axis_names' and 'dsv4.axis_sizes' must have the same "
              "length of at most "
           << kMaxAxes << ", got " << names->size() << " and " << sizes->size();
  int64_t numRanks = 1;
  for (auto [name, size] : llvm::zip(*names, sizes->asArrayRef())) {
    auto text = dyn_cast<StringAttr>(name);
    std::optional<int64_t> product = llvm::checkedMul(numRanks, size);
    if (!text || size < 1 || !product || *product > INT32_MAX)
      return module.emitError() << "axis " << name << " of size " << size
                                << " is not an axis of a mesh";
    numRanks = *product;
    program.axisNames.push_back(text.str());
    program.axisSizes.push_back(size);
  }
  return success();
}

LogicalResult ProgramReader::readGroup(const Entry &entry) {
  auto name = getString(entry, "name");
  auto mask = getInteger(entry, "axis_mask", UINT32_MAX);
  auto lane = getInteger(entry, "lane", INT32_MAX);
  if (failed(name) || failed(mask) || failed(lane))
    return failure();
  program.groups.push_back(
      {*name, static_cast<uint32_t>(*mask), static_cast<uint32_t>(*lane)});
  return success();
}

LogicalResult ProgramReader::readSite(const Entry &entry) {
  ProgramSite site;
  auto op = getCode(entry, "op",
                    {{"all_gather", DSV4RT_OP_ALL_GATHER},
                     {"reduce_scatter", DSV4RT_OP_REDUCE_SCATTER},
                     {"all_reduce", DSV4RT_OP_ALL_REDUCE},
                     {"barrier", DSV4RT_OP_BARRIER},
                     {"agree", DSV4RT_OP_AGREE}});
  auto redop =
      getCode(entry, "redop",
              {{"sum", DSV4RT_SUM}, {"max", DSV4RT_MAX}, {"min", DSV4RT_MIN}});
  auto traffic = getCode(entry, "class",
                         {{"sequence", DSV4RT_TRAFFIC_SEQUENCE},
                          {"parameter", DSV4RT_TRAFFIC_PARAMETER},
                          {"scalar", DSV4RT_TRAFFIC_SCALAR}});
  auto type = get<TypeAttr>(entry, "dtype", "a type");
  auto count = getInteger(entry, "count", INT64_MAX);
  auto group = getInteger(entry, "group", INT32_MAX);
  auto location = getString(entry, "location");
  if (failed(op) || failed(redop) || failed(traffic) || failed(type) ||
      failed(count) || failed(group) || failed(location))
    return failure();
  auto dtype = getElementType(entry, type->getValue());
  if (failed(dtype))
    return failure();
  if (*group >= static_cast<int64_t>(program.groups.size()))
    return fail(entry) << "'group' must be in [0, " << program.groups.size()
                       << "), got " << *group;
  program.sites.push_back({*op, *dtype, *redop, *traffic, *count,
                           static_cast<uint32_t>(*group), *location});
  return success();
}

/// Pairs of offset and size in bytes.
LogicalResult ProgramReader::readWorkBuffers() {
  auto ranges = get<DenseI64ArrayAttr>(root, kWorkBuffersAttr,
                                       "an array of 64-bit integers");
  if (failed(ranges))
    return failure();
  ArrayRef<int64_t> values = *ranges;
  if (values.size() % 2 != 0)
    return module.emitError() << "'" << kWorkBuffersAttr
                              << "' must hold pairs of offset and bytes, got "
                              << values.size() << " numbers";
  for (size_t i = 0; i < values.size(); i += 2) {
    int64_t offset = values[i], bytes = values[i + 1];
    int64_t size = program.workBytes;
    if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset)
      return module.emitError()
             << "'" << kWorkBuffersAttr << "' must lie in the " << size
             << " bytes of the work arena, got " << bytes << " bytes at "
             << offset;
    program.workBuffers.push_back(
        {static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes)});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

LogicalResult ProgramReader::collectParameters() {
  auto add = [&](StringRef name, uint32_t dtype,
                 ArrayRef<int64_t> shape) -> LogicalResult {
    if (!program.parameters.insert({name, {dtype, shape}}).second)
      return module.emitError() << "parameter \"" << name << "\" occurs twice";
    return success();
  };
  for (const ProgramArgument &argument : program.arguments) {
    if (argument.kind == ArgumentKind::Param ||
        argument.kind == ArgumentKind::Buffer)
      if (failed(add(argument.name, argument.dtype, argument.getGlobalShape())))
        return failure();
    if (argument.kind != ArgumentKind::Shard)
      continue;
    for (const Segment &segment : argument.segments)
      if (failed(add(segment.name, argument.dtype, segment.shape)))
        return failure();
  }
  return success();
}

/// Of the text, in which locations do not occur.
void ProgramReader::computeHash() {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().enableDebugInfo(false));
  program.hash = llvm::SHA256::hash(
      ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

FailureOr<Program> ProgramReader::read() {
  root = {module->getAttrDictionary(), ""};
  program.name = module.getSymName().value_or("program").str();
  auto state = getInteger(root, "dsv4.state_bytes", INT64_MAX);
  auto work = getInteger(root, kWorkBytesAttr, INT64_MAX);
  auto bound = getInteger(root, kWorkBoundAttr, INT64_MAX);
  if (failed(state) || failed(work) || failed(bound) || failed(readMesh()))
    return failure();
  program.stateBytes = *state;
  program.workBytes = *work;
  program.workBytesLowerBound = *bound;
  if (failed(readWorkBuffers()))
    return failure();
  if (failed(forEachEntry("dsv4.groups",
                          [&](const Entry &e) { return readGroup(e); })) ||
      failed(forEachEntry(kSitesAttr,
                          [&](const Entry &e) { return readSite(e); })) ||
      failed(forEachEntry("dsv4.arguments",
                          [&](const Entry &e) { return readArgument(e); })) ||
      failed(collectParameters()))
    return failure();
  computeHash();
  return std::move(program);
}

FailureOr<Program> dsv4::readProgram(mlir::ModuleOp module) {
  return ProgramReader(module).read();
}
