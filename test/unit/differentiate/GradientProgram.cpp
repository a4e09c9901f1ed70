//===- GradientProgram.cpp - gradients against central differences --------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientProgram.h"

#include "dsv4/Execution/Executable.h"
#include "dsv4/InitAll.h"
#include "dsv4/Passes/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace mlir;
using namespace mlir::dsv4;
using namespace dsv4test;

std::string dsv4test::getType(const std::vector<int64_t> &shape,
                              const char *element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

static int64_t getCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// The value, or the end of the test program with the error's message.
template <typename T> static T require(llvm::Expected<T> value) {
  if (!value)
    llvm::report_fatal_error(value.takeError());
  return std::move(*value);
}

static std::string getMap(size_t rank, bool isScalar) {
  std::string dims;
  for (size_t i = 0; i < rank; ++i)
    dims += (i ? ", d" : "d") + std::to_string(i);
  return "affine_map<(" + dims + ") -> (" + (isScalar ? "" : dims) + ")>";
}

/// A parameter is in some module.
static std::string getPath(const std::string &name) { return "model." + name; }

/// The function, with `weight` as one more parameter, which the loss contains
/// linearly.
static std::string getText(const std::vector<Tensor> &tensors,
                           const std::vector<int64_t> &shape,
                           const std::string &body) {
  std::string arguments, type = getType(shape), loops;
  for (const Tensor &tensor : tensors) {
    bool isInteger = !tensor.integers.empty();
    arguments += "%" + tensor.name + ": " +
                 getType(tensor.shape, isInteger ? "i64" : "f64") + " {dsv4." +
                 (isInteger ? "buffer" : "param") + " = \"" +
                 getPath(tensor.name) + "\"}, ";
  }
  for (size_t i = 0; i < shape.size(); ++i)
    loops += std::string(i ? ", " : "") + "\"reduction\"";
  std::string each = getMap(shape.size(), false);
  return "func.func @forward(" + arguments + "%weight: " + type +
         " {dsv4.param = \"" + getPath("weight") + "\"}) -> (tensor<f64> {dsv4.result = \"loss\"}) {\n"
         "  %c0 = arith.constant 0 : index\n"
         "  %zero = arith.constant 0.0 : f64\n"
         "  %empty = tensor.empty() : " + type + "\n" + body + "\n"
         "  %none = tensor.empty() : tensor<f64>\n"
         "  %start = linalg.fill ins(%zero : f64) outs(%none : tensor<f64>) -> tensor<f64>\n"
         "  %loss = linalg.generic {indexing_maps = [" + each + ", " + each + ", " +
         getMap(shape.size(), true) + "], iterator_types = [" + loops +
         "]} ins(%y, %weight : " + type + ", " + type + ") outs(%start : tensor<f64>) {\n"
         "  ^bb0(%l0: f64, %l1: f64, %l2: f64):\n"
         "    %l3 = arith.mulf %l0, %l1 : f64\n"
         "    %l4 = arith.addf %l2, %l3 : f64\n"
         "    linalg.yield %l4 : f64\n"
         "  } -> tensor<f64>\n"
         "  return %loss : tensor<f64>\n"
         "}\n";
}

namespace {

using Values = std::map<std::string, std::vector<double>>;

/// A differentiated program, compiled once.
class GradientProgram {
public:
  GradientProgram(const std::vector<Tensor> &tensors, const std::string &text);
  ~GradientProgram() { llvm::sys::fs::remove(path); }

  std::vector<ResultTensor> run(const Values &values);
  double getLoss(const Values &values) {
    return findResult(run(values), "loss")->getValue(0);
  }

private:
  const std::vector<Tensor> &tensors;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<mlir::ModuleOp> module;
  std::optional<Executable> executable;
  llvm::SmallString<128> path;
};

} // namespace

GradientProgram::GradientProgram(const std::vector<Tensor> &tensors,
                                 const std::string &text)
    : tensors(tensors) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerExecutionTranslations(registry);
  context = std::make_unique<MLIRContext>(registry,
                                          MLIRContext::Threading::DISABLED);
  module = parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module)
    llvm::report_fatal_error("the program does not parse");
  PassManager pm(context.get(), mlir::ModuleOp::getOperationName());
  pm.addPass(createDifferentiatePass());
  if (failed(pm.run(*module)))
    llvm::report_fatal_error("the program is not differentiable");
  CompileOptions options;
  options.mesh = "";
  executable = require(Executable::create(*module, options));
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("gradient", "safetensors", descriptor,
                                         path))
    llvm::report_fatal_error("no temporary file");
  llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
}

