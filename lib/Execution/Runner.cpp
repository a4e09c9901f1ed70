//===- Runner.cpp - Run a program on N ranks ------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Runner.h"

#include "Arguments.h"

#include "dsv4/Execution/Executable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <atomic>
#include <memory>
#include <mutex>

using namespace mlir::dsv4;

llvm::StringRef mlir::dsv4::getTrafficName(size_t kind) {
  static constexpr llvm::StringLiteral names[] = {"other", "sequence",
                                                  "parameter", "scalar"};
  return names[kind];
}

namespace {

/// What all ranks share.
struct Job {
  const Program &program;
  StepFunction step;
  const ParameterSource &parameters;
  const BatchSource &batch;
  RunOptions options;
  ProgramDescriptor descriptor;

  std::mutex mutex; // guards the outcome, except for disjoint parts of results
  RunOutcome outcome;
  std::vector<double> stepSeconds;
  std::atomic<int64_t> numInitialized{0};
  double begin = getSeconds();

  Job(const Program &program, StepFunction step,
      const ParameterSource &parameters, const BatchSource &batch,
      const RunOptions &options)
      : program(program), step(step), parameters(parameters), batch(batch),
        options(options), descriptor(program), stepSeconds(options.steps) {
    outcome.results = createResults(program);
    for (TrafficTotals &totals : outcome.traffic)
      totals.receivedBytes.resize(program.getNumRanks());
  }
};

/// One rank. All methods return a status of the runtime.
class RankRun {
public:
  RankRun(Job &job, dsv4rt_world *world)
      : job(job), world(world), rank(dsv4rt_rank(world)) {}

  int32_t run();

private:
  int32_t initialize();
  int32_t runStep(int64_t index);
  int32_t measureWork();
  int32_t collectTraffic();
  int32_t gatherResults();

  Job &job;
  dsv4rt_world *world;
  int32_t rank;
  dsv4rt_module *module = nullptr;
  char *state = nullptr;
};

} // namespace

int32_t RankRun::run() {
  if (int32_t status = initialize())
    return status;
  for (int64_t i = 0; i < job.options.steps; ++i)
    if (int32_t status = runStep(i))
      return status;
  if (int32_t status = measureWork())
    return status;
  if (int32_t status = collectTraffic())
    return status;
  if (int32_t status = gatherResults())
    return status;
  return dsv4rt_module_close(module);
}

int32_t RankRun::initialize() {
  if (int32_t status = dsv4rt_module_open(world, job.descriptor.get(), &module))
    return status;
  state = static_cast<char *>(dsv4rt_module_arena(module, DSV4RT_ARENA_STATE));
  fillArguments(job.program, rank, state, job.parameters, job.batch);
  if (++job.numInitialized == dsv4rt_world_size(world)) {
    job.outcome.initSeconds = getSeconds() - job.begin;
    if (job.options.onInitialized)
      job.options.onInitialized();
  }
  return DSV4RT_OK;
}

/// The pattern is laid before the clock starts.
int32_t RankRun::runStep(int64_t index) {
  if (job.options.measureMemory && index + 1 == job.options.steps)
    if (int32_t status = dsv4rt_module_fill_pattern(module))
      return status;
  dsv4rt_counters_reset(module);
  // All ranks begin together.
  if (int32_t status = dsv4rt_step_end(module))
    return status;
  double begin = getSeconds();
  int32_t status =
      job.step(module, state, dsv4rt_module_arena(module, DSV4RT_ARENA_WORK));
  double seconds = getSeconds() - begin;
  if (status)
    return status;
  std::lock_guard<std::mutex> lock(job.mutex);
  job.stepSeconds[index] = std::max(job.stepSeconds[index], seconds);
  return DSV4RT_OK;
}

int32_t RankRun::measureWork() {
  if (!job.options.measureMemory)
    return DSV4RT_OK;
  uint64_t end = 0;
  if (int32_t status = dsv4rt_module_measure_work(module, &end))
    return status;
  std::lock_guard<std::mutex> lock(job.mutex);
  std::optional<uint64_t> &measured = job.outcome.measuredWorkBytes;
  measured = std::max(measured.value_or(0), end);
  return DSV4RT_OK;
}

