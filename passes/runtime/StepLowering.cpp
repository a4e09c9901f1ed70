//===- StepLowering.cpp - the main program as calls -----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dsv4;

namespace {

/// Lowers one function. Buffers become pointers, index values become i64.
class FunctionLowering {
public:
  FunctionLowering(func::FuncOp source, LLVM::LLVMFuncOp target,
                   ProgramTables &tables, bool isEntry);
  LogicalResult run();

private:
  LogicalResult lower(Operation *op);
  LogicalResult lowerConstant(arith::ConstantOp op);
  LogicalResult lowerAxisIndex(AxisIndexOp op);
  LogicalResult lowerView(memref::ViewOp op);
  LogicalResult lowerSubview(memref::SubViewOp op);
  LogicalResult lowerLaunch(LaunchOp op);
  LogicalResult lowerCall(func::CallOp op);
  LogicalResult lowerWait(WaitOp op);
  LogicalResult lowerReturn(func::ReturnOp op);
  template <typename OpT>
  LogicalResult lowerStart(OpT op, StringRef kind, StringRef callee,
                           StringRef reduction, Value counted);
  template <typename LlvmOpT> LogicalResult lowerBinary(Operation *op) {
    map[op->getResult(0)] =
        LlvmOpT::create(builder, map.lookup(op->getOperand(0)),
                        map.lookup(op->getOperand(1)));
    return success();
  }
  LogicalResult forward(Operation *op) {
    map[op->getResult(0)] = map.lookup(op->getOperand(0));
    return success();
  }

  Value constant(int64_t value, unsigned bits = 64) {
    Type type = builder.getIntegerType(bits);
    return LLVM::ConstantOp::create(builder, type,
                                    builder.getIntegerAttr(type, value));
  }
  Value addBytes(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(builder, pointer.getType(), builder.getI8Type(),
                               pointer, ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value toIndex(OpFoldResult value) {
    if (auto attr = dyn_cast<Attribute>(value))
      return constant(cast<IntegerAttr>(attr).getInt());
    return map.lookup(cast<Value>(value));
  }
  LogicalResult launchTogether();
  Value storeArray(Type element, ValueRange values);
  Value callRuntime(StringRef name, Type result, ValueRange operands);
  void checkStatus(Value status);

  func::FuncOp source;
  LLVM::LLVMFuncOp target;
  ProgramTables &tables;
  bool isEntry;
  ImplicitLocOpBuilder builder;
  DenseMap<Value, Value> map;
  DenseMap<Value, unsigned> siteOfToken;
  /// Starts of the launch that is being collected: their operands and tokens.
  SmallVector<Value> sources, destinations, counts, tokens;
  ArrayAttr launchAxes;
  Value module;
  Block *exit = nullptr;
};

} // namespace

FunctionLowering::FunctionLowering(func::FuncOp source, LLVM::LLVMFuncOp target,
                                   ProgramTables &tables, bool isEntry)
    : source(source), target(target), tables(tables), isEntry(isEntry),
      builder(source.getLoc(), source.getContext()) {}

static int64_t getElementBytes(Type type) {
  return llvm::divideCeil(cast<ShapedType>(type).getElementTypeBitWidth(), 8);
}

LogicalResult FunctionLowering::run() {
  Block *body = target.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  module = body->getArgument(0);
  ArrayRef<int64_t> offsets = tables.getArgumentOffsets();
  for (BlockArgument argument : source.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (!isEntry)
      map[argument] = body->getArgument(i + 1);
    else if (i < offsets.size())
      map[argument] = addBytes(body->getArgument(1), constant(offsets[i]));
    else
      map[argument] = body->getArgument(2);
  }
  for (Operation &op : source.getBody().front()) {
    builder.setLoc(op.getLoc());
    if (failed(lower(&op)))
      return failure();
  }
  return success();
}

LogicalResult FunctionLowering::lower(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::ConstantOp op) { return lowerConstant(op); })
      .Case([&](arith::AddIOp op) { return lowerBinary<LLVM::AddOp>(op); })
      .Case([&](arith::SubIOp op) { return lowerBinary<LLVM::SubOp>(op); })
      .Case([&](arith::MulIOp op) { return lowerBinary<LLVM::MulOp>(op); })
      .Case([&](arith::IndexCastOp op) { return forward(op); })
      .Case([&](AxisIndexOp op) { return lowerAxisIndex(op); })
      .Case([&](memref::ViewOp op) { return lowerView(op); })
      .Case([&](memref::SubViewOp op) { return lowerSubview(op); })
      .Case<memref::ExpandShapeOp, memref::CollapseShapeOp, memref::CastOp>(
          [&](auto op) { return forward(op); })
      .Case([&](LaunchOp op) { return lowerLaunch(op); })
      .Case([&](func::CallOp op) { return lowerCall(op); })
      .Case([&](AllGatherStartOp op) -> LogicalResult {
        return lowerStart(op, "all_gather", "dsv4rt_all_gather_start", "sum",
                          op.getInput());
      })
      .Case([&](ReduceScatterStartOp op) {
        return lowerStart(op, "reduce_scatter", "dsv4rt_reduce_scatter_start",
                          "sum", op.getInit());
      })
      .Case([&](AllReduceStartOp op) {
        return lowerStart(op, "all_reduce", "dsv4rt_all_reduce_start",
                          stringifyReductionKind(op.getKind()), op.getInput());
      })
      .Case([&](WaitOp op) { return lowerWait(op); })
      .Case([&](func::ReturnOp op) { return lowerReturn(op); })
      .Default([](Operation *op) {
        return op->emitOpError()
               << "cannot stand in the main program, which only computes "
                  "addresses, launches kernels and moves data between ranks";
      });
}

