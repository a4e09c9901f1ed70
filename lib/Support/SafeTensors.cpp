//===- SafeTensors.cpp - Named tensors in a file --------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Support/SafeTensors.h"

#include "dsv4/Support/Json.h"
#include "dsv4/Support/NameSeed.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <limits>
#include <tuple>

using namespace mlir::dsv4;

namespace {

/// One row per element type; TensorType is the index.
struct TypeInfo {
  llvm::StringLiteral name;
  uint64_t size;
};

constexpr TypeInfo kTypes[] = {{"F64", 8},  {"F32", 4}, {"F16", 2},
                               {"BF16", 2}, {"I64", 8}, {"I32", 4},
                               {"I8", 1},   {"U8", 1},  {"BOOL", 1}};

constexpr uint64_t kLengthBytes = sizeof(uint64_t);
constexpr uint64_t kMaxHeaderBytes = uint64_t(100) << 20;
constexpr uint64_t kHeaderAlignment = 8;
constexpr uint64_t kMaxBytes = std::numeric_limits<int64_t>::max();
constexpr llvm::StringLiteral kMetadataKey = "__metadata__";

} // namespace

llvm::StringRef mlir::dsv4::getTensorTypeName(TensorType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

uint64_t mlir::dsv4::getTensorTypeSize(TensorType type) {
  return kTypes[static_cast<size_t>(type)].size;
}

std::optional<TensorType> mlir::dsv4::findTensorType(llvm::StringRef name) {
  for (auto [index, info] : llvm::enumerate(kTypes))
    if (info.name == name)
      return static_cast<TensorType>(index);
  return std::nullopt;
}

std::optional<uint64_t>
mlir::dsv4::findTensorByteSize(TensorType type, llvm::ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, [](int64_t dim) { return dim < 0; }))
    return std::nullopt;
  if (llvm::is_contained(shape, 0))
    return 0;
  uint64_t bytes = getTensorTypeSize(type);
  for (int64_t dim : shape) {
    if (static_cast<uint64_t>(dim) > kMaxBytes / bytes)
      return std::nullopt;
    bytes *= dim;
  }
  return bytes;
}

/// "F32 [2, 3]"
static std::string describeTensor(TensorType type,
                                  llvm::ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getTensorTypeName(type) << " [" << llvm::interleaved(shape) << "]";
  return text;
}

//===----------------------------------------------------------------------===//
// Reader
//===----------------------------------------------------------------------===//

namespace {

/// Where the header says that the data of a tensor lies.
struct HeaderEntry {
  TensorRef tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Turns the bytes of a file into entries, or says why it cannot.
class HeaderParser {
public:
  HeaderParser(llvm::StringRef filename, llvm::StringRef bytes)
      : filename(filename), bytes(bytes) {}

  /// Entries in the order of their data, with `tensor.data` set.
  llvm::Expected<std::vector<HeaderEntry>> run();

  std::map<std::string, std::string> takeMetadata() {
    return std::move(metadata);
  }

private:
  llvm::Error makeError(const llvm::Twine &what) const {
    return llvm::createStringError(filename + ": " + what);
  }
  llvm::Error makeError(llvm::StringRef tensor, const llvm::Twine &what) const {
    return makeError("tensor '" + tensor.take_front(100) + "': " + what);
  }

  llvm::Expected<llvm::StringRef> findHeader() const;
  llvm::Error parseMetadata(const llvm::json::Value &value);
  llvm::Expected<HeaderEntry> parseEntry(llvm::StringRef name,
                                         const llvm::json::Value &value) const;
  llvm::Error parseShape(HeaderEntry &entry,
                         const llvm::json::Object &object) const;
  llvm::Error parseOffsets(HeaderEntry &entry,
                           const llvm::json::Object &object) const;
  llvm::Error placeData(std::vector<HeaderEntry> &entries,
                        llvm::StringRef data) const;