int32_t RankRun::collectTraffic() {
  std::lock_guard<std::mutex> lock(job.mutex);
  for (auto [i, site] : llvm::enumerate(job.program.sites)) {
    dsv4rt_counters_v1 counters = {};
    counters.struct_size = sizeof(counters);
    if (int32_t status = dsv4rt_counters(module, i, &counters))
      return status;
    TrafficTotals &totals = job.outcome.traffic[site.traffic];
    if (rank == 0) {
      totals.launches += counters.launches;
      totals.buffers += counters.calls;
    }
    totals.receivedBytes[rank] += counters.received_bytes;
  }
  return DSV4RT_OK;
}

int32_t RankRun::gatherResults() {
  collectResults(job.program, rank, state, job.outcome.results);
  // All ranks have written.
  if (int32_t status = dsv4rt_step_end(module))
    return status;
  std::string other =
      findOtherResult(job.program, rank, state, job.outcome.results);
  if (other.empty())
    return DSV4RT_OK;
  std::string text = "result '" + other +
                     "' is replicated, but differs from that of the first "
                     "rank that holds it";
  return dsv4rt_raise(world, DSV4RT_E_MISMATCH, text.c_str());
}

static std::string getErrorText() {
  std::string text(dsv4rt_error_text(nullptr, nullptr, 0), '\0');
  dsv4rt_error_text(nullptr, text.data(), text.size() + 1);
  return text;
}

/// Bytes that the machine says it has left; none if it does not say.
static std::optional<uint64_t> findAvailableMemory() {
  auto buffer = llvm::MemoryBuffer::getFileAsStream("/proc/meminfo");
  if (!buffer)
    return std::nullopt;
  auto [before, rest] = (*buffer)->getBuffer().split("MemAvailable:");
  uint64_t kilobytes;
  if (rest.ltrim().consumeInteger(10, kilobytes))
    return std::nullopt;
  return kilobytes * 1024;
}

/// Refuses a job that cannot fit before a thread is started; the runtime
/// compares again, with the limits of control groups, when the program is
/// opened.
static llvm::Error checkMemory(const Program &program) {
  uint64_t ranks = program.getNumRanks();
  uint64_t perRank = llvm::SaturatingAdd(program.stateBytes, program.workBytes);
  uint64_t needed = llvm::SaturatingMultiply(ranks, perRank);
  std::optional<uint64_t> available = findAvailableMemory();
  if (!available || needed <= *available)
    return llvm::Error::success();
  return llvm::createStringError(llvm::formatv(
      "{0} ranks need {1} bytes (state {2} and work {3} bytes each), but the "
      "machine has {4} left",
      ranks, needed, program.stateBytes, program.workBytes, *available));
}

llvm::Expected<RunOutcome>
mlir::dsv4::runProgram(const Program &program, StepFunction step,
                       const ParameterSource &parameters,
                       const BatchSource &batch, const RunOptions &options) {
  if (llvm::Error error = checkMemory(program))
    return std::move(error);
  auto job = std::make_unique<Job>(program, step, parameters, batch, options);
  dsv4rt_config config = {};
  config.struct_size = sizeof(config);
  config.log_level = 1;
  config.op_timeout_ms = options.timeoutMs;
  auto runRank = [](dsv4rt_world *world, void *job) {
    return RankRun(*static_cast<Job *>(job), world).run();
  };
  int32_t status =
      dsv4rt_host_run(program.getNumRanks(), &config, runRank, job.get());
  if (status != DSV4RT_OK) {
    // A rank that could not be stopped may still use it.
    (void)job.release();
    return llvm::createStringError(llvm::Twine(dsv4rt_status_name(status)) +
                                   ": " + getErrorText());
  }
  job->outcome.stepSeconds = *llvm::min_element(job->stepSeconds);
  return std::move(job->outcome);
}