LogicalResult FunctionLowering::lowerConstant(arith::ConstantOp op) {
  auto value = dyn_cast<IntegerAttr>(op.getValue());
  if (!value)
    return op.emitOpError() << "must be an integer in the main program, got "
                            << op.getValue();
  map[op] = constant(value.getInt());
  return success();
}

/// Row-major over the axes: ((a0 * n1) + a1) * n2 + a2 ...
LogicalResult FunctionLowering::lowerAxisIndex(AxisIndexOp op) {
  Value index = constant(0);
  for (StringAttr axis : op.getAxes().getAsRange<StringAttr>()) {
    std::optional<unsigned> number = tables.getMesh().getAxisIndex(axis);
    if (!number)
      return op.emitOpError() << "axis " << axis << " is not declared";
    Value coordinate = callRuntime("dsv4rt_axis_index", builder.getI32Type(),
                                   {module, constant(*number, 32)});
    coordinate =
        LLVM::SExtOp::create(builder, builder.getI64Type(), coordinate);
    Value scaled = LLVM::MulOp::create(
        builder, index, constant(*tables.getMesh().getAxisSize(axis)));
    index = LLVM::AddOp::create(builder, scaled, coordinate);
  }
  map[op] = index;
  return success();
}

LogicalResult FunctionLowering::lowerView(memref::ViewOp op) {
  map[op] = addBytes(map.lookup(op.getSource()), map.lookup(op.getByteShift()));
  return success();
}

/// pointer + sum(offset_i * stride_i) * bytes of an element.
LogicalResult FunctionLowering::lowerSubview(memref::SubViewOp op) {
  SmallVector<int64_t> strides;
  int64_t offset;
  MemRefType type = op.getSourceType();
  if (!type.getElementType().isIntOrFloat())
    return op.emitOpError() << "needs integers or floats, got " << type;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return op.emitOpError() << "needs static strides, got " << type;
  int64_t bytes = getElementBytes(type), fixed = 0;
  Value moving;
  for (auto [place, stride] : llvm::zip(op.getMixedOffsets(), strides)) {
    if (auto attr = dyn_cast<Attribute>(place)) {
      fixed += cast<IntegerAttr>(attr).getInt() * stride * bytes;
      continue;
    }
    Value part = LLVM::MulOp::create(builder, toIndex(place),
                                     constant(stride * bytes));
    moving = moving ? LLVM::AddOp::create(builder, moving, part) : part;
  }
  Value pointer = map.lookup(op.getSource());
  if (fixed)
    pointer = addBytes(pointer, constant(fixed));
  if (moving)
    pointer = addBytes(pointer, moving);
  map[op] = pointer;
  return success();
}