  llvm::StringRef filename;
  llvm::StringRef bytes;
  std::map<std::string, std::string> metadata;
};

} // namespace

llvm::Expected<llvm::StringRef> HeaderParser::findHeader() const {
  if (bytes.size() < kLengthBytes)
    return makeError("expected at least 8 bytes, got " +
                     llvm::Twine(bytes.size()));
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  if (length > kMaxHeaderBytes)
    return makeError("header length must be at most " +
                     llvm::Twine(kMaxHeaderBytes) + " bytes, got " +
                     llvm::Twine(length));
  if (length > bytes.size() - kLengthBytes)
    return makeError("header length is " + llvm::Twine(length) + ", but only " +
                     llvm::Twine(bytes.size() - kLengthBytes) +
                     " bytes follow");
  llvm::StringRef header = bytes.substr(kLengthBytes, length);
  if (!header.starts_with("{"))
    return makeError("header must begin with '{'");
  return header;
}

llvm::Error HeaderParser::parseMetadata(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return makeError("'__metadata__' must be an object, got " +
                     describeJson(value));
  for (const auto &[key, text] : *object) {
    if (!text.getAsString())
      return makeError("'__metadata__' must hold only strings");
    metadata[key.str()] = text.getAsString()->str();
  }
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseShape(HeaderEntry &entry,
                                     const llvm::json::Object &object) const {
  TensorRef &tensor = entry.tensor;
  const llvm::json::Array *dims = object.getArray("shape");
  if (!dims)
    return makeError(tensor.name, "'shape' must be an array");
  for (const llvm::json::Value &dim : *dims) {
    std::optional<int64_t> size = dim.getAsInteger();
    if (!size || *size < 0)
      return makeError(tensor.name,
                       "'shape' must hold integers from 0 to 2^63 - 1, got " +
                           describeJson(dim));
    tensor.shape.push_back(*size);
  }
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseOffsets(HeaderEntry &entry,
                                       const llvm::json::Object &object) const {
  const TensorRef &tensor = entry.tensor;
  const llvm::json::Array *offsets = object.getArray("data_offsets");
  if (!offsets || offsets->size() != 2)
    return makeError(tensor.name, "'data_offsets' must be an array of 2 "
                                  "integers");
  uint64_t limits[2];
  for (auto [offset, limit] : llvm::zip_equal(*offsets, limits)) {
    std::optional<uint64_t> number = offset.getAsUINT64();
    if (!number)
      return makeError(tensor.name,
                       "'data_offsets' must hold integers from 0, got " +
                           describeJson(offset));
    limit = *number;
  }
  entry.begin = limits[0];
  entry.end = limits[1];
  if (entry.begin > entry.end)
    return makeError(tensor.name, "'data_offsets' must not decrease, got [" +
                                      llvm::Twine(entry.begin) + ", " +
                                      llvm::Twine(entry.end) + "]");
  return llvm::Error::success();
}

llvm::Expected<HeaderEntry>
HeaderParser::parseEntry(llvm::StringRef name,
                         const llvm::json::Value &value) const {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return makeError(name, "expected an object, got " + describeJson(value));
  for (const auto &field : *object)
    if (!llvm::is_contained({"dtype", "shape", "data_offsets"}, field.first))
      return makeError(name, "unknown field '" +
                                 llvm::StringRef(field.first).take_front(100) +
                                 "', expected 'dtype', 'shape' and "
                                 "'data_offsets'");
  HeaderEntry entry;
  entry.tensor.name = name.str();
  std::optional<llvm::StringRef> typeName = object->getString("dtype");
  if (!typeName)
    return makeError(name, "'dtype' must be a string");
  std::optional<TensorType> type = findTensorType(*typeName);
  if (!type)
    return makeError(name,
                     "'dtype' must be one of " +
                         llvm::join(llvm::map_range(kTypes,
                                                    [](const TypeInfo &info) {
                                                      return info.name.str();
                                                    }),
                                    ", ") +
                         ", got '" + typeName->take_front(100) + "'");
  entry.tensor.type = *type;
  if (llvm::Error error = parseShape(entry, *object))
    return error;
  if (llvm::Error error = parseOffsets(entry, *object))
    return error;
  std::optional<uint64_t> size = findTensorByteSize(*type, entry.tensor.shape);
  std::string description = describeTensor(*type, entry.tensor.shape);
  if (!size)
    return makeError(name, description + " has more than 2^63 - 1 bytes");
  if (*size != entry.end - entry.begin)
    return makeError(name, description + " needs " + llvm::Twine(*size) +
                               " bytes, but 'data_offsets' span " +
                               llvm::Twine(entry.end - entry.begin));
  return entry;
}

/// Sorts the entries by their data, which must cover `data` without overlap.
llvm::Error HeaderParser::placeData(std::vector<HeaderEntry> &entries,
                                    llvm::StringRef data) const {
  llvm::sort(entries, [](const HeaderEntry &a, const HeaderEntry &b) {
    return std::tie(a.begin, a.end, a.tensor.name) <
           std::tie(b.begin, b.end, b.tensor.name);
  });
  uint64_t position = 0;
  for (HeaderEntry &entry : entries) {
    llvm::StringRef name = entry.tensor.name;
    if (entry.end > data.size())
      return makeError(name, "data ends at byte " + llvm::Twine(entry.end) +
                                 ", but the file has " +
                                 llvm::Twine(data.size()) + " bytes of data");
    if (entry.begin != position)
      return makeError(name, "data begins at byte " + llvm::Twine(entry.begin) +
                                 ", expected " + llvm::Twine(position) +
                                 ", where the tensor before it ends");
    entry.tensor.data = {data.data() + entry.begin, entry.end - entry.begin};
    position = entry.end;
  }
  if (position != data.size())
    return makeError("file has " + llvm::Twine(data.size()) +
                     " bytes of data, but the tensors end at byte " +
                     llvm::Twine(position));
  return llvm::Error::success();
}

llvm::Expected<std::vector<HeaderEntry>> HeaderParser::run() {
  llvm::Expected<llvm::StringRef> header = findHeader();
  if (!header)
    return header.takeError();
  llvm::Expected<llvm::json::Object> object =
      parseJsonObject(*header, filename);
  if (!object)
    return object.takeError();
  // The object is a hash table: a fixed order makes the first error the same
  // in every run.
  std::vector<const llvm::json::Object::value_type *> fields;
  for (const auto &field : *object)
    fields.push_back(&field);
  llvm::sort(fields, [](const auto *a, const auto *b) {
    return llvm::StringRef(a->first) < llvm::StringRef(b->first);
  });
  std::vector<HeaderEntry> entries;
  for (const auto *field : fields) {
    if (llvm::StringRef(field->first) == kMetadataKey) {
      if (llvm::Error error = parseMetadata(field->second))
        return error;
      continue;
    }
    llvm::Expected<HeaderEntry> entry = parseEntry(field->first, field->second);
    if (!entry)
      return entry.takeError();
    entries.push_back(std::move(*entry));
  }
  if (llvm::Error error =
          placeData(entries, bytes.substr(kLengthBytes + header->size())))
    return error;
  return entries;
}

llvm::Expected<SafeTensorsFile>
SafeTensorsFile::parse(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  HeaderParser parser(buffer->getBufferIdentifier(), buffer->getBuffer());
  llvm::Expected<std::vector<HeaderEntry>> entries = parser.run();
  if (!entries)
    return entries.takeError();
  SafeTensorsFile file;
  file.buffer = std::move(buffer);
  file.metadata = parser.takeMetadata();
  for (HeaderEntry &entry : *entries) {
    file.indices[entry.tensor.name] = file.tensors.size();
    file.tensors.push_back(std::move(entry.tensor));
  }
  return file;
}

llvm::Expected<SafeTensorsFile> SafeTensorsFile::open(llvm::StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (std::error_code code = buffer.getError())
    return llvm::createStringError(path + ": " + code.message());
  return parse(std::move(*buffer));
}

const TensorRef *SafeTensorsFile::find(llvm::StringRef name) const {
  auto it = indices.find(name);
  return it == indices.end() ? nullptr : &tensors[it->second];
}

llvm::Expected<const TensorRef *>
SafeTensorsFile::get(llvm::StringRef name) const {
  if (const TensorRef *tensor = find(name))
    return tensor;
  return llvm::createStringError(getFilename() + ": tensor '" + name +
                                 "' is missing, the file has " +
                                 llvm::Twine(tensors.size()) + " others");
}

llvm::Expected<const TensorRef *>
SafeTensorsFile::get(llvm::StringRef name, TensorType type,
                     llvm::ArrayRef<int64_t> shape) const {
  llvm::Expected<const TensorRef *> tensor = get(name);
  if (!tensor)
    return tensor;
  if ((*tensor)->type == type && shape.equals((*tensor)->shape))
    return tensor;
  return llvm::createStringError(
      getFilename() + ": tensor '" + name + "' must be " +
      describeTensor(type, shape) + ", got " +
      describeTensor((*tensor)->type, (*tensor)->shape));
}

/// Appends every element of `data` as `convert` of its little-endian bits.
template <typename Bits, typename Result, typename Convert>
static void convertElements(llvm::ArrayRef<char> data,
                            std::vector<Result> &result, Convert convert) {
  result.reserve(data.size() / sizeof(Bits));
  for (size_t i = 0; i < data.size(); i += sizeof(Bits))
    result.push_back(convert(llvm::support::endian::read<Bits>(
        data.data() + i, llvm::endianness::little)));
}

static double widenF16(uint16_t bits) {
  llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
  return value.convertToDouble();
}

llvm::Expected<std::vector<double>>
SafeTensorsFile::readFloats(llvm::StringRef name) const {
  llvm::Expected<const TensorRef *> tensor = get(name);
  if (!tensor)
    return tensor.takeError();
  llvm::ArrayRef<char> data = (*tensor)->data;
  std::vector<double> values;
  switch ((*tensor)->type) {
  case TensorType::F64:
    convertElements<uint64_t>(data, values, llvm::bit_cast<double, uint64_t>);
    return values;
  case TensorType::F32:
    convertElements<uint32_t>(data, values, llvm::bit_cast<float, uint32_t>);
    return values;
  case TensorType::F16:
    convertElements<uint16_t>(data, values, widenF16);
    return values;
  case TensorType::BF16:
    convertElements<uint16_t>(data, values, extendBF16);
    return values;
  default:
    return llvm::createStringError(
        getFilename() + ": tensor '" + name +
        "' must have a floating-point type, got " +
        describeTensor((*tensor)->type, (*tensor)->shape));
  }
}

llvm::Expected<std::vector<int64_t>>
SafeTensorsFile::readIntegers(llvm::StringRef name) const {
  llvm::Expected<const TensorRef *> tensor = get(name);
  if (!tensor)
    return tensor.takeError();
  llvm::ArrayRef<char> data = (*tensor)->data;
  std::vector<int64_t> values;
  auto widen = [](auto value) { return static_cast<int64_t>(value); };
  switch ((*tensor)->type) {
  case TensorType::I64:
    convertElements<int64_t>(data, values, widen);
    return values;
  case TensorType::I32:
    convertElements<int32_t>(data, values, widen);
    return values;
  case TensorType::I8:
    convertElements<int8_t>(data, values, widen);
    return values;
  case TensorType::U8:
    convertElements<uint8_t>(data, values, widen);
    return values;
  case TensorType::Bool:
    convertElements<uint8_t>(data, values,
                             [](uint8_t value) { return int64_t(value != 0); });
    return values;
  default:
    return llvm::createStringError(
        getFilename() + ": tensor '" + name +
        "' must have an integer type, got " +
        describeTensor((*tensor)->type, (*tensor)->shape));
  }
}

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

struct SafeTensorsWriter::State {
  struct Tensor {
    std::string name;
    TensorType type;
    std::vector<int64_t> shape;
    uint64_t size = 0;
    unsigned order = 0;   // of declaration
    uint64_t offset = 0;  // in the data; set by layOut()
    uint64_t written = 0; // bytes appended so far
  };

  explicit State(llvm::StringRef path) : path(path.str()) {}
  ~State() { discard(); }

  llvm::Error makeError(const llvm::Twine &what) const {
    return llvm::createStringError(path + ": " + what);
  }
  llvm::Error makeError(llvm::StringRef tensor, const llvm::Twine &what) const {
    return makeError("tensor '" + tensor + "': " + what);
  }

  void discard();
  void layOut();
  std::string getHeader() const;
  llvm::Error openTemporary();
  llvm::Error open();
  llvm::Error checkStream();
  llvm::Error keep();

  std::string path;
  std::map<std::string, std::string> metadata;
  std::vector<Tensor> tensors;
  llvm::StringMap<unsigned> indices;
  uint64_t dataBytes = 0;

  std::string temporaryPath;
  std::unique_ptr<llvm::raw_fd_ostream> stream; // of the temporary file
  uint64_t dataStart = 0;
  bool finished = false;
};

/// Wide elements first, else in the order of declaration.
void SafeTensorsWriter::State::layOut() {
  llvm::sort(tensors, [](const Tensor &a, const Tensor &b) {
    uint64_t widthA = getTensorTypeSize(a.type);
    uint64_t widthB = getTensorTypeSize(b.type);
    return widthA != widthB ? widthA > widthB : a.order < b.order;
  });
  uint64_t offset = 0;
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    indices[tensor.name] = index;
    tensor.offset = offset;
    offset += tensor.size;
  }
}

/// The JSON text, padded with spaces so that the data is aligned.
std::string SafeTensorsWriter::State::getHeader() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    if (!metadata.empty())
      json.attributeObject(kMetadataKey, [&] {
        for (const auto &[key, value] : metadata)
          json.attribute(key, value);
      });
    for (const Tensor &tensor : tensors)
      json.attributeObject(tensor.name, [&] {
        json.attribute("dtype", getTensorTypeName(tensor.type));
        json.attribute("shape", llvm::json::Array(tensor.shape));
        json.attribute("data_offsets",
                       llvm::json::Array{
                           static_cast<int64_t>(tensor.offset),
                           static_cast<int64_t>(tensor.offset + tensor.size)});
      });
  });
  json.flush();
  text.resize(llvm::alignTo(text.size(), kHeaderAlignment), ' ');
  return text;
}