std::vector<ResultTensor> GradientProgram::run(const Values &values) {
  std::vector<TensorRef> refs;
  for (const Tensor &tensor : tensors) {
    if (tensor.integers.empty())
      refs.push_back({getPath(tensor.name), dsv4::TensorType::F64, tensor.shape,
                      asBytes<double>(values.at(tensor.name))});
    else
      refs.push_back({getPath(tensor.name), dsv4::TensorType::I64, tensor.shape,
                      asBytes<int64_t>(tensor.integers)});
  }
  if (llvm::Error error = writeSafeTensors(path, refs))
    llvm::report_fatal_error(std::move(error));
  const Program &program = executable->getProgram();
  auto parameters = require(
      ParameterSource::open(program, {path.str().str()}));
  auto batch = require(BatchSource::open(program, {}));
  return require(executable->run(parameters, batch, {})).results;
}

static std::vector<double> makeRandom(std::mt19937 &generator, int64_t count,
                                      double scale) {
  std::uniform_real_distribution<double> uniform(-scale, scale);
  std::vector<double> values(count);
  for (double &value : values)
    value = uniform(generator);
  return values;
}

/// The largest error of three slopes along random directions, relative to the
/// slopes.
static double getWorstError(GradientProgram &program, const Tensor &tensor,
                            const Values &values, const ResultTensor &gradient,
                            std::mt19937 &generator) {
  const double step = 1e-5;
  double worst = 0;
  for (int trial = 0; trial < 3; ++trial) {
    auto direction = makeRandom(generator, getCount(tensor.shape), 1.0);
    double expected = 0, size = 1e-3;
    Values above = values, below = values;
    for (size_t i = 0; i < direction.size(); ++i) {
      double term = gradient.getValue(i) * direction[i];
      expected += term;
      size += std::fabs(term);
      above[tensor.name][i] += step * direction[i];
      below[tensor.name][i] -= step * direction[i];
    }
    double slope =
        (program.getLoss(above) - program.getLoss(below)) / (2 * step);
    worst = std::max(worst, std::fabs(slope - expected) / size);
  }
  return worst;
}

void dsv4test::expectGradients(const std::vector<Tensor> &given,
                               const std::vector<int64_t> &shape,
                               const std::string &body) {
  std::vector<Tensor> tensors = given;
  tensors.push_back({"weight", shape});
  GradientProgram program(tensors, getText(given, shape, body));
  std::mt19937 generator(7);
  Values values;
  for (const Tensor &tensor : tensors)
    if (tensor.integers.empty())
      values[tensor.name] =
          makeRandom(generator, getCount(tensor.shape), tensor.scale);
  std::vector<ResultTensor> results = program.run(values);
  for (const Tensor &tensor : tensors) {
    const ResultTensor *gradient = findResult(results, "grad/" + getPath(tensor.name));
    if (!tensor.integers.empty()) {
      EXPECT_EQ(gradient, nullptr) << tensor.name;
      continue;
    }
    ASSERT_NE(gradient, nullptr) << tensor.name;
    ASSERT_EQ(gradient->shape, tensor.shape) << tensor.name;
    EXPECT_LE(getWorstError(program, tensor, values, *gradient, generator),
              2e-8)
        << tensor.name;
  }
}