Value FunctionLowering::callRuntime(StringRef name, Type result,
                                    ValueRange operands) {
  mlir::ModuleOp parent = source->getParentOfType<mlir::ModuleOp>();
  auto function = parent.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder atEnd = OpBuilder::atBlockEnd(parent.getBody());
    function = LLVM::LLVMFuncOp::create(
        atEnd, parent.getLoc(), name,
        LLVM::LLVMFunctionType::get(
            result, llvm::to_vector(ValueRange(operands).getTypes())));
  }
  return LLVM::CallOp::create(builder, function, operands).getResult();
}

/// Leaves the function with the status unless it is zero.
void FunctionLowering::checkStatus(Value status) {
  if (!exit) {
    OpBuilder::InsertionGuard guard(builder);
    exit = builder.createBlock(&target.getBody(), target.getBody().end(),
                               {builder.getI32Type()}, {target.getLoc()});
    LLVM::ReturnOp::create(builder, exit->getArgument(0));
  }
  Block *next = builder.createBlock(exit);
  builder.setInsertionPointToEnd(next->getPrevNode());
  Value isFine = LLVM::ICmpOp::create(builder, LLVM::ICmpPredicate::eq, status,
                                      constant(0, 32));
  LLVM::CondBrOp::create(builder, isFine, next, ValueRange(), exit,
                         ValueRange(status));
  builder.setInsertionPointToEnd(next);
}

LogicalResult FunctionLowering::lowerLaunch(LaunchOp op) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(map.lookup(operand));
  LLVM::CallOp::create(builder, TypeRange(), op.getKernelAttr(), operands);
  return success();
}

LogicalResult FunctionLowering::lowerCall(func::CallOp op) {
  if (op.getNumResults() != 0)
    return op.emitOpError() << "must not return values in the main program";
  SmallVector<Value> operands = {module};
  for (Value operand : op.getOperands())
    operands.push_back(map.lookup(operand));
  auto call = LLVM::CallOp::create(builder, TypeRange{builder.getI32Type()},
                                   op.getCalleeAttr(), operands);
  checkStatus(call.getResult());
  return success();
}

/// True unless the next start of the function belongs to the same launch.
static bool isLastOfLaunch(Operation *op, Attribute launch) {
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (isa<CollectiveOpInterface, WaitOp>(next))
      return next->getAttr(kLaunchAttr) != launch;
  return true;
}

template <typename OpT>
LogicalResult FunctionLowering::lowerStart(OpT op, StringRef kind,
                                           StringRef callee, StringRef reduction,
                                           Value counted) {
  if (!tokens.empty() && op.getAxesAttr() != launchAxes)
    return op.emitOpError() << "shares its launch with a start over "
                            << launchAxes << ", got " << op.getAxesAttr();
  launchAxes = op.getAxesAttr();
  auto type = cast<MemRefType>(counted.getType());
  int64_t count = type.getNumElements();
  unsigned site = tables.addSite(
      op, kind, stringifyCollectiveClass(op.getCollectiveClass()), reduction,
      type.getElementType(), count, op.getAxes());
  siteOfToken[op.getToken()] = site;
  auto launch = op->template getAttrOfType<IntegerAttr>(kLaunchAttr);
  if (!launch) {
    map[op.getToken()] = callRuntime(
        callee, builder.getI64Type(),
        {module, constant(site, 32), map.lookup(op.getInput()),
         map.lookup(op.getInit()), constant(count), constant(0, 32)});
    return success();
  }
  sources.push_back(map.lookup(op.getInput()));
  destinations.push_back(map.lookup(op.getInit()));
  counts.push_back(constant(count));
  tokens.push_back(op.getToken());
  return isLastOfLaunch(op, launch) ? launchTogether() : success();
}