/// A rename replaces whatever has the name, so it must not be a device.
llvm::Error SafeTensorsWriter::State::openTemporary() {
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return makeError("exists and is no regular file");
  temporaryPath =
      path + "." + llvm::utostr(llvm::sys::Process::getProcessId()) + ".tmp";
  int descriptor = -1;
  if (std::error_code code = llvm::sys::fs::openFileForWrite(
          temporaryPath, descriptor, llvm::sys::fs::CD_CreateNew))
    return makeError("cannot create '" + temporaryPath +
                     "': " + code.message());
  llvm::sys::RemoveFileOnSignal(temporaryPath);
  stream = std::make_unique<llvm::raw_fd_ostream>(descriptor,
                                                  /*shouldClose=*/true);
  return llvm::Error::success();
}

/// Drops what was written, if anything.
void SafeTensorsWriter::State::discard() {
  if (!stream)
    return;
  stream->flush();
  stream->clear_error();
  stream.reset();
  llvm::sys::fs::remove(temporaryPath);
  llvm::sys::DontRemoveFileOnSignal(temporaryPath);
}

llvm::Error SafeTensorsWriter::State::open() {
  layOut();
  std::string header = getHeader();
  if (header.size() > kMaxHeaderBytes)
    return makeError("header must be at most " + llvm::Twine(kMaxHeaderBytes) +
                     " bytes, got " + llvm::Twine(header.size()));
  if (llvm::Error error = openTemporary())
    return error;
  char length[kLengthBytes];
  llvm::support::endian::write64le(length, header.size());
  stream->write(length, sizeof(length));
  *stream << header;
  dataStart = kLengthBytes + header.size();
  return checkStream();
}