/// An array on the stack of this function, filled here.
Value FunctionLowering::storeArray(Type element, ValueRange values) {
  Value array;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&target.getBody().front());
    array = LLVM::AllocaOp::create(
        builder, LLVM::LLVMPointerType::get(builder.getContext()), element,
        constant(values.size()));
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Value place = LLVM::GEPOp::create(builder, array.getType(), element, array,
                                      ArrayRef<LLVM::GEPArg>{int32_t(i)});
    LLVM::StoreOp::create(builder, value, place);
  }
  return array;
}

/// The collected starts, whose sites are consecutive, as one call; its token
/// covers them all.
LogicalResult FunctionLowering::launchTogether() {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value token = callRuntime(
      "dsv4rt_start_v", builder.getI64Type(),
      {module, constant(siteOfToken.lookup(tokens.front()), 32),
       constant(tokens.size(), 32), storeArray(pointer, sources),
       storeArray(pointer, destinations),
       storeArray(builder.getI64Type(), counts), constant(0, 32)});
  for (Value covered : tokens)
    map[covered] = token;
  for (auto *list : {&sources, &destinations, &counts, &tokens})
    list->clear();
  return success();
}

LogicalResult FunctionLowering::lowerWait(WaitOp op) {
  if (!siteOfToken.contains(op.getToken()))
    return op.emitOpError() << "waits for a token that no start in this function "
                               "made";
  checkStatus(callRuntime("dsv4rt_wait", builder.getI32Type(),
                          {module, map.lookup(op.getToken()), constant(0, 32)}));
  return success();
}

LogicalResult FunctionLowering::lowerReturn(func::ReturnOp op) {
  if (op.getNumOperands() != 0)
    return op.emitOpError() << "must not return values in the main program";
  Value status = isEntry ? callRuntime("dsv4rt_step_end", builder.getI32Type(),
                                       {module})
                         : constant(0, 32);
  LLVM::ReturnOp::create(builder, status);
  return success();
}

//===----------------------------------------------------------------------===//
// The whole program
//===----------------------------------------------------------------------===//

/// The function that `source` becomes, without body.
static LLVM::LLVMFuncOp declareTarget(func::FuncOp source, bool isEntry) {
  OpBuilder builder(source);
  Type pointer = LLVM::LLVMPointerType::get(source.getContext());
  SmallVector<Type> types = {pointer};
  if (isEntry)
    types.append(2, pointer);
  else
    for (Type type : source.getArgumentTypes())
      types.push_back(isa<MemRefType>(type) ? pointer
                                            : Type(builder.getI64Type()));
  return LLVM::LLVMFuncOp::create(
      builder, source.getLoc(), isEntry ? "dsv4_step" : source.getSymName(),
      LLVM::LLVMFunctionType::get(builder.getI32Type(), types));
}

LogicalResult dsv4::lowerStep(func::FuncOp entry, ProgramTables &tables) {
  auto module = entry->getParentOfType<mlir::ModuleOp>();
  SmallVector<func::FuncOp> sources;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function->hasAttr(kKernelAttr) && !function.isDeclaration()) {
      if (!function.getBody().hasOneBlock())
        return function.emitOpError() << "must have one block";
      sources.push_back(function);
    }
  for (func::FuncOp source : sources) {
    bool isEntry = source == entry;
    LLVM::LLVMFuncOp target = declareTarget(source, isEntry);
    if (failed(FunctionLowering(source, target, tables, isEntry).run()))
      return failure();
  }
  for (func::FuncOp source : sources)
    source.erase();
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<MeshOp, FsdpUnitOp>(op))
      op.erase();
  return success();
}