llvm::Error SafeTensorsWriter::State::checkStream() {
  std::error_code code = stream->error();
  if (!code)
    return llvm::Error::success();
  stream->clear_error();
  discard();
  finished = true;
  return makeError(code.message());
}

/// Gives the temporary file its final name.
llvm::Error SafeTensorsWriter::State::keep() {
  stream->close();
  if (llvm::Error error = checkStream())
    return error;
  if (std::error_code code = llvm::sys::fs::rename(temporaryPath, path)) {
    discard();
    finished = true;
    return makeError(code.message());
  }
  llvm::sys::DontRemoveFileOnSignal(temporaryPath);
  stream.reset();
  finished = true;
  return llvm::Error::success();
}

SafeTensorsWriter::SafeTensorsWriter(llvm::StringRef path)
    : state(std::make_unique<State>(path)) {}
SafeTensorsWriter::SafeTensorsWriter(SafeTensorsWriter &&) = default;
SafeTensorsWriter::~SafeTensorsWriter() = default;

llvm::Error SafeTensorsWriter::declare(llvm::StringRef name, TensorType type,
                                       llvm::ArrayRef<int64_t> shape) {
  if (state->stream || state->finished)
    return state->makeError(name, "declared after the first data");
  if (name == kMetadataKey || !llvm::json::isUTF8(name))
    return state->makeError(name, "not a legal name");
  std::optional<uint64_t> size = findTensorByteSize(type, shape);
  if (!size || *size > kMaxBytes - state->dataBytes)
    return state->makeError(name, describeTensor(type, shape) +
                                      " has a negative dimension or makes the "
                                      "file larger than 2^63 - 1 bytes");
  if (!state->indices.try_emplace(name, state->tensors.size()).second)
    return state->makeError(name, "declared twice");
  state->dataBytes += *size;
  unsigned order = state->tensors.size();
  state->tensors.push_back({name.str(), type, shape.vec(), *size, order});
  return llvm::Error::success();
}

llvm::Error SafeTensorsWriter::setMetadata(llvm::StringRef key,
                                           llvm::StringRef value) {
  if (state->stream || state->finished)
    return state->makeError("metadata '" + key + "' set after the first data");
  if (!llvm::json::isUTF8(key) || !llvm::json::isUTF8(value))
    return state->makeError("metadata '" + key + "' is not UTF-8");
  state->metadata[key.str()] = value.str();
  return llvm::Error::success();
}

llvm::Error SafeTensorsWriter::append(llvm::StringRef name,
                                      llvm::ArrayRef<char> bytes) {
  if (state->finished)
    return state->makeError(name, "data after the end of the file");
  if (!state->stream)
    if (llvm::Error error = state->open())
      return error;
  auto it = state->indices.find(name);
  if (it == state->indices.end())
    return state->makeError(name, "data without a declaration");
  State::Tensor &tensor = state->tensors[it->second];
  if (bytes.size() > tensor.size - tensor.written)
    return state->makeError(
        name, describeTensor(tensor.type, tensor.shape) + " has " +
                  llvm::Twine(tensor.size) + " bytes, got " +
                  llvm::Twine(tensor.written + bytes.size()));
  uint64_t position = state->dataStart + tensor.offset + tensor.written;
  if (state->stream->tell() != position)
    state->stream->seek(position);
  state->stream->write(bytes.data(), bytes.size());
  tensor.written += bytes.size();
  return state->checkStream();
}

llvm::Error SafeTensorsWriter::finish() {
  if (state->finished)
    return state->makeError("already finished");
  if (!state->stream)
    if (llvm::Error error = state->open())
      return error;
  for (const State::Tensor &tensor : state->tensors)
    if (tensor.written != tensor.size)
      return state->makeError(
          tensor.name, describeTensor(tensor.type, tensor.shape) + " has " +
                           llvm::Twine(tensor.size) + " bytes, got only " +
                           llvm::Twine(tensor.written));
  return state->keep();
}

llvm::Error mlir::dsv4::writeSafeTensors(
    llvm::StringRef path, llvm::ArrayRef<TensorRef> tensors,
    const std::map<std::string, std::string> &metadata) {
  SafeTensorsWriter writer(path);
  for (const auto &[key, value] : metadata)
    if (llvm::Error error = writer.setMetadata(key, value))
      return error;
  for (const TensorRef &tensor : tensors)
    if (llvm::Error error =
            writer.declare(tensor.name, tensor.type, tensor.shape))
      return error;
  for (const TensorRef &tensor : tensors)
    if (llvm::Error error = writer.append(tensor.name, tensor.data))
      return error;
  return writer.finish();
}
